"""A baseline says what an earlier release measured, and refuses what cannot be compared with it."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from arh.canonical import digest
from arh.decision.baseline import Baseline, changed, load_baseline, save_baseline
from arh.errors import AuthoringError
from arh.records.control.scorecard import About
from tests.unit.decision.made import ABOUT, PASS_RATE, Suite, broken, counted, found, located, suite

DROP = "metric: scenario_pass_rate, type: regression, regression_kind: drop_points"
DROP_PERCENT = "metric: scenario_pass_rate, type: regression, regression_kind: drop_percent"
RISE = "metric: loop_rate, type: regression, regression_kind: rise_points"
RISE_PERCENT = (
    "metric: tool_calls_per_workflow_mean, type: regression, regression_kind: rise_percent"
)


def ten(failed: int = 0, **about: Any) -> Suite:  # noqa: ANN401
    """Ten scenarios of which the first ones failed; keywords change what ran."""
    made = suite(*[located(f"buy-{n:03d}") for n in range(10)])
    for n in range(failed):
        made.change(f"buy-{n:03d}", lambda v: found(v, "outcome", "evidence.gap", level="workflow"))
    made.about = replace(made.about, **about)
    return made


def baseline(tmp_path: Path, made: Suite | None = None) -> Baseline:
    """The baseline of a passing run."""
    path = tmp_path / "baseline.json"
    assert save_baseline(path, (made or ten()).scorecard(PASS_RATE)) is None
    return load_baseline(path)


def compared(tmp_path: Path, made: Suite, gate: str) -> tuple[str, str]:
    """Status and reason of a comparison with the baseline of ten passing scenarios."""
    made.baseline = baseline(tmp_path)
    result = made.gate(gate)
    return result.status, result.reason


def test_what_is_saved_is_what_is_loaded(tmp_path: Path) -> None:
    """Exact fractions, and the identity of what was measured."""
    made = ten()

    read = baseline(tmp_path, made)

    assert read.as_of == date(2026, 3, 1)
    assert read.identity.scenarios_digest == ABOUT.scenarios_digest
    for metric in made.metrics():
        assert read.metrics[metric.name, metric.slice].value == metric.value


def test_saving_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    """A baseline can be kept under version control."""
    one, two = tmp_path / "one.json", tmp_path / "two.json"
    save_baseline(one, ten().scorecard(PASS_RATE))
    save_baseline(two, ten().scorecard(PASS_RATE))

    assert one.read_bytes() == two.read_bytes()


@pytest.mark.parametrize("made", [ten(failed=1), ten(partial=True)], ids=["failed", "partial"])
def test_only_a_whole_run_that_passed_becomes_a_baseline(tmp_path: Path, made: Suite) -> None:
    """Nothing is written, and the reason is a value: the run's own exit code stays its own."""
    path = tmp_path / "baseline.json"

    problem = save_baseline(path, made.scorecard(PASS_RATE))

    assert problem is not None
    kind = "a partial run" if made.about.partial else "fail"
    assert f"expected a passing run of the whole suite, found `{kind}`" in str(problem)
    assert not path.exists()


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    """The decision is not lost over it."""
    problem = save_baseline(tmp_path / "none" / "b.json", ten().scorecard(PASS_RATE))

    assert "cannot be written" in str(problem)


# --- what the difference is compared with --------------------------------------------------------


@pytest.mark.parametrize(
    ("failed", "max_delta", "status"),
    [(0, "0", "pass"), (1, "0.1", "pass"), (1, "0.0999", "fail"), (2, "0.1", "fail")],
)
def test_a_drop_in_points_at_its_limit(
    tmp_path: Path, failed: int, max_delta: str, status: str
) -> None:
    """A drop of a tenth is at most 0.1, exactly."""
    found_, _ = compared(tmp_path, ten(failed), f"{DROP}, max_delta: {max_delta}, floor: 0.1")

    assert found_ == status


@pytest.mark.parametrize(
    ("failed", "max_delta", "status"), [(1, "10", "pass"), (1, "9.99", "fail"), (2, "10", "fail")]
)
def test_a_drop_in_percent_at_its_limit(
    tmp_path: Path, failed: int, max_delta: str, status: str
) -> None:
    """From ten of ten to nine of ten is a drop of ten percent."""
    gate = f"{DROP_PERCENT}, max_delta: {max_delta}, floor: 0.1"

    assert compared(tmp_path, ten(failed), gate)[0] == status


