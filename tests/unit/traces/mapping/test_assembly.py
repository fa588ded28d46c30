"""What all formats share: pairing by id within turns, statuses, identities, tokens, notes."""

from __future__ import annotations

from arh.traces.mapping.assembly import Assembly, Result
from arh.traces.mapping.usage import Usage
from arh.traces.trace import Trace


def assembly() -> Assembly:
    """Return an empty trace in the making."""
    return Assembly("test", "folder/talk.v1.json", agent_name="agent", workflow="work")


def outputs(trace: Trace) -> list[tuple[str | None, object, str]]:
    """Return what each call got."""
    return [(step.tool_name, step.output, step.status) for step in trace.steps]


def kinds(trace: Trace) -> list[str]:
    """Return the kinds of the notes."""
    return [note.kind for note in trace.notes]


def call(made: Assembly, name: str, call_id: str | None) -> None:
    """Add a call without arguments."""
    made.call(name, {}, "at", step_id="s", call_id=call_id)


def test_a_result_answers_the_newest_turn_in_which_its_id_is_open() -> None:
    """An older call of the same id that nobody answered stays unanswered."""
    made = assembly()
    for name in ("old", "new"):
        made.turn()
        call(made, name, "call_0")
    made.answer("call_0", Result("done"), "at")

    assert outputs(made.finish()) == [("old", None, "unknown"), ("new", "done", "ok")]


def test_results_of_one_turn_are_consumed_in_order() -> None:
    """Two calls of one turn with one id get the two results in the order of the calls."""
    made = assembly()
    made.turn()
    call(made, "first", "same")
    call(made, "second", "same")
    made.answer("same", Result(1), "at")
    made.answer("same", Result(2), "at")
    trace = made.finish()

    assert outputs(trace) == [("first", 1, "ok"), ("second", 2, "ok")]
    assert kinds(trace) == ["duplicate_tool_call_id"]


def test_a_second_result_never_replaces_the_first() -> None:
    """What comes after the answer is kept as a note with its text."""
    made = assembly()
    made.turn()
    call(made, "pay", "c1")
    made.answer("c1", Result("paid"), "at")
    made.answer("c1", Result("not paid"), "later")
    trace = made.finish()
    (note,) = trace.notes

    assert outputs(trace) == [("pay", "paid", "ok")]
    assert (note.kind, note.pointer) == ("unmatched_tool_result", "later")
    assert "not paid" in note.content


def test_calls_without_ids_are_answered_by_name_and_then_in_order() -> None:
    """A name finds its own calls; without any name the oldest call of the turn is meant."""
    made = assembly()
    made.turn()
    call(made, "a", None)
    call(made, "b", None)
    made.answer(None, Result("for b"), "at", name="b")
    made.answer(None, Result("for a"), "at")

    assert outputs(made.finish()) == [("a", "for a", "ok"), ("b", "for b", "ok")]


def test_a_result_of_an_unknown_name_answers_nothing() -> None:
    """A result is never given to a call of another tool because it happens to be open."""
    made = assembly()
    made.turn()
    call(made, "a", None)
    made.answer(None, Result("for b"), "at", name="b")
    trace = made.finish()

    assert outputs(trace) == [("a", None, "unknown")]
    assert kinds(trace) == ["unmatched_tool_result", "missing_tool_result"]


def test_a_call_without_a_result_is_unknown_and_noted_at_its_step() -> None:
    """No result is not success."""
    made = assembly()
    made.turn()
    call(made, "a", "c1")
    trace = made.finish()
    (note,) = trace.notes

    assert (note.kind, note.step_id, trace.steps[0].status) == (
        "missing_tool_result",
        "a#1",
        "unknown",
    )


def test_identities_count_per_tool_and_not_over_all_steps() -> None:
    """A text between two calls changes no identity; a tool named `response` takes none."""
    made = assembly()
    made.turn()
    call(made, "a", "x")
    made.say("Hm.", "at", "m")
    call(made, "a", "y")
    call(made, "response", "z")
    call(made, "a#1", "w")

    anchors = [step.anchor for step in made.finish().steps]

    assert anchors == ["a#1", "response#1", "a#2", "response#2", "a#1#1"]


def test_tokens_of_a_reply_are_counted_once_at_its_first_step() -> None:
    """The other steps of the reply have none, and the sums have each reply once."""
    made = assembly()
    for _ in range(2):
        made.turn()
        made.say("One.", "at", "m")
        call(made, "a", None)
        made.used(Usage(input_tokens=10, output_tokens=2, cache_read_tokens=4), "at")
    trace = made.finish()
    recorded = trace.metadata["recording"]

    assert [step.input_tokens for step in trace.steps] == [10, None, 10, None]
    assert isinstance(recorded, dict)
    assert recorded["usage"] == {"input_tokens": 20, "output_tokens": 4, "cache_read_tokens": 8}


def test_tokens_of_a_reply_without_steps_are_not_given_to_another() -> None:
    """They are in the sums, and a note says that no step has them."""
    made = assembly()
    made.turn()
    made.say("One.", "at", "m")
    made.turn()
    made.used(Usage(input_tokens=10), "at")
    trace = made.finish()

    assert [step.input_tokens for step in trace.steps] == [None]
    assert kinds(trace) == ["usage_without_step"]


def test_a_failure_has_a_text_even_where_none_was_recorded() -> None:
    """Time from call to result is the latency, and a clock that runs back gives none."""
    made = assembly()
    made.turn()
    first = made.call("a", {}, "at", step_id="s", call_id="1")
    second = made.call("b", {}, "at", step_id="s", call_id="2")
    first.started_ms = second.started_ms = 1000.0
    made.answer("1", Result(None, failed=True, at_ms=1250.0), "at")
    made.answer("2", Result("ok", at_ms=900.0), "at")
    one, other = made.finish().steps

    assert (one.status, one.error, one.latency_ms) == ("error", "tool error", 250.0)
    assert (other.status, other.error, other.latency_ms) == ("ok", None, None)


def test_what_the_wrapper_calls_recording_is_kept_beside_ours() -> None:
    """A recorder's own metadata loses no key."""
    made = assembly()
    made.metadata = {"recording": "tape 7", "run": 3}
    metadata = made.finish().metadata

    assert metadata["run"] == 3
    assert isinstance(metadata["recording"], dict)
    assert metadata["recording"]["metadata"] == "tape 7"


def test_a_trace_is_named_after_its_file() -> None:
    """Folder and last extension are left out, on every system."""
    names = ["a/b/talk.v1.json", "C:\\runs\\talk.json", ".json", ""]
    made = [Assembly("t", name, agent_name="a", workflow="w").trace_id for name in names]

    assert made == ["talk.v1", "talk", ".json", "trace"]
