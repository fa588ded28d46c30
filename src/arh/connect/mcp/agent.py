"""Any agent that speaks MCP as the agent under test: it calls tools, and says how it ended.

A command is started afresh for each task. It finds the server's address and its credential in its
environment, the task on its standard input, and what it writes to its standard output is its
answer. An agent that is started elsewhere is served instead: where it finds the server is
announced, and a tool takes its answer. docs/agents-mcp.md describes both.

Time in the run is virtual: how fast the agent thinks decides nothing, its wall limit apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Final

from arh.canonical import Refused, line, parse
from arh.connect import wire
from arh.connect.mcp.credentials import Principal
from arh.connect.mcp.exchange import Exchange
from arh.connect.process import GRACE_MS, AgentProcess, Launch, in_background, keep
from arh.errors import AuthoringError, RunStopped
from arh.ports.sue import Session
from arh.records.tasks import AgentReport, Task
from arh.sim.clock import wall_ms

if TYPE_CHECKING:
    from arh.connect.mcp.hub import Hub
    from arh.connect.mcp.place import Place

CONFIG: Final = "ARH_MCP_CONFIG"
URL: Final = "ARH_MCP_URL"
TOKEN: Final = "ARH_MCP_TOKEN"  # noqa: S105 - the name of a variable
STDIO: Final = "ARH_MCP_STDIO"
OUTPUT_BYTES_MAX: Final = 4 * 1024 * 1024
EXTRA: Final = 'pip install "agentic-reliability-harness[mcp]"'

LEFT: Final = "the agent left without ending its task"


def require_mcp() -> None:
    """Return only if the library that speaks the protocol is there; it is not imported yet.

    Raises:
        AuthoringError: It is not installed.
    """
    from importlib.util import find_spec

    if find_spec("mcp") is None or find_spec("mcp_types") is None:
        raise AuthoringError.of("agents over MCP need the library `mcp`, version 2", hint=EXTRA)


def hub() -> Hub:
    """Return the server of this process.

    Raises:
        AuthoringError: The library that it needs is not installed.
    """
    require_mcp()
    from arh.connect.mcp.hub import shared_hub

    return shared_hub()


@dataclass(frozen=True, slots=True)
class McpCommandAgent:
    """Implements `arh.ports.sue.Agent` with one process a task, which is a client of the server.

    With `model_endpoint`, its libraries find the run's model over HTTP as well. `told` hears the
    last words on its error stream of a process that ended in error.
    """

    command: str
    principal: Principal
    wall_ms_max: int = 30_000
    model_endpoint: bool = False
    told: Callable[[str], None] | None = None

    def run(self, task: Task, session: Session) -> AgentReport:
        """Let the process work on the task; what it wrote is its answer."""
        server, exchange = hub(), Exchange(task)
        place = server.open(exchange, self.principal, life_ms=self.wall_ms_max)
        try:
            with _model_side(exchange, wanted=self.model_endpoint) as model:
                return self._worked(session, exchange, {**_found(place), **model})
        finally:
            exchange.close()
            server.close(place)

    def _worked(
        self, session: Session, exchange: Exchange, given: Mapping[str, str]
    ) -> AgentReport:
        written = bytearray()

        def read(stream: IO[bytes]) -> None:
            keep(stream, written, OUTPUT_BYTES_MAX + 1)
            exchange.end(None)

        told = line(wire.task_message(exchange.task)) + b"\n"
        process = AgentProcess(Launch(self.command, self.wall_ms_max, given=given, told=told), read)
        try:
            exchange.serve(session, process.left_s)
            code = process.exit_code()
            if process.late:
                raise RunStopped("hung", "the agent's process took too long")
            report = _ended(code, bytes(written))
        finally:
            process.close()
        if self.told is not None and report.termination == "agent_error":
            self.told(process.last_words())
        return report


def _found(place: Place) -> Mapping[str, str]:
    """Return the variables by which the process finds the server."""
    return {
        CONFIG: str(place.config),
        URL: place.url,
        TOKEN: place.token,
        STDIO: line(list(place.stdio)).decode(),
    }


@contextmanager
def _model_side(exchange: Exchange, *, wanted: bool) -> Iterator[Mapping[str, str]]:
    """Yield the variables by which the process finds the run's model, if it is to find it."""
    if not wanted:
        yield {}
        return
    from arh.connect.model_endpoint.endpoint import ModelEndpoint

    with closing(ModelEndpoint(exchange.hand_over)) as endpoint:
        yield endpoint.environment()


@dataclass(frozen=True, slots=True)
class ServedAgent:
    """Implements `arh.ports.sue.Agent` with a client that somebody else starts.

    `announce` is told where each task is served.
    """

    principal: Principal
    announce: Callable[[Task, Place], None]
    wall_ms_max: int = 600_000

    def run(self, task: Task, session: Session) -> AgentReport:
        """Serve the task until its client ends it."""
        server, exchange = hub(), Exchange(task)
        place = server.open(exchange, self.principal, life_ms=self.wall_ms_max, ends=True)
        ends_at = wall_ms() + self.wall_ms_max
        try:
            self.announce(task, place)
            report = exchange.serve(session, lambda: max(0.0, ends_at - wall_ms()) / 1000)
            return report or AgentReport("agent_error", None, LEFT)
        finally:
            exchange.close()
            server.close(place)


@dataclass(frozen=True, slots=True)
class PipedAgent:
    """Implements `arh.ports.sue.Agent` with the client that started us as its stdio server.

    It works on one task: what it is served over is closed then.
    """

    principal: Principal
    reader: int
    writer: int
    wall_ms_max: int = 600_000

    def run(self, task: Task, session: Session) -> AgentReport:
        """Serve the task over our own input and output until the client ends it, or leaves."""
        server, exchange = hub(), Exchange(task)
        place = server.open(exchange, self.principal, life_ms=self.wall_ms_max, ends=True)
        ends_at = wall_ms() + self.wall_ms_max

        def serve() -> None:
            with suppress(OSError, ValueError):
                server.serve_lines(place, self.reader, self.writer)
            exchange.end(None)

        served = in_background(serve)
        try:
            report = exchange.serve(session, lambda: max(0.0, ends_at - wall_ms()) / 1000)
            return report or AgentReport("agent_error", None, LEFT)
        finally:
            exchange.close()
            server.close(place)
            served.join(GRACE_MS / 1000)


def _ended(code: int | None, written: bytes) -> AgentReport:
    """Return how a command says that it ended."""
    if code != 0:
        how = "did not end" if code is None else f"ended with exit code {code}"
        return AgentReport("agent_error", None, f"the command {how}")
    if len(written) > OUTPUT_BYTES_MAX:
        return AgentReport("agent_error", None, "the answer is longer than any may be")
    text = written.decode(errors="replace").strip()
    return _final(text) or AgentReport("completed", text or None)


def _final(text: str) -> AgentReport | None:
    """Return the report that the last line states, if it is a message `final`."""
    last = text.rpartition("\n")[2]
    try:
        message = parse(last) if last.startswith("{") else None
    except Refused:
        return None
    if not isinstance(message, dict) or message.get("type") != "final":
        return None
    return wire.final_report(message)
