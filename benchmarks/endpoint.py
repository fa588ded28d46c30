"""What a question over the model endpoint costs, beside a server that does nothing.

Wall time, and the median: half of a call is waiting for the other side. Both servers are asked in
turns, over kept connections, by the same client. The questions are those of golden runs, whole: the
conversation is read, the run's model decides, and all of it is evidence.
"""

from __future__ import annotations

import http.client
import json
import queue
import socketserver
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from arh.connect.model_endpoint.endpoint import Asked, ModelEndpoint
from arh.ports.sue import Session
from arh.records.messages import ToolRequest
from arh.records.tasks import AgentReport, Task
from arh.testing.workbench import Workbench
from benchmarks.measuring import Row

RUNS = 40
SCENARIO = "golden-billing-incident-001"
PATH = "/v1/chat/completions"


def endpoint_rows() -> list[Row]:
    """Return the medians of a call to the endpoint and to the empty server, and of opening one."""
    bench = Workbench.own()
    with _empty_server() as empty:
        agent = _Timed(empty)
        for _ in range(RUNS):
            tried = bench.run(SCENARIO, agent=agent)
            if tried.verdict.status != "pass":
                raise RuntimeError(f"the golden run is to pass: {tried.rules}")
    call, nothing = statistics.median(agent.asked_ms), statistics.median(agent.empty_ms)
    note = f"{len(agent.asked_ms)} calls"
    return [
        Row("empty HTTP server, a call", nothing, None, "ms", "wall, median"),
        Row("model endpoint, a call", call, 3, "ms", f"wall, median of {note}"),
        Row("model endpoint, opened and closed", _opened_ms(), 20, "ms", "wall, median"),
    ]


@dataclass
class _Timed:
    """An agent whose model side is a client of the endpoint, in a thread of its own."""

    empty: str
    asked_ms: list[float] = field(default_factory=list)
    empty_ms: list[float] = field(default_factory=list)

    def run(self, task: Task, session: Session) -> AgentReport:
        """Settle questions and make calls in the session's thread until the client is done."""
        inbox: queue.SimpleQueue[Asked | ToolRequest | str] = queue.SimpleQueue()
        outcomes: queue.SimpleQueue[str] = queue.SimpleQueue()
        with closing(ModelEndpoint(inbox.put)) as endpoint:
            arguments = (endpoint, task, inbox, outcomes)
            client = threading.Thread(target=self._converse, args=arguments, daemon=True)
            client.start()
            while not isinstance(arrived := inbox.get(timeout=30), str):
                if isinstance(arrived, Asked):
                    arrived.settle(session, task)
                    continue
                outcome = session.call(arrived, timeout_ms=10_000)
                result = None if outcome.result is None else outcome.result.value()
                shown = {"status": outcome.status, "reason": outcome.reason, "result": result}
                outcomes.put(json.dumps(shown))
            client.join()
        return AgentReport("completed", arrived)

    def _converse(
        self,
        endpoint: ModelEndpoint,
        task: Task,
        inbox: queue.SimpleQueue[Asked | ToolRequest | str],
        outcomes: queue.SimpleQueue[str],
    ) -> None:
        messages: list[object] = [{"role": m.role, "content": m.content} for m in task.messages]
        headers = {"Authorization": f"Bearer {endpoint.key}"}
        host = endpoint.origin.removeprefix("http://")
        with (
            closing(http.client.HTTPConnection(host)) as real,
            closing(http.client.HTTPConnection(self.empty)) as empty,
        ):
            while True:
                body = json.dumps({"model": "any", "messages": messages}).encode()
                _timed(empty, body, headers, self.empty_ms)
                said = _timed(real, body, headers, self.asked_ms)["choices"][0]["message"]
                calls = said.get("tool_calls", [])
                if not calls:
                    inbox.put(said["content"])
                    return
                messages.append(said)
                for call in calls:
                    function = call["function"]
                    inbox.put(ToolRequest(call["id"], function["name"], function["arguments"]))
                    shown = outcomes.get(timeout=30)
                    messages.append({"role": "tool", "tool_call_id": call["id"], "content": shown})


def _timed(
    connection: http.client.HTTPConnection, body: bytes, headers: dict[str, str], ms: list[float]
) -> Any:  # noqa: ANN401 - whatever the server answers
    began = time.perf_counter_ns()
    connection.request("POST", PATH, body, headers)
    data = connection.getresponse().read()
    ms.append((time.perf_counter_ns() - began) / 1e6)
    return json.loads(data)


def _opened_ms() -> float:
    """Return how long it takes to open an endpoint and to close it."""
    took = []
    for _ in range(RUNS):
        began = time.perf_counter_ns()
        ModelEndpoint(lambda _: None).close()
        took.append((time.perf_counter_ns() - began) / 1e6)
    return statistics.median(took)


class _Empty(BaseHTTPRequestHandler):
    """Reads what was sent, and answers with the same few bytes."""

    protocol_version = "HTTP/1.1"
    wbufsize = 64 * 1024
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        """Answer."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Stay silent."""


@contextmanager
def _empty_server() -> Iterator[str]:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Empty) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()
