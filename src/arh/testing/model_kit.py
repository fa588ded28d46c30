"""What every model adapter must do, as plain functions over a way to make one.

Each check makes its own models and raises `ModelViolation` when one misbehaves; its docstring says
what is true of an adapter that passes. Run all of `CHECKS` under any test runner, or `violations`
for the list of what is wrong. The model behind an adapter may answer whatever it likes: what is
checked is the form of the reply, its time, and what the adapter does to the request.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from arh.canonical import Json
from arh.errors import ArhError, RunStopped
from arh.foreign import ForeignFailure, call
from arh.ports.sue import Model
from arh.records.decisions import (
    AskUser,
    Calls,
    Decision,
    Malformed,
    ModelReply,
    ModelRequest,
    Refusal,
    Truncated,
    Unavailable,
)
from arh.records.decisions import Final as Answered
from arh.records.messages import Message, ToolReply, ToolRequest, ToolSpec
from arh.sim.clock import wall_ms

TIMEOUT_MS: Final = 10_000
SHORT_MS: Final = 50
# How much later than it may an adapter come back: a busy machine, not a slow adapter.
GRACE_MS: Final = 2_000


@dataclass(frozen=True, slots=True)
class Adapter:
    """An adapter under test: `make` returns a fresh model.

    A `deterministic` one gives the same reply to the same request. `secrets` are texts that the
    adapter knows and nobody else may see.
    """

    make: Callable[[], Model]
    deterministic: bool = False
    secrets: tuple[str, ...] = ()


Check: TypeAlias = Callable[[Adapter], None]


class ModelViolation(AssertionError):  # noqa: N818 - it says what is wrong with an adapter
    """An adapter does not do what every adapter must."""


def violations(adapter: Adapter) -> tuple[str, ...]:
    """Return a line for each check that the adapter fails."""
    found = ((check.__name__, _violation(check, adapter)) for check in CHECKS)
    return tuple(f"{name}: {violation}" for name, violation in found if violation)


LOOK: Final = ToolSpec(
    "look_up",
    "1",
    "Look something up.",
    Json.of(
        {
            "type": "object",
            "properties": {"key": {"type": "string"}},
            "required": ["key"],
            "additionalProperties": False,
        }
    ),
)


def short() -> tuple[Message, ...]:
    """Return a conversation of one turn, its messages made anew."""
    return (Message("system", "Be helpful."), Message("user", "Hello."))


def long() -> tuple[Message, ...]:
    """Return one with parallel calls, replies without text, and hostile characters."""
    asked = (
        ToolRequest("call-1", "look_up", '{"key": "a"}'),
        ToolRequest("call-2", "look_up", '{"key": "b"}'),
    )
    found = ToolReply("call-1", "look_up", "executed", "ok", Json.of({"found": True}))
    return (
        *short(),
        Message("assistant", "", asked),
        Message("tool", "", reply=found),
        Message("tool", "", reply=ToolReply("call-2", "look_up", "rejected", "not_authorised")),
        Message("assistant", "Which one?"),
        Message("user", 'The first, \u00e9\u4e2d\U0001f600 \x00 \u202e \\ " {{ }} <b>'),
    )


def _request(messages: tuple[Message, ...] = (), timeout_ms: int = TIMEOUT_MS) -> ModelRequest:
    return ModelRequest(messages or short(), (LOOK,), timeout_ms)


def answers_with_a_typed_decision(adapter: Adapter) -> None:
    """A reply is a `ModelReply` with a decision of the closed list, its texts exactly text."""
    for messages in (short(), long()):
        _check_decision(_reply(adapter.make(), _request(messages)).decision)


def takes_every_conversation(adapter: Adapter) -> None:
    """Parallel calls, replies without text, several turns and hostile text raise nothing."""
    model = adapter.make()
    for messages in (short(), long(), short(), (*long(), Message("user", "x" * 20_000))):
        _reply(model, _request(messages))


def leaves_the_request_alone(adapter: Adapter) -> None:
    """Messages, tools and limits are after the call what they were before."""
    request = _request(long())

    _reply(adapter.make(), request)

    _equal("the request", _request(long()), request)


def keeps_to_its_time(adapter: Adapter) -> None:
    """Whatever the model does, a reply or `Unavailable` is there when the time is over."""
    began = wall_ms()
    reply = _reply(adapter.make(), _request(timeout_ms=SHORT_MS))
    passed = wall_ms() - began

    if passed > SHORT_MS + GRACE_MS:
        raise ModelViolation(f"it took {passed:.0f} ms where {SHORT_MS} ms were allowed")
    if type(reply.latency_ms) is not int or not 0 <= reply.latency_ms <= SHORT_MS:
        raise ModelViolation(f"a latency of {reply.latency_ms!r} where {SHORT_MS} ms were allowed")


def counts_its_tokens(adapter: Adapter) -> None:
    """Tokens are whole numbers, and cached ones a part of the input."""
    usage = _reply(adapter.make(), _request()).usage
    counts = (usage.input_tokens, usage.output_tokens, usage.cached_tokens)
    if any(type(count) is not int or count < 0 for count in counts):
        raise ModelViolation(f"a usage of {counts}")
    if usage.cached_tokens > usage.input_tokens:
        raise ModelViolation("more cached tokens than input tokens")


def says_who_it_is(adapter: Adapter) -> None:
    """A reply names the model, and the same one each time."""
    names = {_reply(adapter.make(), _request(messages)).model for messages in (short(), long())}
    if len(names) != 1 or "" in names:
        raise ModelViolation(f"models called {sorted(map(repr, names))}")


def keeps_its_secrets(adapter: Adapter) -> None:
    """No secret is in the model's repr, in its reply, or in what it raises."""
    model = adapter.make()
    texts = [repr(model), repr(_reply(model, _request(long())))]
    for secret in adapter.secrets:
        if any(secret in text for text in texts):
            raise ModelViolation("a secret can be seen")


