"""The session of one actor: the only way out of an agent, and where the runner watches it.

Every method first asks the run's `Control` whether the run may go on. The session records what
crossed the model boundary and hands calls to the gateway; it neither forwards expectations nor
decides. The agent holds a view of it (`harness/running/handed.py`), a new one for each task.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from arh.canonical import Json
from arh.errors import ArhError, DependencyFailure, RunStopped
from arh.foreign import ForeignFailure, call
from arh.harness.evidence.recorder import Data, plain
from arh.harness.running.control import Control
from arh.harness.running.handed import SessionView, taken_message
from arh.ports.environment import Checkpoint, Recorder, SteeredClock, User
from arh.ports.sue import Gateway, Model
from arh.records.decisions import (
    AskUser,
    Calls,
    Decision,
    Final,
    Malformed,
    ModelReply,
    ModelRequest,
    Refusal,
    Truncated,
    Unavailable,
)
from arh.records.messages import Message, ToolRequest, ToolSpec
from arh.records.outcomes import ToolOutcome
from arh.records.tasks import BudgetRefused, Note, ProgressStopped

SOURCE = "runner"


@dataclass(frozen=True, slots=True)
class Ports:
    """What one actor's session leads to."""

    model: Model
    gateway: Gateway
    user: User | None
    tools: tuple[ToolSpec, ...]


