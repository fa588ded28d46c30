"""The scorecard names its subject first, and holds what a reviewer needs to doubt it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import jsonschema_rs
import pytest

from arh.decision.baseline import load_baseline, save_baseline
from arh.decision.scorecard import SuiteRun, build, document, schema, started, subject_line
from arh.harness.reports import scorecard_bytes
from arh.records.control.plan import Exclusion
from arh.records.control.scorecard import Account, ControlLine, Scorecard, StatusCounts
from arh.records.control.verdict import Excused
from arh.render.markdown import scorecard_page
from tests.unit.decision.made import (
    ABOUT,
    PASS_RATE,
    RULES,
    broken,
    counted,
    faulted,
    found,
    guarded,
    loaded,
    located,
    suite,
)
from tests.unit.harness.authored import PACK


def account(scorecard: Scorecard, name: str) -> Account:
    """One account of a scorecard."""
    return next(each for each in scorecard.accounts if each.name == name)


def test_with_a_scripted_model_it_says_what_it_does_not_show() -> None:
    """The first line: the controls around the model, not the model."""
    assert subject_line(ABOUT) == (
        "agent reference on workflow shop@2.1 with scripted model"
        " (shows the controls around the model, not the model), mode A1"
    )
    live = replace(ABOUT, scripted=False, model="m-1", mode="B")
    assert subject_line(live).endswith("model m-1 (in place of the scenarios' scripts), mode B")


def test_limits_of_a_pass_are_part_of_it() -> None:
    """A scripted run adds what it cannot say of a model, a live one that once is no sample."""
    scripted = suite().scorecard(PASS_RATE).not_shown
    made = suite()
    made.about = replace(made.about, scripted=False)
    live = made.scorecard(PASS_RATE).not_shown

    assert [any("followed a script" in line for line in lines) for lines in (scripted, live)] == [
        True,
        False,
    ]
    assert [any("run once" in line for line in lines) for lines in (scripted, live)] == [
        False,
        True,
    ]


def test_accounts_set_what_was_done_against_what_was_declared() -> None:
    """Runs, evidence, faults, assertions, controls, rules."""
    made = suite()
    made.change("buy-a-lamp-001", None)
    made.change("faulted-001", lambda v: counted(v, "faults_delivered", 0, 1))
    made.change("guarded-001", lambda v: counted(v, "assertions_judged", 1, 2))

    scorecard = made.scorecard(PASS_RATE)

    assert account(scorecard, "runs with a verdict") == Account(
        "runs with a verdict", 3, 4, ("buy-a-lamp-001",)
    )
    assert account(scorecard, "evidence read") == Account("evidence read", 3, 4)
    assert account(scorecard, "faults delivered") == Account("faults delivered", 0, 1)
    assert account(scorecard, "assertions judged") == Account("assertions judged", 5, 6)
    assert account(scorecard, "controls exercised") == Account("controls exercised", 1, 1)
    assert account(scorecard, "rules that fired").done == 1
    assert "guardrails.bypass" in account(scorecard, "rules that fired").missing


def test_verdicts_are_counted_by_role_and_by_level() -> None:
    """A failed answer stands at its level, and no average hides it."""
    made = suite()
    made.change(
        "buy-a-lamp-001",
        lambda v: found(v, "grounding", "grounding.unfounded_claim", level="response"),
    )
    made.change("faulted-001", broken).change("guarded-001", None)

    scorecard = made.scorecard(PASS_RATE)

    assert scorecard.roles[0] == StatusCounts("acceptance", failed=1, error=1, missing=1)
    assert scorecard.levels[0] == StatusCounts("response", failed=1, error=1, missing=1)
    assert scorecard.levels[2] == StatusCounts("action", passed=1, error=1, missing=1)


def test_coverage_tells_what_is_on_offer_from_what_happened() -> None:
    """A tool that nobody calls and a boundary that nobody tries stand there with a zero."""
    lines = {(c.dimension, c.item): c for c in suite().scorecard(PASS_RATE).coverage}

    assert (lines["tool", "read_item"].scenarios, lines["tool", "read_item"].exercised) == (3, 3)
    assert lines["tool", "place_order"].exercised == 0
    assert lines["category", "soak"].scenarios == 0
    assert lines["risk", "critical"].exercised == 1
    assert lines["fault", "tool after_commit timeout"].exercised == 1
    assert lines["boundary", "amount"].exercised == 1
    assert lines["boundary", "identity"].scenarios == 0


def test_a_fault_that_did_not_strike_covers_nothing() -> None:
    """It is declared, and that is all."""
    made = suite()
    made.change("faulted-001", lambda v: counted(v, "fault_use", 0, 1))
    kind = "tool after_commit timeout"
    made.verdicts = {
        run: replace(
            v, facts=tuple(replace(f, slice=kind) if f.name == "fault_use" else f for f in v.facts)
        )
        for run, v in made.verdicts.items()
    }

    line = next(c for c in made.scorecard(PASS_RATE).coverage if c.item == kind)

    assert (line.scenarios, line.exercised) == (1, 0)


def test_an_illustrative_profile_is_named_as_one() -> None:
    """Nobody should take its numbers for calibrated ones."""
    made = suite()
    profile = loaded(PASS_RATE, illustrative="true")
    run = SuiteRun(made.plan, tuple(made.verdicts.values()), PACK, RULES)

    scorecard = build(made.about, profile, made.decide(PASS_RATE), made.metrics(), run)

    assert scorecard.warnings[0] == (
        "the profile is illustrative: its numbers are examples and not calibrated"
    )
    assert "illustrative" not in " ".join(made.scorecard(PASS_RATE).warnings)


def test_what_is_declared_and_never_happened_is_a_warning() -> None:
    """Three scenarios offer a tool that none of them calls."""
    warnings = suite().scorecard(PASS_RATE).warnings

    assert "tool place_order: in 3 scenarios, never exercised" in warnings


def test_what_was_excused_is_a_warning_and_stands_with_its_run() -> None:
    """Nobody should have to look for what a pass passes over."""
    excused = (Excused("guardrails.fail_closed", 2, "an outage"),)
    made = suite(located("held-001"), located("also-held-001"), located("plain-001"))
    for name in ("held-001", "also-held-001"):
        made.change(name, lambda v: replace(v, excused=excused))

    scorecard = made.scorecard(PASS_RATE)

    text = "excused by design: guardrails.fail_closed, 4 findings in held-001, also-held-001"
    assert text in scorecard.warnings
    assert {run.scenario_id: run.excused for run in scorecard.runs} == {
        "held-001": excused,
        "also-held-001": excused,
        "plain-001": (),
    }


def test_controls_are_listed_with_their_behaviour() -> None:
    """Also those that behave."""
    assert suite().scorecard(PASS_RATE).controls == (
        ControlLine("liar-001", "negative_control", True, "failed by grounding.unfounded_claim"),  # noqa: FBT003
    )


def test_every_run_has_its_page_and_every_exclusion_its_reason() -> None:
    """Nothing that was loaded is missing from a scorecard."""
    made = suite(located(), located("two-001"))
    made.exclusions = (Exclusion("three-001", "a.jsonl:3", "not run: retired"),)

    scorecard = made.scorecard(PASS_RATE)

    assert [run.page for run in scorecard.runs] == [
        "scenarios/buy-a-lamp-001.md",
        "scenarios/two-001.md",
    ]
    assert scorecard.exclusions[0].location == "a.jsonl:3"


def test_the_baseline_stands_there_with_its_differences(tmp_path: Path) -> None:
    """A reader sees why there was no comparison."""
    save_baseline(tmp_path / "b.json", suite().scorecard(PASS_RATE))
    made = suite()
    made.baseline = load_baseline(tmp_path / "b.json")
    made.about = replace(made.about, mode="B")

    line = made.scorecard(PASS_RATE).baseline

    assert line is not None
    assert (line.as_of, line.differences) == ("2026-03-01", ("mode differs (A1, now B)",))


def test_a_started_scorecard_is_no_pass() -> None:
    """Whatever happens afterwards, this is what a crash leaves behind."""
    value = document(started(ABOUT))

    assert (value["decision"], value["reasons"], value["gates"]) == (
        "inconclusive",
        ["started"],
        [],
    )


# --- JSON ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "scorecard",
    [
        started(ABOUT),
        suite().scorecard(PASS_RATE),
        suite().change("guarded-001", None).scorecard(PASS_RATE),
        suite(guarded(), faulted()).change("guarded-001", broken).scorecard(PASS_RATE),
    ],
    ids=["started", "passed", "lost", "broken"],
)
def test_its_json_keeps_to_its_schema(scorecard: Scorecard) -> None:
    """The schema is exported, and refuses what is no scorecard."""
    validator = jsonschema_rs.validator_for(schema(), offline=True)
    value = json.loads(scorecard_bytes(scorecard))

    validator.validate(value)
    assert not validator.is_valid({**value, "more": 1})
    assert not validator.is_valid({**value, "decision": "fine"})
    assert not validator.is_valid({k: v for k, v in value.items() if k != "reasons"})


def test_the_decision_stands_at_the_top() -> None:
    """A reader in a shell asks for `.decision`."""
    keys = list(document(suite().scorecard(PASS_RATE)))

    assert keys[:5] == ["schema_version", "subject", "decision", "reasons", "gates"]


def test_the_same_run_gives_the_same_bytes() -> None:
    """Nothing of the machine or the moment is in it."""
    one, two = suite().scorecard(PASS_RATE), suite().scorecard(PASS_RATE)

    assert scorecard_bytes(one) == scorecard_bytes(two)


def test_fractions_are_exact_in_json() -> None:
    """Two of three stays two thirds, beside its decimal."""
    made = suite().change("buy-a-lamp-001", lambda v: found(v, "outcome", "evidence.gap"))

    line = made.scorecard(PASS_RATE).metrics[0]

    assert (line.exact, line.value, line.numerator, line.denominator) == (
        "2/3",
        "0.666667",
        "2",
        "3",
    )


@pytest.mark.parametrize(
    ("before", "changed"),
    [
        ({}, ()),
        ({"prompt_digest": "0" * 64}, ("prompt bundle",)),
        ({"model": "m-0", "model_digest": "0" * 64}, ("model", "model settings")),
        ({"tools_digest": "0" * 64, "policy_digest": "0" * 64}, ("tools", "policy rules")),
    ],
)
def test_a_baseline_names_what_changed_since(
    tmp_path: Path, before: dict[str, str], changed: tuple[str, ...]
) -> None:
    """A change of the prompt bundle is a change of what is being compared, and stands there."""
    made = suite()
    made.about = replace(made.about, **before)  # type: ignore[arg-type]  # by name
    save_baseline(tmp_path / "b.json", made.scorecard(PASS_RATE))
    made.about = replace(ABOUT, idle_passes=made.about.idle_passes)
    made.baseline = load_baseline(tmp_path / "b.json")
    scorecard = made.scorecard(PASS_RATE)

    assert scorecard.baseline is not None
    assert scorecard.baseline.changed == changed
    assert f"changed since: {', '.join(changed) or 'nothing'}" in scorecard_page(scorecard)
