"""A run that is served over MCP while the test is its client, with nothing but plain sockets.

The client speaks the protocol by hand, so that a test can send what no library would.
"""

from __future__ import annotations

import http.client
import json
import queue
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from arh.connect.mcp.agent import ServedAgent
from arh.connect.mcp.credentials import Principal
from arh.connect.mcp.place import Place
from arh.ports.sue import Agent, Session
from arh.records.messages import ToolRequest
from arh.records.outcomes import ToolOutcome
from arh.records.tasks import AgentReport, Task
from arh.testing.workbench import Exercise, Tried, Workbench

GOLDEN = "golden-billing-incident-001"
BEFORE = "2025-11-25"
PRINCIPAL = Principal("support-agent-role", "support-agent", "tenant-a")
ACCOUNT = {"account_id": "A-1007"}
TICKET = {
    "account_id": "A-1007",
    "category": "billing_incident",
    "incident_ref": "EVT-402",
    "proposed_action": "credit_review",
    "summary": "The customer was charged twice during the incident.",
    "idempotency_key": "review-A-1007",
}

Json = dict[str, Any]


class Held:
    """A session whose calls can be held where the gateway is done and nobody has been told."""

    def __init__(self) -> None:
        """Hold nothing yet."""
        self.hold: set[str] = set()
        self.reached: queue.Queue[str] = queue.Queue()
        self.go_on = threading.Event()

    def around(self, session: Session) -> Session:
        """Return the session with its calls held."""
        held, real = self, session.call

        class Holding:
            def __getattr__(self, name: str) -> object:
                return getattr(session, name)

            def call(self, request: ToolRequest, *, timeout_ms: int) -> ToolOutcome:
                outcome = real(request, timeout_ms=timeout_ms)
                if request.call_id in held.hold:
                    held.reached.put(request.call_id)
                    assert held.go_on.wait(20)
                return outcome

        return Holding()  # type: ignore[return-value]  # what is not held is the session's own


@dataclass
class Live:
    """One run under way: its place, and, once it is over, how it was judged."""

    place: Place
    held: Held
    ended: list[Tried] = field(default_factory=list)

    @property
    def tried(self) -> Tried:
        """How the run was judged."""
        return self.ended[0]

    @property
    def client(self) -> Client:
        """A client with the run's credential."""
        return Client(self.place.url, self.place.token)

    def calls(self) -> list[Json]:
        """Return every attempt on record, in order."""
        events = self.tried.output.evidence.events
        return [dict(each.data) for each in events if each.kind == "tool_call"]

    def commits(self) -> list[Json]:
        """Return every commit on record, in order."""
        events = self.tried.output.evidence.events
        return [dict(each.data) for each in events if each.kind == "state_changed"]


@cache
def own() -> Workbench:
    """Return the suite that comes with arh, read once."""
    return Workbench.own()


def judged(agent: Agent, scenario_id: str = GOLDEN, bench: Workbench | None = None) -> Tried:
    """Run a scenario with an agent that may take its time, as one on a busy machine does."""
    exercise = Exercise(scenario_id, agent=agent, wall_ms_max=60_000)
    return (bench or own()).tried(exercise)


@contextmanager
def live(bench: Workbench | None = None, scenario_id: str = GOLDEN) -> Iterator[Live]:
    """Yield a run that is being served; on leaving, it is ended and judged."""
    places: queue.Queue[Place | None] = queue.Queue()
    held, ended = Held(), list[Tried]()
    agent = ServedAgent(PRINCIPAL, lambda _task, place: places.put(place), 60_000)

    class Served:
        def run(self, task: Task, session: Session) -> AgentReport:
            return agent.run(task, held.around(session))

    def work() -> None:
        try:
            ended.append(judged(Served(), scenario_id, bench))
        finally:
            places.put(None)

    thread = threading.Thread(target=work)
    thread.start()
    place = places.get(timeout=30)
    assert place is not None, "the run ended before it was served"
    run = Live(place, held, ended)
    try:
        yield run
    finally:
        held.go_on.set()
        run.client.call("arh_end_task", {"answer": "Done."})
        thread.join(30)


@dataclass(frozen=True)
class Reply:
    """One HTTP answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def message(self) -> Json:
        """The JSON-RPC message in it."""
        read: Json = json.loads(self.body)
        return read

    @property
    def result(self) -> Json:
        """What a call returned; the protocol's error fails the test."""
        result: Json = self.message["result"]
        return result

    @property
    def told(self) -> Json:
        """What a call's text says."""
        read: Json = json.loads(self.result["content"][0]["text"])
        return read


@dataclass(frozen=True)
class Client:
    """Speaks streamable HTTP by hand, in the version before the current one."""

    url: str
    token: str | None

    def post(self, body: bytes, *, method: str = "POST", **changed: str | None) -> Reply:
        """Send the bytes with the usual headers, changed; `None` leaves one out."""
        connection = self.connection()
        try:
            headers = self.headers(**changed)
            connection.request(method, urlsplit(self.url).path, body, headers)
            answer = connection.getresponse()
            headers = {name.lower(): text for name, text in answer.getheaders()}
            return Reply(answer.status, headers, answer.read())
        finally:
            connection.close()

    def connection(self) -> http.client.HTTPConnection:
        """Return a fresh connection."""
        port = urlsplit(self.url).port
        return http.client.HTTPConnection("127.0.0.1", port, timeout=20)

    def headers(self, **changed: str | None) -> dict[str, str]:
        """Return the usual headers, changed."""
        usual = {
            "authorization": None if self.token is None else f"Bearer {self.token}",
            "accept": "application/json, text/event-stream",
            "content-type": "application/json",
            "mcp-protocol-version": BEFORE,
            **{name.replace("_", "-"): text for name, text in changed.items()},
        }
        return {name: text for name, text in usual.items() if text is not None}

    def ask(self, method: str, params: Json | None = None) -> Reply:
        """Send one request."""
        return self.post(request(method, params))

    def call(self, tool: str, arguments: Json, meta: Json | None = None) -> Reply:
        """Call a tool."""
        return self.post(call_body(tool, arguments, meta))

    def send_and_leave(
        self, body: bytes, wait: Callable[[], object], *, sent: int | None = None
    ) -> None:
        """Send a request, or `sent` bytes of it, wait, and be gone before it is answered."""
        data, port = self.written(body), urlsplit(self.url).port
        with socket.create_connection(("127.0.0.1", port or 0), 20) as gone:
            gone.sendall(data[:sent])
            wait()

    def written(self, body: bytes) -> bytes:
        """Return the bytes of a whole request."""
        parts = urlsplit(self.url)
        lines = [f"POST {parts.path} HTTP/1.1", f"host: {parts.netloc}"]
        lines += [f"{name}: {text}" for name, text in self.headers().items()]
        lines += [f"content-length: {len(body)}", "", ""]
        return "\r\n".join(lines).encode() + body


def until(true: Callable[[], bool]) -> None:
    """Return as soon as it is true."""
    for _ in range(2000):
        if true():
            return
        time.sleep(0.005)
    raise AssertionError("it never came true")


def request(method: str, params: Json | None = None) -> bytes:
    """Return the bytes of a request."""
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
    return json.dumps(message).encode()


def call_body(tool: str, arguments: Json, meta: Json | None = None) -> bytes:
    """Return the bytes of a call."""
    params: Json = {"name": tool, "arguments": arguments}
    return request("tools/call", params if meta is None else {**params, "_meta": meta})
