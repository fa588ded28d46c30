"""The GitHub action: its inputs become arguments and nothing else; it fails as the gate does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "traces"
GOOD = str(EXAMPLES / "good.json")
HASTY = str(EXAMPLES / "hasty.json")


def act(folder: Path, **inputs: str) -> tuple[int, dict[str, str], str]:
    """Run what the action runs; return its exit code, its outputs and its summary."""
    files = {name: folder / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    given = {f"ARH_INPUT_{name.upper()}": value for name, value in inputs.items()}
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "action.py")],
        cwd=folder,
        env={**os.environ, **given, **{name: str(path) for name, path in files.items()}},
        capture_output=True,
        check=False,
        timeout=120,
    )
    said = [path.read_text("utf-8") if path.exists() else "" for path in files.values()]
    outputs = dict(line.split("=", 1) for line in said[0].splitlines())
    return done.returncode, outputs, said[1]


def validate(folder: Path, traces: str, **inputs: str) -> tuple[int, dict[str, str], str]:
    """Judge traces by the examples' policy."""
    return act(folder, traces=traces, policy=str(EXAMPLES / "policy.json"), **inputs)


@pytest.mark.parametrize(("trace", "code"), [(GOOD, 0), (HASTY, 1)])
def test_it_fails_as_the_verdict_does(tmp_path: Path, trace: str, code: int) -> None:
    """Every report is an output, and the summary is the page."""
    found, outputs, summary = validate(tmp_path, f"\n{trace}\n")

    assert found == code
    assert outputs.pop("exit-code") == str(code)
    assert set(outputs) == {"json", "markdown", "junit", "sarif", "html"}
    assert all((tmp_path / path).is_file() for path in outputs.values())
    assert summary == (tmp_path / outputs["markdown"]).read_text("utf-8")


def test_with_a_baseline_the_comparison_decides(tmp_path: Path) -> None:
    """What is known to fail may fail; what is new may not."""
    _, outputs, _ = validate(tmp_path, HASTY, reports="base")
    baseline = str(tmp_path / outputs["json"])
    for report in tmp_path.glob("GITHUB_*"):
        report.unlink()

    known = validate(tmp_path, HASTY, baseline=baseline)
    gone = validate(tmp_path, GOOD, baseline=baseline)

    assert (known[0], gone[0]) == (0, 1)
    comparison: Any = json.loads((tmp_path / known[1]["comparison"]).read_bytes())
    assert comparison["summary"]["new_findings"] in (0, len(comparison["traces"]))


def test_a_report_of_an_earlier_run_decides_nothing(tmp_path: Path) -> None:
    """A policy that is no policy fails, though a report that passes lies where one is written."""
    _, outputs, _ = validate(tmp_path, GOOD, reports="base")
    baseline, policy = tmp_path / outputs["json"], tmp_path / "policy.json"
    stale = tmp_path / "arh-reports" / "report.json"
    stale.parent.mkdir()
    stale.write_bytes(baseline.read_bytes())
    policy.write_text('{"policy_id": "p", "forbiden": 1}', "utf-8")

    code, _, _ = act(tmp_path, traces=GOOD, policy=str(policy), baseline=str(baseline))

    assert code == 1
    assert not stale.exists()


@pytest.mark.parametrize(
    "evil",
    ["--policy=/dev/null", "$(touch owned)", "`touch owned`", "; touch owned", "--help"],
)
def test_no_input_becomes_a_command_or_an_option(tmp_path: Path, evil: str) -> None:
    """A pull request that names its traces strangely judges nothing."""
    code, _, _ = validate(tmp_path, evil)

    assert code == 1
    assert not (tmp_path / "owned").exists()


@pytest.mark.parametrize(
    "inputs",
    [
        {"mode": "deploy"},
        {"mode": "validate", "policy": "p.json"},
        {"traces": "t.json"},
        {"traces": "t.json", "policy": "p.json", "reports": "a\nexit-code=0"},
        {"traces": GOOD, "policy": str(EXAMPLES / "policy.json"), "fail_under": "200"},
    ],
)
def test_wrong_inputs_are_usage(tmp_path: Path, inputs: dict[str, str]) -> None:
    """Exit code 2, and no output that could be taken for a decision."""
    code, outputs, _ = act(tmp_path, **inputs)

    assert code == 2
    assert outputs.get("exit-code", "2") == "2"


def test_the_gate_decides(tmp_path: Path) -> None:
    """A suite that is run in a part is inconclusive, and fails the job."""
    folder = tmp_path / "scenarios"
    source = ROOT / "scenarios" / "support" / "golden" / "billing-incident-001.jsonl"
    (folder / "golden").mkdir(parents=True)
    (folder / "golden" / source.name).write_bytes(source.read_bytes())

    code, outputs, summary = act(tmp_path, mode="gate", scenarios=str(folder))

    scorecard: Any = json.loads((tmp_path / outputs["json"]).read_bytes())
    assert scorecard["decision"] == "inconclusive"
    assert (code, outputs["exit-code"]) == (3, "3")
    assert summary == (tmp_path / outputs["markdown"]).read_text("utf-8")
