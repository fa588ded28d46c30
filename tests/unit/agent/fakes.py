"""A session that the agent's tests steer: decisions come from a list, outcomes from a function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, repeat

from arh.canonical import Json, JsonValue
from arh.errors import RunStopped
from arh.records.decisions import Calls, Decision, Final, ModelReply, Usage
from arh.records.messages import Message, ReplyStatus, ToolRequest
from arh.records.outcomes import Mark, ToolOutcome
from arh.records.tasks import Budgets, Note, ProgressLimits, Task

NO_USAGE = Usage()
GENEROUS = Budgets(steps_max=100, tool_calls_max=100, deadline_ms=1_000_000)
PATIENT = ProgressLimits(repeats_max=90, cycles_max=90, stall_max=90, rejections_max=90)


def request(tool: str = "read", arguments: str = "{}", call_id: str = "req-1") -> ToolRequest:
    """A request of a tool."""
    return ToolRequest(call_id, tool, arguments)


def calls(*tools: str) -> Calls:
    """A decision to call these tools in order, `name` or `name{...}`."""
    return Calls(
        tuple(request(t.partition("{")[0], t[t.find("{") :] if "{" in t else "{}") for t in tools)
    )


def executed(
    result: JsonValue = None, *marks: Mark, tool: str = "read", reason: str = "ok"
) -> ToolOutcome:
    """An outcome of an executed call."""
    return ToolOutcome("call-0001", tool, "1.0", "executed", reason, Json.of(result), marks=marks)


def failed(
    reason: str, *, status: ReplyStatus = "error", retry_after_ms: int | None = None
) -> ToolOutcome:
    """An outcome of a call that was not executed."""
    return ToolOutcome("call-0001", "read", "1.0", status, reason, retry_after_ms=retry_after_ms)


def task(
    budgets: Budgets = GENEROUS, progress: ProgressLimits = PATIENT, *, said: str = "help A-1007"
) -> Task:
    """A task with one user message."""
    return Task("task-1", "agent", (Message("user", said),), (), budgets, progress)


class FakeSession:
    """A session with a clock of its own; what the agent did with it can be read off afterwards.

    Decisions are given out in order, the last one again and again; so are answers to questions, of
    which there are none after the last. Each call takes `call_ms`, each decision `model_ms`.
    """

    def __init__(
        self,
        decisions: Iterable[Decision] = (Final("done"),),
        outcomes: Callable[[ToolRequest, int], ToolOutcome] | None = None,
        *,
        answers: Iterable[str] = (),
        call_ms: int = 0,
        model_ms: int = 0,
        usage: Usage = NO_USAGE,
    ) -> None:
        listed = list(decisions)
        self._decisions: Iterator[Decision] = chain(listed, repeat(listed[-1]))
        self._outcomes = outcomes or (lambda _request, _number: executed())
        self._answers = iter(list(answers))
        self._call_ms = call_ms
        self._model_ms = model_ms
        self._usage = usage
        self.now = 0
        self.asked: list[tuple[Message, ...]] = []
        self.limits: list[tuple[int, int | None]] = []
        self.called: list[ToolRequest] = []
        self.timeouts: list[int] = []
        self.waits: list[int] = []
        self.notes: list[Note] = []

    def complete(
        self,
        messages: tuple[Message, ...],
        *,
        timeout_ms: int,
        output_tokens_max: int | None = None,
    ) -> ModelReply:
        """The next decision."""
        self.asked.append(messages)
        self.limits.append((timeout_ms, output_tokens_max))
        self.now += self._model_ms
        return ModelReply(next(self._decisions), self._usage, self._model_ms, "fake")

    def call(self, request: ToolRequest, *, timeout_ms: int) -> ToolOutcome:
        """The outcome that the test's function gives."""
        if len(self.called) > 10_000:
            raise RunStopped("watchdog")
        self.called.append(request)
        self.timeouts.append(timeout_ms)
        self.now += self._call_ms
        return self._outcomes(request, len(self.called))

    def ask(self, message: str) -> Message | None:
        """The next answer of the user."""
        answer = next(self._answers, None)
        return None if answer is None else Message("user", answer)

    def now_ms(self) -> int:
        """The session's own time."""
        return self.now

    def wait(self, ms: int) -> None:
        """Time has passed."""
        self.waits.append(ms)
        self.now += ms

    def note(self, note: Note) -> None:
        """The note is kept."""
        self.notes.append(note)
