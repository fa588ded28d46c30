"""The reference agent: plan, act, observe, until the work is done or its supervisor stops it.

It knows its task, which is frozen, and its session, which is its only way out; it never sees a
scenario or an expectation. Each turn of the loop asks the model for one decision and carries it
out: calls one by one in their order, a question to the user, or an end. A reply that cannot be
acted on is asked for again, within the retry limit, and then counts as a dependency that is not
available.

Whatever the supervisor forbids goes on record through `session.note`, each call by itself, so that
a call that was never made is still an attempt that somebody can judge.

Ends: `completed` with the model's answer; `clarification_requested` with the question that nobody
answered; `safely_refused` with the model's words; `dependency_unavailable`; or a supervisor's stop,
without an answer even if the model gave one too late.

Time passes only while the session is at work, so it is read once after each thing that the session
did.
"""

from __future__ import annotations

from arh.agent.prompt import characters, opening, tool_message
from arh.agent.supervisor import Stop, Supervisor
from arh.ports.sue import Session, Telemetry
from arh.records.decisions import (
    AskUser,
    Calls,
    Decision,
    Final,
    Malformed,
    ModelReply,
    Refusal,
    Truncated,
    Unavailable,
)
from arh.records.messages import Message, ToolRequest
from arh.records.tasks import AgentReport, BudgetRefused, Task


class ReferenceAgent:
    """An agent that can work on any number of tasks, one after the other or at the same time."""

    def __init__(self, telemetry: Telemetry | None = None) -> None:
        """Report `agent_step` and `model_call` spans to `telemetry`, if there is any."""
        self._telemetry = telemetry

    def run(self, task: Task, session: Session) -> AgentReport:
        """Work on the task until it is done, refused or out of budget."""
        work = _Work(task, session, self._telemetry)
        while True:
            report = work.step()
            if report is not None:
                return report


