"""What is handed to an agent, and what is taken from it: copies, in both directions.

The border between a run and the agent in it. An agent in our process can change any object that it
holds, frozen or not, so it holds none that anybody else reads: tasks, replies and outcomes are
handed over as objects of its own, which share nothing with the run but text and bytes. What it
hands back is read the same way: exactly text, exactly numbers, never an object with a will of its
own, such as a name that equals one tool when it is authorised and another when it runs. Only bytes
that the run handed over itself, and that come back the same, are not read a second time.

Its session is a `SessionView`, whose attributes lead nowhere: the run behind it is held by a weak
reference and cannot be reached by walking. It works for one task, in the thread that it was handed
over in; afterwards it is closed for good.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from types import MappingProxyType
from typing import Protocol, TypeVar, get_args

from arh.canonical import SAFE_INTEGER, Json
from arh.errors import RunStopped
from arh.records.decisions import Calls, Decision, Final, ModelReply, Usage
from arh.records.messages import Message, ReplyStatus, Role, ToolReply, ToolRequest, ToolSpec
from arh.records.outcomes import Mark, ToolOutcome
from arh.records.tasks import (
    BudgetRefused,
    Budgets,
    Note,
    ProgressLimits,
    ProgressStopped,
    Task,
)

ROLES: Mapping[str, Role] = {role: role for role in get_args(Role)}
STATUSES: Mapping[str, ReplyStatus] = {status: status for status in get_args(ReplyStatus)}
Known = Mapping[bytes, Json]
W = TypeVar("W")
_TEXT = frozenset({str})
# Half the time of `dataclasses.replace`, which looks every field up for each copy.
_BUDGETS = attrgetter(*Budgets.__slots__)
_PROGRESS = attrgetter(*ProgressLimits.__slots__)
EMPTY: Known = MappingProxyType({})


class Behind(Protocol):
    """The session of the run, as its view uses it."""

    view: SessionView | None

    def complete(
        self, messages: tuple[Message, ...], *, timeout_ms: int, output_tokens_max: int | None
    ) -> ModelReply:
        """Ask the model."""
        ...

    def call(self, request: ToolRequest, *, timeout_ms: int) -> ToolOutcome:
        """Ask the gateway."""
        ...

    def ask(self, message: str) -> Message | None:
        """Ask the user."""
        ...

    def now_ms(self) -> int:
        """Return the run's time."""
        ...

    def wait(self, ms: int) -> None:
        """Let time pass."""
        ...

    def note(self, note: Note) -> None:
        """Record a supervisor's note."""
        ...


class SessionView:
    """Implements `arh.ports.sue.Session` for one agent and one task."""

    __slots__ = ("__weakref__", "_session", "_thread")

    def __init__(self, session: Behind) -> None:
        """Stand before the session, in the thread that is now running."""
        self._session = weakref.ref(session)
        self._thread = threading.get_ident()

    def complete(
        self,
        messages: Sequence[Message],
        *,
        timeout_ms: int,
        output_tokens_max: int | None = None,
    ) -> ModelReply:
        """Ask the model for its next decision."""
        session = self._open()
        limit = None if output_tokens_max is None else int(output_tokens_max)
        reply = session.complete(
            tuple(messages), timeout_ms=int(timeout_ms), output_tokens_max=limit
        )
        return handed_reply(reply)

    def call(self, request: ToolRequest, *, timeout_ms: int) -> ToolOutcome:
        """Ask the gateway to run a tool."""
        session = self._open()
        return handed_outcome(session.call(taken_request(request), timeout_ms=int(timeout_ms)))

    def ask(self, message: str) -> Message | None:
        """Ask the user; `None` means that no answer will come."""
        answer = self._open().ask(text_of(message))
        return None if answer is None else _handed_message(answer)

    def now_ms(self) -> int:
        """Return the run's time."""
        return self._open().now_ms()

    def wait(self, ms: int) -> None:
        """Let time pass."""
        self._open().wait(int(ms))

    def note(self, note: Note) -> None:
        """Put on record what the agent's own supervisor refused or stopped."""
        self._open().note(taken_note(note))

    def _open(self) -> Behind:
        """Return the session, as long as this view may use it."""
        session = self._session()
        if session is None or session.view is not self:
            raise RunStopped("agent_error", "the session is over")
        if threading.get_ident() != self._thread:
            raise RunStopped("agent_error", "a session was used from another thread")
        return session


def handed_task(task: Task) -> Task:
    """Return the task as objects of its own."""
    contract = task.output_contract
    return Task(
        task.task_id,
        task.actor,
        tuple(map(_handed_message, task.messages)),
        tuple(map(_handed_tool, task.tools)),
        Budgets(*_BUDGETS(task.budgets)),
        ProgressLimits(*_PROGRESS(task.progress)),
        task.system_prompt,
        None if contract is None else contract.twin(),
    )


def _handed_message(message: Message) -> Message:
    reply = None if message.reply is None else replace(message.reply)
    requests = tuple(map(replace, message.requests))
    return Message(message.role, message.content, requests, reply, message.name)