class RunSession:
    """Implements `arh.ports.sue.Session` over a run's ports."""

    def __init__(
        self,
        *,
        ports: Ports,
        clock: SteeredClock,
        recorder: Recorder,
        control: Control,
        checkpoint: Checkpoint,
        settled: Callable[[], None],
    ) -> None:
        """Join the ports of one actor.

        `settled` is called after every attempt, and may stop the run.
        """
        self._ports = ports
        self._clock = clock
        self._recorder = recorder
        self._control = control
        self._checkpoint = checkpoint
        self._settled = settled
        self._given: tuple[Message, ...] = ()
        self._seen: tuple[Message, ...] = ()
        self._results: dict[bytes, Json] = {}
        self._asked = 0
        self.in_port = ""
        self.outage = ""
        self.view: SessionView | None = None

    def open(self) -> SessionView:
        """Return what the agent is handed for its next task; views handed over before are shut."""
        self.view = SessionView(self)
        return self.view

    def close(self) -> None:
        """Shut the agent's view: from now on every use of it raises `RunStopped`."""
        self.view = None

    def complete(
        self,
        messages: tuple[Message, ...],
        *,
        timeout_ms: int,
        output_tokens_max: int | None = None,
    ) -> ModelReply:
        """Ask the model; an adapter that raises is recorded as failed and seen as unavailable."""
        fresh = self._take(messages)
        self._enter("model")
        self._checkpoint("model")
        ask = self._record_question(fresh)
        limit = self._control.time_left(timeout_ms)
        request = ModelRequest(self._seen, self._ports.tools, limit, output_tokens_max)
        reply = self._answer(request)
        self._record_answer(ask, reply)
        self._leave()
        return reply

    def call(self, request: ToolRequest, *, timeout_ms: int) -> ToolOutcome:
        """Ask the gateway.

        The attempt, its effects and the invariants are recorded before return.
        """
        self._enter("tool")
        try:
            outcome = self._pass_on(request, self._control.time_left(timeout_ms))
        finally:
            self._settled()
        self._leave()
        if outcome.result is not None:
            self._results[outcome.result.data] = outcome.result
        return outcome

    def ask(self, message: str) -> Message | None:
        """Ask the user; a user that fails is recorded, and no answer comes."""
        self._enter("user")
        answer = self._reply(message) if self._ports.user is not None else None
        self._leave()
        return answer

    def now_ms(self) -> int:
        """Return the run's time."""
        self._control.go_on()
        return self._clock.now_ms()

    def wait(self, ms: int) -> None:
        """Let time pass; waiting beyond the watchdog's deadline ends the run."""
        self._enter("wait")
        self._clock.advance(self._control.time_left(max(0, ms), hard=True))
        self._leave()

    def note(self, note: Note) -> None:
        """Put a supervisor's note on record."""
        self._enter("note")
        kind, data = _note(note)
        self._recorder.record(kind, "supervisor", data)
        self._leave()

    def hear(self, messages: Sequence[Message], *, generated: range = range(0)) -> None:
        """Record the opening conversation; the messages at the `generated` places are filler."""
        for index, message in enumerate(messages):
            data: Data = {"role": message.role, "text": message.content}
            if index in generated:
                data["generated"] = True
            self._recorder.record("user_said", SOURCE, data)

    def _enter(self, port: str) -> None:
        self._control.enter(port)
        self.in_port = port

    def _leave(self) -> None:
        """Hand control back to the agent, unless the run was stopped meanwhile."""
        self.in_port = ""
        self._control.go_on()

    def _pass_on(self, request: ToolRequest, limit: int) -> ToolOutcome:
        outcome: object
        self._control.calls_passed += 1
        try:
            outcome = call("gateway", lambda: self._gateway_call(request, limit))
        except RunStopped as stop:
            raise self._latched(stop) from None
        except ArhError as error:
            outcome = ForeignFailure("gateway", type(error).__name__)
        if not isinstance(outcome, ToolOutcome):
            name = outcome.type_name if isinstance(outcome, ForeignFailure) else "wrong_type"
            raise self._control.stop("harness_error", f"the gateway failed: {name}", by="gateway")
        return outcome

    def _gateway_call(self, request: ToolRequest, limit: int) -> ToolOutcome:
        key = request.metadata_key
        return self._ports.gateway.call(request, timeout_ms=limit, metadata_key=key)

    def _latched(self, stop: RunStopped) -> RunStopped:
        """Make a stop from inside a port final; that an actor hung, the runner says for itself."""
        if stop.termination == "hung":
            return stop
        return self._control.stop(stop.termination, stop.detail, by="environment")

    def _take(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """Take over the conversation and return what of it is new: all, if its past was rewritten.

        The model is shown our copies, so that what it saw is what is on record.
        """
        known = len(self._given)
        grown = messages[:known] in (self._given, self._seen)
        fresh = tuple(
            [taken_message(m, self._results) for m in (messages[known:] if grown else messages)]
        )
        self._given = messages
        self._seen = self._seen + fresh if grown else fresh
        return fresh

    def _record_question(self, fresh: tuple[Message, ...]) -> int:
        self._asked += 1
        self._recorder.record(
            "model_asked",
            SOURCE,
            {
                "ask": self._asked,
                "message_count": len(self._seen),
                "new_messages": [_message(m) for m in fresh],
            },
        )
        return self._asked

    def _answer(self, request: ModelRequest) -> ModelReply:
        began = self._clock.now_ms()
        reply: object
        try:
            reply = call("model", lambda: self._ports.model.complete(request))
        except RunStopped as stop:
            raise self._latched(stop) from None
        except DependencyFailure as failure:
            return ModelReply(Unavailable(failure.reason, failure.retry_after_ms))
        except ArhError as error:
            reply = ForeignFailure("model", type(error).__name__)
        if isinstance(reply, ForeignFailure) or not isinstance(reply, ModelReply):
            name = reply.type_name if isinstance(reply, ForeignFailure) else "wrong_type"
            self._control.problem(f"model adapter failed: {name}")
            return ModelReply(Unavailable("dependency_error"))
        left_ms = began + reply.latency_ms - self._clock.now_ms()
        if left_ms > 0:
            self._clock.advance(left_ms)
        self.outage = _outage(reply)
        return reply

    def _record_answer(self, ask: int, reply: ModelReply) -> None:
        usage = reply.usage
        self._recorder.record(
            "model_answered",
            SOURCE,
            {
                "ask": ask,
                **_decision(reply.decision),
                "input_tokens": usage.input_tokens,
                "output_tokens": usage.output_tokens,
                "cached_tokens": usage.cached_tokens,
                "latency_ms": reply.latency_ms,
                "model": reply.model,
                **_served(reply),
            },
        )

    def _reply(self, message: str) -> Message | None:
        user = self._ports.user
        visible = (*_visible(self._seen), Message("assistant", message))
        reply = call("user", lambda: user.reply(visible) if user else None)
        if reply is None or isinstance(reply, ForeignFailure) or reply.error:
            self._control.problem("the simulated user failed")
            return None
        if reply.message is not None:
            self._recorder.record(
                "user_said", SOURCE, {"role": "user", "text": reply.message.content}
            )
        return reply.message


def _outage(reply: ModelReply) -> str:
    """Return why a live model gave no whole reply, or nothing: that is not the agent's doing."""
    return "" if reply.served is None else reply.served.trouble


def _served(reply: ModelReply) -> Data:
    """Return what a live model's server said of itself, beside its answer."""
    served = reply.served
    if served is None:
        return {}
    return {
        "served_model": served.model,
        "served_fingerprint": served.fingerprint,
        "reply_id": served.reply_id,
        "first_token_ms": served.first_ms,
        "trouble": served.trouble,
        "metered": served.metered,
    }


def _visible(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    return tuple(m for m in messages if m.role in {"user", "assistant"} and m.content)


def _message(message: Message) -> Data:
    data: Data = {"role": message.role, "text": message.content}
    if message.requests:
        data["requests"] = [[r.call_id, r.tool, r.arguments] for r in message.requests]
    if message.reply is not None:
        data["call_id"] = message.reply.call_id
    return data


def _decision(decision: Decision) -> Data:
    match decision:
        case Calls():
            requests = [[r.call_id, r.tool, r.arguments] for r in decision.requests]
            return {"decision": "calls", "requests": requests, "text": decision.text}
        case Final():
            return {"decision": "final", "answer": plain(decision.answer)}
        case AskUser() | Refusal():
            name = "ask_user" if isinstance(decision, AskUser) else "refusal"
            return {"decision": name, "text": decision.message}
        case Unavailable():
            return {"decision": "unavailable", "text": decision.reason}
        case Truncated() | Malformed():
            name = "truncated" if isinstance(decision, Truncated) else "malformed"
            return {"decision": name, "text": decision.detail}


def _note(note: Note) -> tuple[str, Data]:
    if isinstance(note, ProgressStopped):
        data: Data = {"pattern": note.pattern, "detail": note.detail, "stops": note.stops}
        return "progress_stopped", data
    return "budget_refused", _refusal(note)


def _refusal(note: BudgetRefused) -> Data:
    data: Data = {
        "budget": note.budget,
        "limit": note.limit,
        "needed": note.needed,
        "overrun": note.overrun,
    }
    if note.request is not None:
        data["request"] = [note.request.call_id, note.request.tool, note.request.arguments]
    return data