@pytest.mark.parametrize(
    ("loops", "max_delta", "status"), [(0, "0", "pass"), (1, "0.1", "pass"), (2, "0.1", "fail")]
)
def test_a_rise_in_points_at_its_limit(
    tmp_path: Path, loops: int, max_delta: str, status: str
) -> None:
    """A harm that rises by a tenth rises by at most 0.1; a sign turned round would pass two."""
    made = ten()
    for n in range(loops):
        made.change(f"buy-{n:03d}", lambda v: replace(v, termination="stall"))

    assert compared(tmp_path, made, f"{RISE}, max_delta: {max_delta}, floor: 0.9")[0] == status


def test_an_improvement_is_no_regression(tmp_path: Path) -> None:
    """Half as many calls is no rise, whatever the limit."""
    made = ten()
    for n in range(10):
        made.change(f"buy-{n:03d}", lambda v: counted(v, "tool_calls", 1, 1))

    status, reason = compared(tmp_path, made, f"{RISE_PERCENT}, max_delta: 0, floor: 9")

    assert (status, reason) == (
        "pass",
        "2 before, 1 now, at most 0 allowed (percent)",
    )


def test_a_rise_from_nothing_has_no_percentage_and_is_a_rise(tmp_path: Path) -> None:
    """No loops before and one now fails, however many percent are allowed."""
    made = ten()
    made.change("buy-000", lambda v: replace(v, termination="stall"))
    gate = "metric: loop_rate, type: regression, regression_kind: rise_percent, max_delta: 900"

    assert compared(tmp_path, made, f"{gate}, floor: 0.9")[0] == "fail"
    assert compared(tmp_path, ten(), f"{gate}, floor: 0.9")[0] == "pass"


def test_the_floor_holds_whatever_the_baseline_says(tmp_path: Path) -> None:
    """Small losses add up; below the floor there is nothing to compare."""
    gate = f"{DROP}, max_delta: 0.9, floor: 0.95"

    assert compared(tmp_path, ten(1), gate) == ("fail", "9 of 10 (0.9) passes the floor of 0.95")
    assert ten(1).gate(gate).status == "fail"
    assert compared(tmp_path, ten(), gate)[0] == "pass"


def test_a_value_at_its_floor_is_kept(tmp_path: Path) -> None:
    """Nine of ten is at least 0.9, and one loop of ten at most 0.1."""
    made = ten(1)
    loops = ten().change("buy-000", lambda v: replace(v, termination="stall"))

    assert compared(tmp_path, made, f"{DROP}, max_delta: 0.5, floor: 0.9")[0] == "pass"
    assert compared(tmp_path, loops, f"{RISE}, max_delta: 0.5, floor: 0.1")[0] == "pass"
    assert compared(tmp_path, loops, f"{RISE}, max_delta: 0.5, floor: 0.09")[0] == "fail"


def test_an_unjudged_run_leaves_a_comparison_open(tmp_path: Path) -> None:
    """It may have been the one that got worse."""
    made = ten().change("buy-000", broken)

    assert compared(tmp_path, made, f"{DROP}, max_delta: 0.5, floor: 0.1") == (
        "inconclusive",
        "1 run could not be judged",
    )


# --- what cannot be compared ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("about", "said"),
    [
        ({"scenarios_digest": "6" * 64}, "scenario set differs (555555555555, now 666666666666)"),
        ({"datasets_digest": "0" * 64}, "data differs"),
        ({"mode": "B"}, "mode differs (A1, now B)"),
        ({"workflow": "expense@1.0"}, "workflow differs"),
        ({"evaluators": (("outcome", "2.0"), ("trajectory", "1.0"))}, "evaluator set differs"),
        ({"arh": "1.0.0"}, "arh differs (0.1.0, now 1.0.0)"),
        ({"as_of": "2026-06-01"}, "the baseline expired: it is 92 days old, 90 are accepted"),
        ({"as_of": "2026-02-28"}, "the baseline is dated after the decision"),
        ({"as_of": "tomorrow"}, "the decision date is unknown"),
    ],
)
def test_another_exam_is_incomparable(tmp_path: Path, about: dict[str, Any], said: str) -> None:
    """The difference is named, and the gate is inconclusive."""
    status, reason = compared(tmp_path, ten(**about), f"{DROP}, max_delta: 0.1, floor: 0.5")

    assert status == "inconclusive"
    assert reason.startswith("incomparable: ")
    assert said in reason


