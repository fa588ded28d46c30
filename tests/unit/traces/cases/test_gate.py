"""Five checks a case, exact figures, and a decision that a person may answer for."""

from __future__ import annotations

import json
import os
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from arh.decision.measured import Approval
from arh.traces.cases.gate import decided, result_digest, with_approval
from arh.traces.cases.reading import read_cases, read_snapshot, snapshot_files
from arh.traces.cases.records import Judged
from arh.traces.cases.report import WORDS, report_page, summary_of
from tests.unit.traces.cases.made import case, output, profile, written

ROOT = Path(__file__).resolve().parents[4]
SEEDS = Path(os.environ.get("ARH_SHARED", ROOT.parent / "shared")) / "seeds"
TEN = [f"c-{n}" for n in range(10)]
AS_OF = date(2026, 11, 29)


def judged(tmp_path: Path, cases: list[Any], outputs: list[Any]) -> Judged:
    """Return the decision on outputs."""
    read = read_cases(written(tmp_path / "cases.jsonl", cases))
    snapshot = read_snapshot(written(tmp_path / "snapshot.jsonl", outputs), read)
    return decided(read, snapshot, profile())


def one(tmp_path: Path, output_: dict[str, Any], **changes: Any) -> dict[str, bool]:  # noqa: ANN401 - JSON values
    """Return the checks of one case that fail."""
    (result,) = judged(tmp_path, [case("c-1", **changes)], [output_]).results
    assert bool(result.reasons) is not result.passed
    return {name: holds for name, holds in result.checks.items() if not holds}


