"""The recorder: what happened becomes bytes at once, chained to its run."""

from __future__ import annotations

from arh.canonical import JsonValue, parse
from arh.harness.evidence.recorder import Data, RunRecorder, chained, genesis, keep_all, unchained
from arh.sim.clock import VirtualClock


def recorder(run_id: str = "run-1") -> RunRecorder:
    """Return a recorder at time 0."""
    return RunRecorder(run_id, "plan", VirtualClock(), redact=keep_all, acting=lambda: "anna")


def test_an_event_is_written_with_its_envelope() -> None:
    """A line holds sequence, kind, source, time and actor before the event's own fields."""
    book = recorder()

    book.record("user_said", "runner", {"text": "hello"})

    written = parse(book.lines[0])
    assert isinstance(written, dict)
    assert {k: v for k, v in written.items() if k != "chain"} == {
        "seq": 1,
        "kind": "user_said",
        "source": "runner",
        "at_ms": 0,
        "actor": "anna",
        "text": "hello",
    }


def test_what_was_recorded_cannot_be_changed_afterwards() -> None:
    """Changing the recorded value later changes no byte of the line."""
    book = recorder()
    arguments: dict[str, JsonValue] = {"account_id": "A-1007"}
    book.record("tool_call", "gateway", {"arguments": arguments})
    before = list(book.lines)

    arguments["account_id"] = "A-6666"

    assert book.lines == before


def test_the_chain_hashes_the_written_bytes() -> None:
    """Each line's chain value follows from the one before and the bytes of its body."""
    book = recorder()
    for text in ("one", "two"):
        book.record("user_said", "runner", {"text": text})

    value = genesis("run-1", "plan")
    for written in book.lines:
        body, claimed = unchained(written)
        value = chained(value, body)
        assert claimed == value
    assert book.root == value


def test_lines_of_another_run_do_not_fit() -> None:
    """The same first event has another chain value in another run."""
    one, other = recorder("run-1"), recorder("run-2")
    for book in (one, other):
        book.record("user_said", "runner", {"text": "hello"})

    assert one.lines[0] != other.lines[0]


def test_a_line_without_a_chain_field_has_no_body() -> None:
    """A line that was cut or never chained splits into nothing, so that it follows from nothing."""
    assert unchained(b'{"seq":1}') == (b"", "")


def test_redaction_comes_before_the_bytes() -> None:
    """What the redactor takes out is in no line, and the recorded value is left alone."""
    data: dict[str, object] = {"text": "secret"}
    book = RunRecorder(
        "run-1", "plan", VirtualClock(), redact=lambda _kind, _data: Data(text="[redacted]")
    )

    book.record("user_said", "runner", data)

    assert b"secret" not in book.lines[0]
    assert data == {"text": "secret"}