@pytest.mark.parametrize(
    "about",
    [
        {"agent": "other"},
        {"model": "other", "model_digest": "0" * 64},
        {"prompt_digest": "0" * 64},
        {"tools_digest": "0" * 64},
        {"policy": "other", "policy_digest": "0" * 64},
        {"seed": 9, "plan_digest": "0" * 64, "evidence": "0" * 64},
        {"arh": "0.9.0"},
        {"as_of": "2026-05-30"},
    ],
    ids=lambda about: next(iter(about)),
)
def test_another_candidate_is_what_is_compared(tmp_path: Path, about: dict[str, Any]) -> None:
    """Agent, model, prompt, tools and policy may differ: they are the question."""
    status, _ = compared(tmp_path, ten(**about), f"{DROP}, max_delta: 0.1, floor: 0.5")

    assert status == "pass"


def test_what_changed_in_the_candidate_is_named(tmp_path: Path) -> None:
    """A reader sees which parts are being compared."""
    about: About = replace(ABOUT, agent="other", policy_digest="0" * 64)

    assert changed(baseline(tmp_path), about) == ("agent", "policy_digest")


def test_another_version_of_a_metric_is_incomparable(tmp_path: Path) -> None:
    """Two definitions are two metrics."""
    made = ten()
    read = baseline(tmp_path)
    key = ("scenario_pass_rate", "all")
    made.baseline = replace(
        read, metrics={**read.metrics, key: replace(read.metrics[key], version="0.9")}
    )

    result = made.gate(f"{DROP}, max_delta: 0.1, floor: 0.5")

    assert (result.status, result.reason) == (
        "inconclusive",
        "incomparable: metric version differs (0.9, now 1.0)",
    )


def test_a_metric_that_the_baseline_lacks_is_incomparable(tmp_path: Path) -> None:
    """Not evaluated then, so nothing to compare now."""
    made = ten()
    made.baseline = replace(baseline(tmp_path), metrics={})

    assert made.gate(f"{DROP}, max_delta: 0.1, floor: 0.5").status == "inconclusive"


# --- files ---------------------------------------------------------------------------------------


def altered(tmp_path: Path, change: dict[str, Any], *, sealed: bool = True) -> Path:
    """A baseline file with other fields; sealed with a digest that fits, or not."""
    path = tmp_path / "b.json"
    save_baseline(path, ten().scorecard(PASS_RATE))
    value = {**json.loads(path.read_bytes()), **change}
    if sealed:
        value["digest"] = digest({k: v for k, v in value.items() if k != "digest"})
    path.write_text(json.dumps(value))
    return path


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schema_version": "2.0"}, "schema_version"),
        ({"more": 1}, "more"),
        ({"decision": "fine"}, "decision"),
        ({"as_of": "2026-13-01"}, "a date"),
        ({"metrics": [{}]}, "metrics"),
        ({"identity": {}}, "identity"),
    ],
)
def test_a_file_of_another_shape_is_refused(
    tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    """With the field that is wrong."""
    with pytest.raises(AuthoringError, match=said):
        load_baseline(altered(tmp_path, change))


def test_a_file_that_was_altered_is_refused(tmp_path: Path) -> None:
    """A number that somebody improved no longer fits the digest."""
    with pytest.raises(AuthoringError, match="the file was altered"):
        load_baseline(altered(tmp_path, {"as_of": "2026-03-02"}, sealed=False))


@pytest.mark.parametrize("value", ["0.5", "nan", "1e99999999", "1/0", "2/4"])
def test_a_number_that_is_no_fraction_is_refused(tmp_path: Path, value: str) -> None:
    """Also one that would take for ever to read."""
    path = altered(tmp_path, {})
    lines = json.loads(path.read_bytes())["metrics"]

    with pytest.raises(AuthoringError, match="a fraction"):
        load_baseline(altered(tmp_path, {"metrics": [{**lines[0], "value": value}]}))


def test_a_metric_that_stands_there_twice_is_refused(tmp_path: Path) -> None:
    """Which of both would count is nobody's guess."""
    path = altered(tmp_path, {})
    line = json.loads(path.read_bytes())["metrics"][0]

    with pytest.raises(AuthoringError, match="each metric once"):
        load_baseline(altered(tmp_path, {"metrics": [line, line]}))


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b'{"a":1,"a":2}', b"\xff", b"NaN"])
def test_what_is_no_baseline_is_refused(tmp_path: Path, data: bytes) -> None:
    """Strict JSON, as everywhere."""
    path = tmp_path / "b.json"
    path.write_bytes(data)

    with pytest.raises(AuthoringError):
        load_baseline(path)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    """With the option that named it."""
    with pytest.raises(AuthoringError, match="`--baseline`: this file cannot be read"):
        load_baseline(tmp_path / "none.json")