class _Work:
    """One task in progress: the conversation, and the supervisor that watches it."""

    __slots__ = (
        "_characters",
        "_failures",
        "_messages",
        "_now_ms",
        "_session",
        "_spans",
        "_supervisor",
    )

    def __init__(self, task: Task, session: Session, telemetry: Telemetry | None) -> None:
        self._session = session
        self._spans = None if telemetry is None else _Spans(telemetry)
        self._now_ms = session.now_ms()
        self._supervisor = Supervisor(task.budgets, task.progress, now_ms=self._now_ms)
        self._messages = list(opening(task))
        self._characters = sum(map(characters, self._messages)) + sum(
            len(t.name) + len(t.description) + len(t.parameters.data) for t in task.tools
        )
        self._failures = 0
        for message in task.messages:
            self._hear(message)

    def step(self) -> AgentReport | None:
        """Ask for one decision and act on it; return the report if that was the end."""
        input_tokens = -(-self._characters // 4)
        stop = self._supervisor.before_decision(now_ms=self._now_ms, input_tokens=input_tokens)
        if stop is not None:
            return self._stopped(stop)
        if self._spans is None:
            return self._decide(input_tokens)
        self._spans.begin(self._now_ms)
        report = self._decide(input_tokens)
        self._spans.end(self._now_ms)
        return report

    def _decide(self, input_tokens: int) -> AgentReport | None:
        """Ask the model and act on its decision, unless the asking itself broke a budget."""
        supervisor = self._supervisor
        reply = self._session.complete(
            tuple(self._messages),
            timeout_ms=supervisor.time_left_ms(self._now_ms),
            output_tokens_max=supervisor.output_tokens_max(input_tokens),
        )
        now_ms = self._now_ms = self._session.now_ms()
        if self._spans is not None:
            self._spans.model_call(reply, now_ms)
        decision = reply.decision
        stop = supervisor.after_decision(now_ms=now_ms, tokens=reply.usage.total)
        if stop is not None:
            return self._stopped(stop, decision.requests if isinstance(decision, Calls) else ())
        return self._act(decision)

    def _act(self, decision: Decision) -> AgentReport | None:
        """Carry out a decision; return the report if it ends the task."""
        match decision:
            case Calls(requests) if requests:
                return self._call_all(decision)
            case AskUser(message):
                return self._ask(message)
            case Final(answer):
                return AgentReport("completed", answer)
            case Refusal(message):
                return AgentReport("safely_refused", message)
            case _:
                return self._ask_again(decision)

    def _call_all(self, calls: Calls) -> AgentReport | None:
        """Make the calls in order; once one may not be made or was the last, refuse the rest."""
        session, supervisor = self._session, self._supervisor
        self._failures = 0
        self._append(Message("assistant", calls.text, calls.requests))
        for index, request in enumerate(calls.requests):
            permit = supervisor.before_call(request, now_ms=self._now_ms)
            if isinstance(permit, Stop):
                return self._stopped(permit, calls.requests[index:])
            if permit.wait_ms:
                self._wait(permit.wait_ms)
            left_ms = supervisor.time_left_ms(self._now_ms)
            outcome = session.call(request, timeout_ms=left_ms)
            self._now_ms = session.now_ms()
            self._append(tool_message(request, outcome))
            found = supervisor.after_call(permit, outcome, now_ms=self._now_ms)
            if found is None:
                continue
            if isinstance(found, Stop):
                return self._stopped(found, calls.requests[index + 1 :])
            session.note(found)
        return None

    def _ask(self, question: str) -> AgentReport | None:
        """Ask the user; the conversation goes on with the answer, or ends with the question."""
        self._failures = 0
        self._append(Message("assistant", question))
        answer = self._session.ask(question)
        self._now_ms = self._session.now_ms()
        if answer is None:
            return AgentReport("clarification_requested", question)
        self._append(answer)
        self._hear(answer)
        return None

    def _ask_again(self, decision: Decision) -> AgentReport | None:
        """Let the next step ask the model again, after a back-off if it did not answer at all."""
        self._failures += 1
        reason, retry_after_ms = _trouble(decision)
        wait_ms = self._supervisor.model_back_off_ms(self._failures, retry_after_ms)
        if wait_ms is None:
            detail = f"model: {reason}, {self._failures} times"
            return AgentReport("dependency_unavailable", detail=detail)
        if not isinstance(decision, Unavailable):
            return None
        if wait_ms >= self._supervisor.time_left_ms(self._now_ms):
            detail = f"model: {reason}, and no time left to ask again"
            return AgentReport("dependency_unavailable", detail=detail)
        self._wait(wait_ms)
        return None

    def _stopped(self, stop: Stop, unmade: tuple[ToolRequest, ...] = ()) -> AgentReport:
        """Put the stop and every call that is not made because of it on record, and end."""
        note = stop.note
        if not (unmade and isinstance(note, BudgetRefused) and not note.overrun):
            self._session.note(note)
        for request in unmade:
            self._session.note(stop.refusing(request))
        return AgentReport(stop.termination, detail=stop.detail)

    def _wait(self, wait_ms: int) -> None:
        """Let time pass."""
        self._session.wait(wait_ms)
        self._now_ms = self._session.now_ms()

    def _append(self, message: Message) -> None:
        """Add a message to the conversation and to the estimate of the next request."""
        self._messages.append(message)
        self._characters += characters(message)

    def _hear(self, message: Message) -> None:
        """Let what the user says justify targets."""
        if message.role == "user":
            self._supervisor.progress.heard(message.content)


class _Spans:
    """The agent's own spans: an `agent_step` for each decision, with its `model_call` inside."""

    __slots__ = ("_began_ms", "_decision", "_index", "_number", "_telemetry")

    def __init__(self, telemetry: Telemetry) -> None:
        self._telemetry = telemetry
        self._index = 0
        self._number = 0
        self._began_ms = 0
        self._decision = ""

    def begin(self, now_ms: int) -> None:
        """Open the span of the next step."""
        self._index += 1
        self._number = self._telemetry.reserve()
        self._began_ms = now_ms

    def model_call(self, reply: ModelReply, now_ms: int) -> None:
        """Report the model call of the step, which has just ended."""
        self._decision = type(reply.decision).__name__.lower()
        failed = self._decision if isinstance(reply.decision, _FAILURES) else ""
        self._telemetry.span(
            self._telemetry.reserve(),
            "model_call",
            parent=self._number,
            start_ms=self._began_ms,
            end_ms=now_ms,
            attributes={
                "decision": self._decision,
                "input_tokens": reply.usage.input_tokens,
                "output_tokens": reply.usage.output_tokens,
            },
            error=failed,
        )

    def end(self, now_ms: int) -> None:
        """Report the step itself."""
        self._telemetry.span(
            self._number,
            "agent_step",
            parent=0,
            start_ms=self._began_ms,
            end_ms=now_ms,
            attributes={"step": self._index, "decision": self._decision},
        )


_FAILURES = (Truncated, Malformed, Unavailable)


def _trouble(decision: Decision) -> tuple[str, int | None]:
    """Return what is wrong with a decision that cannot be acted on, and when to ask again."""
    if isinstance(decision, Unavailable):
        return decision.reason, decision.retry_after_ms
    return ("truncated reply" if isinstance(decision, Truncated) else "malformed reply"), None