def repeats_itself_where_it_says_so(adapter: Adapter) -> None:
    """A deterministic adapter gives equal replies to equal requests, whatever was asked between."""
    if not adapter.deterministic:
        return
    alone, busy = adapter.make(), adapter.make()
    first = _timeless(_reply(alone, _request()))
    _reply(busy, _request(long()))
    again = _timeless(_reply(busy, _request()))
    _equal("the reply to an equal request", first, again)


def _timeless(reply: ModelReply) -> ModelReply:
    return replace(reply, latency_ms=0, served=None)


def _reply(model: Model, request: ModelRequest) -> ModelReply:
    reply: object = call("model", lambda: model.complete(request))
    if isinstance(reply, ForeignFailure):
        raise ModelViolation(f"it raised {reply.type_name}")
    if not isinstance(reply, ModelReply):
        raise ModelViolation(f"a {type(reply).__name__} where a ModelReply is due")
    return reply


def _check_decision(decision: Decision) -> None:
    match decision:
        case Calls(requests, text):
            _check_calls(requests)
            _check_texts(text)
        case Answered(answer):
            if not isinstance(answer, Json):
                _check_texts(answer)
        case AskUser(message) | Refusal(message) | Truncated(message) | Malformed(message):
            _check_texts(message)
        case Unavailable(reason):
            if reason not in ("timeout", "dependency_error", "rate_limited"):
                raise ModelViolation(f"unavailable for a reason of its own: {reason!r}")
        case _:
            raise ModelViolation(f"a decision of no kind: {type(decision).__name__}")


def _check_calls(requests: tuple[ToolRequest, ...]) -> None:
    if not requests:
        raise ModelViolation("calls that are none")
    for each in requests:
        _check_texts(each.call_id, each.tool, each.arguments)
    ids = [each.call_id for each in requests]
    if len(set(ids)) < len(ids) or not all(ids):
        raise ModelViolation("calls that cannot be told apart by their ids")


def _check_texts(*texts: str) -> None:
    if any(type(text) is not str for text in texts):
        raise ModelViolation("a text that is none")


def _equal(what: str, expected: object, found: object) -> None:
    if expected != found:
        raise ModelViolation(f"{what} differs")


def _violation(check: Check, adapter: Adapter) -> str:
    """Return what is wrong, "" if nothing is; an adapter that stops the run is wrong as well."""

    def run() -> str:
        try:
            check(adapter)
        except (ModelViolation, ArhError, RunStopped) as violation:
            return str(violation)
        return ""

    ended = call("model", run)
    return f"raised {ended.type_name}" if isinstance(ended, ForeignFailure) else ended


CHECKS: Final[tuple[Check, ...]] = (
    answers_with_a_typed_decision,
    takes_every_conversation,
    leaves_the_request_alone,
    keeps_to_its_time,
    counts_its_tokens,
    says_who_it_is,
    keeps_its_secrets,
    repeats_itself_where_it_says_so,
)
