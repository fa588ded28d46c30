"""A recording gives back what was recorded, in order, for exactly the request that was asked."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from arh.canonical import Json
from arh.errors import AuthoringError, RunStopped
from arh.model.live.canonical_request import canonical_request
from arh.model.live.cassette import FILE, Recorder, RecordingModel, ReplayModel, Tape
from arh.model.live.local import file_name
from arh.records.decisions import (
    AskUser,
    Calls,
    Decision,
    Final,
    Malformed,
    ModelReply,
    ModelRequest,
    Refusal,
    Served,
    Truncated,
    Unavailable,
    Usage,
)
from arh.records.messages import Message, ToolRequest, ToolSpec
from arh.records.models import ModelSettings

SETTINGS = ModelSettings(
    "openai", "m-1", "http://127.0.0.1:1", Json.of({"temperature": 0}), 100, "b"
)
NAMED = {"tools": "t", "workflow": "w@1"}
DECISIONS: tuple[Decision, ...] = (
    Calls((ToolRequest("c-1", "look", '{"a":  1}'), ToolRequest("c-2", "look", "{")), "text"),
    Final("done"),
    Final(Json.of({"message": "done", "n": [1, None]})),
    AskUser("Which?"),
    Refusal("No."),
    Truncated("length"),
    Malformed("empty reply"),
    Unavailable("rate_limited", 2_000),
    Unavailable("timeout"),
)


class Saying:
    """A model that gives one reply after the other."""

    def __init__(self, *replies: ModelReply) -> None:
        self.replies = list(replies)

    def complete(self, request: ModelRequest) -> ModelReply:
        """Give the next reply."""
        return self.replies.pop(0)


def keep(_kind: str, data: dict[str, object]) -> dict[str, object]:
    """Redact nothing."""
    return data


def asked(text: str = "hello", timeout_ms: int = 1_000) -> ModelRequest:
    """A request."""
    return ModelRequest((Message("user", text),), (), timeout_ms)


def reply(decision: Decision, served: Served | None = None) -> ModelReply:
    """A reply with everything in it."""
    return ModelReply(decision, Usage(10, 3, 2), 17, SETTINGS.identity, served)


def recorded(folder: Path, *runs: tuple[str, list[tuple[ModelRequest, ModelReply]]]) -> Tape:
    """A recording of these runs."""
    recorder = Recorder(folder, SETTINGS, NAMED)
    for run, exchanges in runs:
        inner = Saying(*(each for _, each in exchanges))
        model = RecordingModel(inner, recorder, SETTINGS, run, keep)
        assert [each for _, each in exchanges] == [model.complete(r) for r, _ in exchanges]
    recorder.seal()
    return Tape.load(folder)


@pytest.mark.parametrize("decision", DECISIONS)
def test_every_kind_of_reply_comes_back_whole(tmp_path: Path, decision: Decision) -> None:
    """Decision, usage, latency and what the server said of itself; argument text to the byte."""
    made = reply(decision, Served("m-1-2026", "fp", "id-1", 5, "trouble", metered=True))
    tape = recorded(tmp_path, ("run", [(asked(), made)]))

    assert made == ReplayModel(tape, "run", SETTINGS).complete(asked())
    assert tape.header.settings == SETTINGS


def test_a_request_that_was_asked_twice_has_its_replies_in_order(tmp_path: Path) -> None:
    """A third time is one too many."""
    both = [(asked(), reply(Final("one"))), (asked(), reply(Final("two")))]
    model = ReplayModel(recorded(tmp_path, ("run", both)), "run", SETTINGS)

    assert [Final("one"), Final("two")] == [model.complete(asked()).decision for _ in range(2)]
    with pytest.raises(RunStopped, match="recorded 2 times and asked 3 times"):
        model.complete(asked())


def test_each_run_has_its_own_replies_and_others_those_of_the_first(tmp_path: Path) -> None:
    """The order in which runs are replayed, or which of them, changes nothing."""
    tape = recorded(
        tmp_path,
        ("run-1", [(asked(), reply(Final("one")))]),
        ("run-2", [(asked(), reply(Final("two")))]),
    )

    def said(run: str) -> Decision:
        return ReplayModel(tape, run, SETTINGS).complete(asked()).decision

    assert [Final("two"), Final("one"), Final("one")] == [said("run-2"), said("run-1"), said("new")]


@pytest.mark.parametrize(
    "other",
    [
        asked("Hello"),
        ModelRequest((Message("user", "hello"), Message("user", "")), (), 1_000),
        ModelRequest((Message("system", "hello"),), (), 1_000),
        replace(asked(), tools=(ToolSpec("look", "1", "Look.", Json.of({})),)),
        replace(asked(), output_tokens_max=99),
    ],
)
def test_another_request_is_a_miss(tmp_path: Path, other: ModelRequest) -> None:
    """Whatever a model would see of it counts."""
    tape = recorded(tmp_path, ("run", [(asked(), reply(Final("one")))]))

    with pytest.raises(RunStopped, match="was never recorded") as stop:
        ReplayModel(tape, "run", SETTINGS).complete(other)

    assert stop.value.termination == "fixture_mismatch"


@pytest.mark.parametrize(
    "changed",
    [
        replace(SETTINGS, name="m-2"),
        replace(SETTINGS, adapter="anthropic"),
        replace(SETTINGS, base_url="http://127.0.0.1:2"),
        replace(SETTINGS, parameters=Json.of({"temperature": 1})),
        replace(SETTINGS, bundle="c"),
    ],
)
def test_the_address_is_over_the_whole_configuration(changed: ModelSettings) -> None:
    """Model, parameters and prompt bundle are a part of each request."""
    assert canonical_request(asked(), SETTINGS) != canonical_request(asked(), changed)


def test_how_long_a_caller_would_wait_is_not_in_the_address() -> None:
    """No model sees it."""
    assert canonical_request(asked(), SETTINGS) == canonical_request(asked(timeout_ms=9), SETTINGS)


def test_the_same_recording_is_written_byte_for_byte(tmp_path: Path) -> None:
    """Nothing of the time or the machine is in it."""
    runs = ("run", [(asked(), reply(each)) for each in DECISIONS])
    recorded(tmp_path / "one", runs)
    recorded(tmp_path / "two", runs)

    one, two = ((tmp_path / name / "cassette.jsonl").read_bytes() for name in ("one", "two"))
    assert one == two


def test_a_recording_that_was_not_sealed_is_none(tmp_path: Path) -> None:
    """A process that died in the middle leaves no recording behind."""
    recorder = Recorder(tmp_path, SETTINGS, NAMED)
    RecordingModel(Saying(reply(Final("x"))), recorder, SETTINGS, "run", keep).complete(asked())

    with pytest.raises(AuthoringError, match="the recording has no end"):
        Tape.load(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    """Neither as a recording nor as a model: what is no file is not there."""
    os.mkfifo(tmp_path / FILE)

    with pytest.raises(AuthoringError, match="there is no recording here"):
        Tape.load(tmp_path)
    with pytest.raises(AuthoringError, match="there is no such file"):
        file_name(tmp_path / FILE)


def test_a_reply_that_may_not_be_kept_is_not_replayed(tmp_path: Path) -> None:
    """It would be another reply; one whose redaction failed is left out altogether."""
    given: tuple[tuple[str, dict[str, object]], ...] = (
        ("a", {"text": "[redacted]"}),
        ("b", {"redaction_failed": True}),
    )
    for name, kept in given:
        recorder = Recorder(tmp_path / name, SETTINGS, NAMED)

        def redact(
            kind: str, data: dict[str, object], kept: dict[str, object] = kept
        ) -> dict[str, object]:
            return {**data, **kept} if kind == "model_answered" else data

        model = RecordingModel(Saying(reply(Refusal("secret"))), recorder, SETTINGS, "run", redact)
        model.complete(asked())
        recorder.seal()

        assert b"secret" not in (tmp_path / name / "cassette.jsonl").read_bytes()
        with pytest.raises(RunStopped, match="was redacted"):
            ReplayModel(Tape.load(tmp_path / name), "run", SETTINGS).complete(asked())