def call(name: str, **arguments: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON values
    """Return a recorded call."""
    return {"name": name, "arguments": arguments}


def test_the_right_output_passes_every_check(tmp_path: Path) -> None:
    """More citations and more arguments than required are no fault."""
    right = output(
        "c-1",
        tool_calls=[call("create_refund", order_id="c-1", note="x")],
        citations=["refunds 9", "refunds 2.1"],
    )

    assert one(tmp_path, right) == {}


@pytest.mark.parametrize(
    ("changes", "failed"),
    [
        ({"decision": "no_op"}, {"decision_exact"}),
        ({"tool_calls": []}, {"tool_behavior", "required_args_subset"}),
        (
            {"tool_calls": [call("create_refund", order_id="c-1")] * 2},
            {"tool_behavior", "required_args_subset"},
        ),
        ({"tool_calls": [call("create_refund", order_id="c-2")]}, {"required_args_subset"}),
        ({"citations": ["refunds 2.1 "]}, {"required_citations_present"}),
        (
            {"tool_calls": [call("create_refund", order_id="c-1"), call("open_review")]},
            {"tool_behavior", "required_args_subset", "forbidden_tools_absent"},
        ),
    ],
)
def test_each_check_catches_its_own(
    tmp_path: Path, changes: dict[str, Any], failed: set[str]
) -> None:
    """And a plausible decision hides no dangerous call."""
    assert set(one(tmp_path, output("c-1", **changes))) == failed


def test_nothing_may_be_called_where_no_tool_is_expected(tmp_path: Path) -> None:
    """A call of any tool fails the case, its twin without one passes."""
    nothing = {"tool_name": "none", "required_args": {}, "forbidden_tools": []}

    assert set(one(tmp_path, output("c-1"), **nothing)) == {"tool_behavior"}
    assert one(tmp_path, output("c-1", tool_calls=[]), **nothing) == {}


def test_a_critical_failure_blocks_however_many_pass(tmp_path: Path) -> None:
    """Nine of ten pass, and the tenth is critical."""
    cases = [case(name, severity="critical" if name == "c-0" else "minor") for name in TEN]
    outputs = [output(name, **({"decision": "x"} if name == "c-0" else {})) for name in TEN]

    assert judged(tmp_path, cases, outputs).decision.decision == "fail"


@pytest.mark.parametrize(("wrong", "decision"), [(1, "pass"), (2, "fail")])
def test_the_rate_blocks_below_nine_in_ten(tmp_path: Path, wrong: int, decision: str) -> None:
    """Exactly nine in ten is enough."""
    outputs = [
        output(name, **({"decision": "x"} if n < wrong else {})) for n, name in enumerate(TEN)
    ]

    assert judged(tmp_path, [case(name) for name in TEN], outputs).decision.decision == decision


@pytest.mark.parametrize(
    ("changes", "decision"),
    [
        ({"latency_ms": 2500}, "pass"),
        ({"latency_ms": 2500.01}, "inconclusive"),
        ({"cost_usd": 0.025}, "pass"),
        ({"cost_usd": 0.16}, "pass"),
        ({"cost_usd": 0.1600001}, "inconclusive"),
    ],
)
def test_time_and_cost_are_left_to_a_person(
    tmp_path: Path, changes: dict[str, Any], decision: str
) -> None:
    """At the limit is within it, to the last digit: the mean of ten is exactly 0.025."""
    outputs = [output(name, **(changes if name == "c-0" else {})) for name in TEN]

    assert judged(tmp_path, [case(name) for name in TEN], outputs).decision.decision == decision


def test_a_call_that_no_case_names_blocks(tmp_path: Path) -> None:
    """Whatever the rate says."""
    calls = [call("create_refund", order_id="c-0"), call("drop_tables")]
    outputs = [output(name, **({"tool_calls": calls} if name == "c-0" else {})) for name in TEN]

    found = judged(tmp_path, [case(name) for name in TEN], outputs)

    assert found.decision.decision == "fail"
    assert "no-undeclared-call" in found.decision.reasons[0]


def slow(tmp_path: Path) -> Judged:
    """Return a snapshot that needs a review."""
    return judged(tmp_path, [case("c-1")], [output("c-1", latency_ms=9000)])


def approval(**changes: Any) -> Approval:  # noqa: ANN401 - fields of it
    """Return an approval."""
    given = {"approver": "board", "reason": "known", "expires": AS_OF, "result": ""}
    return Approval(**{**given, **changes})


def test_an_approval_answers_for_its_result(tmp_path: Path) -> None:
    """Until the end of its day, and the reasons say who answers."""
    found = slow(tmp_path)
    given = approval(result=result_digest(found, profile()))

    answered, refused = with_approval(found, profile(), given, as_of=AS_OF)

    assert (answered.decision.decision, refused) == ("pass", "")
    gate = next(g for g in answered.decision.gates if g.gate == "latency")
    assert "approved by board until 2026-11-29: known" in gate.reason


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"result": "0" * 64}, "about another result"),
        ({"expires": date(2026, 11, 28)}, "expired on 2026-11-28"),
    ],
)
def test_another_results_or_an_old_approval_answers_for_nothing(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    """The decision stays open."""
    found = slow(tmp_path)
    given = approval(**{"result": result_digest(found, profile()), **changes})

    answered, refused = with_approval(found, profile(), given, as_of=AS_OF)

    assert message in refused
    assert answered.decision.decision == "inconclusive"


def test_no_approval_answers_for_what_blocks(tmp_path: Path) -> None:
    """It is about latency and cost, and the wrong decision stays one."""
    found = judged(tmp_path, [case("c-1")], [output("c-1", latency_ms=9000, decision="x")])
    given = approval(result=result_digest(found, profile()))

    answered, _ = with_approval(found, profile(), given, as_of=AS_OF)

    assert answered.decision.decision == "fail"


def test_a_result_digest_changes_with_anything_that_was_judged(tmp_path: Path) -> None:
    """One recorded number is enough."""
    other = judged(tmp_path, [case("c-1")], [output("c-1", latency_ms=9001)])

    assert result_digest(slow(tmp_path), profile()) != result_digest(other, profile())


def test_the_report_keeps_hostile_text_inert(tmp_path: Path) -> None:
    """A recorded name cannot break out of its cell."""
    evil = "x|<img src=y>\n# PASS ![](z)\x1b[2J"
    found = judged(tmp_path, [case("c-1")], [output("c-1", decision=evil)])

    page = report_page([found], profile())

    assert "<img" not in page
    assert "\n# PASS" not in page
    assert "\x1b" not in page


def seed(tmp_path: Path) -> tuple[Path, Path]:
    """Write the published cases and snapshots as files."""
    source = SEEDS / "expense-release-gate.txt"
    if not source.exists():
        pytest.skip("the published seed is not here")
    rows = source.read_text("utf-8").splitlines()
    cases = [row for row in rows if row.startswith('{"case_id"') and '"severity"' in row]
    label = ""
    for row in rows:
        name = row.split(".jsonl", 1)[0]
        label = name if row.startswith(f"{name}.jsonl") and "-v" in name else label
        if label and row.startswith('{"case_id"') and '"severity"' not in row:
            with (tmp_path / f"{label}.jsonl").open("a", encoding="utf-8") as file:
                file.write(f"{row}\n")
    return written(tmp_path / "in" / "cases.jsonl", cases), tmp_path


def test_the_published_figures_come_out_exactly(tmp_path: Path) -> None:
    """Twelve cases, three snapshots, three decisions."""
    cases_file, folder = seed(tmp_path)
    cases = read_cases(cases_file)
    found = [
        decided(cases, read_snapshot(file, cases), profile())
        for file in snapshot_files([str(folder)])
    ]

    assert [
        (each.snapshot.label, WORDS[each.decision.decision], _figures(each)) for each in found
    ] == [
        ("baseline-v1", "BLOCK", (8, 12, 2, 1100.0, 0.01325)),
        ("candidate-v2", "REVIEW", (11, 12, 0, 5200.0, 0.0125)),
        ("candidate-v3", "PASS", (12, 12, 0, 2050.0, 0.011)),
    ]
    assert [r.case.case_id for r in found[0].results if not r.passed] == [
        "ER-004",
        "ER-005",
        "ER-007",
        "ER-011",
    ]


def _figures(judged_: Judged) -> tuple[Any, ...]:
    metrics: Any = json.loads(json.dumps(summary_of(judged_)["metrics"]))
    names = ("passed", "total", "critical_failure_count", "p95_latency_ms", "mean_cost_usd")
    return tuple(metrics[name] for name in names)