def _handed_tool(tool: ToolSpec) -> ToolSpec:
    return ToolSpec(tool.name, tool.version, tool.description, tool.parameters.twin())


def handed_reply(reply: ModelReply) -> ModelReply:
    """Return the model's reply as objects of its own."""
    used = reply.usage
    usage = Usage(used.input_tokens, used.output_tokens, used.cached_tokens)
    return ModelReply(_handed_decision(reply.decision), usage, reply.latency_ms, reply.model)


def _handed_decision(decision: Decision) -> Decision:
    if isinstance(decision, Calls):
        requests = [ToolRequest(r.call_id, r.tool, r.arguments) for r in decision.requests]
        return Calls(tuple(requests), decision.text)
    if isinstance(decision, Final) and isinstance(decision.answer, Json):
        return Final(decision.answer.twin())
    return replace(decision)


def handed_outcome(outcome: ToolOutcome) -> ToolOutcome:
    """Return a call's outcome as objects of its own."""
    return ToolOutcome(
        outcome.call_id,
        outcome.tool,
        outcome.version,
        outcome.status,
        outcome.reason,
        None if outcome.result is None else outcome.result.twin(),
        outcome.operation_id,
        outcome.commit_belief,
        outcome.delivery,
        outcome.retry_after_ms,
        tuple([Mark(mark.milestone, mark.target, mark.justified) for mark in outcome.marks]),
    )


def taken_request(request: ToolRequest) -> ToolRequest:
    """Return an agent's request as plain text in objects of ours.

    Raises:
        TypeError: It is no request, or a part of it is no text.
    """
    if not isinstance(request, ToolRequest):
        raise TypeError("a call takes a ToolRequest")
    call_id, tool, arguments = _texts(request.call_id, request.tool, request.arguments)
    key = request.metadata_key
    return ToolRequest(call_id, tool, arguments, None if key is None else text_of(key))


def taken_message(message: Message, known: Known = EMPTY) -> Message:
    """Return an agent's message as plain text in objects of ours.

    Raises:
        TypeError: It is no message, or a part of it is not what it must be.
    """
    if not isinstance(message, Message):
        raise TypeError("a conversation is made of Messages")
    role, requests, reply, name = message.role, message.requests, message.reply, message.name
    return Message(
        _word(role, ROLES),
        text_of(message.content),
        tuple(map(taken_request, requests)) if requests else (),
        None if reply is None else _taken_reply(reply, known),
        None if name is None else text_of(name),
    )


def _taken_reply(reply: ToolReply, known: Known) -> ToolReply:
    if not isinstance(reply, ToolReply):
        raise TypeError("a tool's message holds a ToolReply")
    status = _word(reply.status, STATUSES)
    result = None if reply.result is None else taken_json(reply.result, known)
    call_id, tool, reason = _texts(reply.call_id, reply.tool, reply.reason)
    return ToolReply(call_id, tool, status, reason, result)


def _word(value: str, words: Mapping[str, W]) -> W:
    word = words.get(value if type(value) is str else text_of(value))
    if word is None:
        raise TypeError(f"one of {', '.join(sorted(words))} is due")
    return word


def taken_json(value: Json, known: Known = EMPTY) -> Json:
    """Return an agent's JSON value: ours, if it is `known` by its bytes, else read anew from them.

    Raises:
        TypeError: It is none.
        Refused: Its bytes were tampered with.
    """
    if not isinstance(value, Json):
        raise TypeError("not a Json")
    data = bytes(value.data)
    return known.get(data) or Json.read(data)


def taken_note(note: Note) -> Note:
    """Return a supervisor's note as plain text and numbers in objects of ours.

    Raises:
        TypeError: It is no note, or a part of it is not what it must be.
    """
    if isinstance(note, ProgressStopped):
        return ProgressStopped(text_of(note.pattern), text_of(note.detail), bool(note.stops))
    if not isinstance(note, BudgetRefused):
        raise TypeError("a note is a BudgetRefused or a ProgressStopped")
    request = None if note.request is None else taken_request(note.request)
    return BudgetRefused(
        text_of(note.budget),
        number_of(note.limit),
        number_of(note.needed),
        request,
        bool(note.overrun),
    )


def number_of(value: int) -> int:
    """Return exactly the whole number, if every reader of evidence can read it.

    Raises:
        ValueError: It is beyond what JSON's readers hold exactly.
    """
    exact = int(value)
    if abs(exact) > SAFE_INTEGER:
        raise ValueError("a number beyond 2^53 - 1")
    return exact


def _texts(*values: str) -> Iterable[str]:
    """Return exactly the texts of strings: see `text_of`."""
    if _TEXT.issuperset(map(type, values)) and "".join(values).isascii():
        return values
    return map(text_of, values)


def text_of(value: str) -> str:
    r"""Return exactly the text of a string, a lone surrogate as its escape (`\ud800`).

    Raises:
        TypeError: It is no string.
    """
    if type(value) is str and value.isascii():
        return value
    if not isinstance(value, str):
        raise TypeError(f"a text is due, not {type(value).__name__[:60]}")
    exact = str.__str__(value)
    return exact if exact.isascii() else exact.encode(errors="backslashreplace").decode()
