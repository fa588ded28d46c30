"""What is derived from evidence is derived once, and gone with it."""

from __future__ import annotations

from dataclasses import replace

from arh.harness.evidence.evidence import build_evidence
from arh.harness.judging.derived import once
from arh.records.control.evidence import Evidence


def fresh() -> Evidence:
    """Return evidence of a run without a line."""
    return build_evidence("run", (), None)


@once
def derived(evidence: Evidence, _about: object) -> list[str]:
    """Return a new list each time that it runs."""
    return [evidence.run_id]


def test_the_same_evidence_is_derived_from_once() -> None:
    """The second one to ask gets what the first one got."""
    evidence, about = fresh(), object()

    assert derived(evidence, about) is derived(evidence, about)


def test_what_else_is_given_is_told_apart_by_identity() -> None:
    """Another pack, even an equal one, has something of its own."""
    evidence = fresh()

    assert derived(evidence, [1]) is not derived(evidence, [1])


def test_a_copy_derives_for_itself() -> None:
    """An evaluator that is handed a copy cannot alter what others were given."""
    evidence, about = fresh(), object()
    first = derived(evidence, about)

    copied = replace(evidence)

    assert derived(copied, about) is not first
    assert evidence == copied


def test_what_was_derived_is_no_part_of_the_evidence() -> None:
    """Neither its text nor its equality changes."""
    evidence = fresh()
    before = repr(evidence)

    derived(evidence, object())

    assert before == repr(evidence)
    assert fresh() == evidence
