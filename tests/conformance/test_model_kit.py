"""Adapters that come with arh pass the kit; each defect that it is for is caught by its check."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from arh.canonical import Json
from arh.errors import RunStopped
from arh.model.live.canonical_request import canonical_request
from arh.model.live.cassette import Recorder, RecordingModel, ReplayModel, Tape
from arh.ports.sue import Model
from arh.records.decisions import (
    Calls,
    Final,
    ModelReply,
    ModelRequest,
    Unavailable,
    Usage,
)
from arh.records.messages import ToolRequest
from arh.records.models import ModelSettings
from arh.testing.model_kit import CHECKS, GRACE_MS, SHORT_MS, Adapter, violations
from tests.conformance.provider_server import (
    ADAPTERS,
    KEY,
    STREAM,
    WHOLE,
    Said,
    hangs,
    model_over,
    says,
    serving,
)

SECRET = "sk-secret-0001"
CALLING = Said("Let me see.", (("c-1", "look_up", '{"key":"a"}'), ("c-2", "look_up", "{}")))


@pytest.mark.parametrize("adapter", sorted(ADAPTERS))
@pytest.mark.parametrize("said", [Said("Hello."), CALLING])
def test_every_live_adapter_passes(adapter: str, said: Said) -> None:
    """Streamed or whole, prose or calls."""
    with serving(STREAM[adapter](said), says(WHOLE[adapter](said))) as server:
        made = Adapter(lambda: model_over(server, adapter), deterministic=True, secrets=(KEY,))

        assert violations(made) == ()


@pytest.mark.parametrize("adapter", sorted(ADAPTERS))
def test_a_live_adapter_passes_while_its_provider_fails(adapter: str) -> None:
    """A server that says nothing, or the key, changes nothing of the form."""
    for behaviour in (says(KEY.encode(), status=500), says(WHOLE[adapter](Said(KEY)))):
        with serving(behaviour) as server:
            made = Adapter(lambda s=server: model_over(s, adapter), secrets=(KEY,))  # type: ignore[misc]

            assert violations(made) == ()


class Good:
    """An adapter that does everything right, for others to spoil."""

    def complete(self, request: ModelRequest) -> ModelReply:
        """Return a plain answer."""
        return ModelReply(Final("Hello."), Usage(10, 5, 2), 1, "good-1")


def test_a_good_adapter_passes() -> None:
    """The twin of each broken one below."""
    assert violations(Adapter(Good, deterministic=True, secrets=(SECRET,))) == ()


def changed(**fields: object) -> Callable[[], Model]:
    """Adapters whose replies have other fields."""

    class Other(Good):
        def complete(self, request: ModelRequest) -> ModelReply:
            return replace(super().complete(request), **fields)  # type: ignore[arg-type]  # wrong on purpose

    return Other


class Raising(Good):
    """Raises."""

    def complete(self, request: ModelRequest) -> ModelReply:
        """Raise."""
        raise ValueError(SECRET)


class Dictionary(Good):
    """Answers with what the provider sent."""

    def complete(self, request: ModelRequest) -> ModelReply:
        """Return no reply."""
        return {"content": "Hello."}  # type: ignore[return-value]  # wrong on purpose


class Choosy(Good):
    """Cannot do with replies that have no text."""

    def complete(self, request: ModelRequest) -> ModelReply:
        """Fail for a long conversation."""
        if len(request.messages) > 2:
            raise RunStopped("fixture_mismatch")
        return super().complete(request)


class Meddling(Good):
    """Writes into a message that others read."""

    def complete(self, request: ModelRequest) -> ModelReply:
        """Change the request."""
        object.__setattr__(request.messages[0], "content", "Be rude.")
        return super().complete(request)


class Slow(Good):
    """Does not look at the time."""

    def complete(self, request: ModelRequest) -> ModelReply:
        """Come back late."""
        if request.timeout_ms == SHORT_MS:
            time.sleep((SHORT_MS + GRACE_MS + 100) / 1000)
        return super().complete(request)


class Changing(Good):
    """Is called otherwise each time."""

    def complete(self, request: ModelRequest) -> ModelReply:
        """Name itself by the request."""
        return replace(super().complete(request), model=f"m-{len(request.messages)}")


class Telling(Good):
    """Shows its key in its repr."""

    def __repr__(self) -> str:
        """Show it."""
        return f"Telling(key={SECRET})"


class Remembering(Good):
    """Answers by what was asked before."""

    def __init__(self) -> None:
        self.calls = 0

    def complete(self, request: ModelRequest) -> ModelReply:
        """Count."""
        self.calls += 1
        return replace(super().complete(request), decision=Final(f"{self.calls}"))


TWINS = Calls((ToolRequest("c", "look_up", "{}"), ToolRequest("c", "look_up", "{}")))


@pytest.mark.parametrize(
    ("make", "check"),
    [
        (Raising, "answers_with_a_typed_decision"),
        (Dictionary, "answers_with_a_typed_decision"),
        (changed(decision=TWINS), "answers_with_a_typed_decision"),
        (changed(decision=Calls(())), "answers_with_a_typed_decision"),
        (changed(decision="Hello."), "answers_with_a_typed_decision"),
        (changed(decision=Unavailable("tired")), "answers_with_a_typed_decision"),
        (changed(decision=Final(7)), "answers_with_a_typed_decision"),  # type: ignore[arg-type]
        (Choosy, "takes_every_conversation"),
        (Meddling, "leaves_the_request_alone"),
        (Slow, "keeps_to_its_time"),
        (changed(latency_ms=99_999), "keeps_to_its_time"),
        (changed(latency_ms=1.5), "keeps_to_its_time"),
        (changed(usage=Usage(1, 1, 2)), "counts_its_tokens"),
        (changed(usage=Usage(-1, 1)), "counts_its_tokens"),
        (changed(model=""), "says_who_it_is"),
        (Changing, "says_who_it_is"),
        (Telling, "keeps_its_secrets"),
        (changed(decision=Final(SECRET)), "keeps_its_secrets"),
        (Remembering, "repeats_itself_where_it_says_so"),
    ],
)
def test_a_broken_adapter_is_caught(make: Callable[[], Model], check: str) -> None:
    """By the check that is for it."""
    found = violations(Adapter(make, deterministic=True, secrets=(SECRET,)))

    assert check in [line.partition(":")[0] for line in found]
    assert SECRET not in str(found)


def test_every_check_catches_something() -> None:
    """No check is there for nothing."""
    marks = test_a_broken_adapter_is_caught.pytestmark  # type: ignore[attr-defined]
    (table,) = [mark.args[1] for mark in marks if mark.name == "parametrize"]

    assert {check for _, check in table} == {check.__name__ for check in CHECKS}


def test_an_adapter_that_hangs_is_caught_by_a_live_one_that_does_not() -> None:
    """A provider that never answers is not the adapter's excuse."""
    with serving(hangs) as server:
        reply = model_over(server, "openai").complete(ModelRequest((), (), timeout_ms=SHORT_MS))

    assert (Unavailable("timeout"), SHORT_MS) == (reply.decision, reply.latency_ms)


def test_a_replay_passes_for_what_was_recorded(tmp_path: Path) -> None:
    """The kit's own conversations, recorded from the good adapter."""
    settings = ModelSettings("good", "good-1", parameters=Json.of({}))
    seen: dict[str, ModelRequest] = {}

    class Listening(Good):
        def complete(self, request: ModelRequest) -> ModelReply:
            seen.setdefault(canonical_request(request, settings).digest, request)
            return super().complete(request)

    assert violations(Adapter(Listening)) == ()
    recorder = Recorder(tmp_path, settings, {"tools": "", "workflow": ""})
    model = RecordingModel(Good(), recorder, settings, "run", lambda _kind, data: data)
    for request in seen.values():
        for _ in range(3):
            model.complete(request)
    recorder.seal()
    tape = Tape.load(tmp_path)

    assert violations(Adapter(lambda: ReplayModel(tape, "run", settings), deterministic=True)) == ()
