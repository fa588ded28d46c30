"""The gate decides on evidence that can be read again, and never on what it remembers of it."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from arh.harness.authoring.roots import own_root
from arh.harness.exits import INCONCLUSIVE, PASS, USAGE
from arh.harness.pipeline import run_suite
from arh.harness.release_gate import main

GOLDEN = own_root("scenarios").path / "support" / "golden" / "billing-incident-001.jsonl"
PROFILE = (
    "profile: pass-rate\ngates:\n"
    "  - {metric: scenario_pass_rate, type: absolute, operator: eq, threshold: 1,"
    " severity: blocking}\n"
)


@pytest.fixture(name="words")
def _words(tmp_path: Path) -> list[str]:
    """A gate over one scenario, by one rate."""
    (tmp_path / "p.yaml").write_text(PROFILE)
    places = ["--scenarios", str(GOLDEN), "--profile", str(tmp_path / "p.yaml")]
    return [*places, "--out", str(tmp_path / "out")]


def scorecard(tmp_path: Path) -> dict[str, Any]:
    """What the gate wrote."""
    value: dict[str, Any] = json.loads((tmp_path / "out" / "scorecard.json").read_bytes())
    return value


def test_a_gate_over_evidence_that_is_there_passes(tmp_path: Path, words: list[str]) -> None:
    """And its scorecard says where the profile came from."""
    code = main(words)

    assert (code, scorecard(tmp_path)["profile"]["source"]) == (PASS, "flag")


def test_a_gate_whose_evidence_is_gone_does_not_pass(
    tmp_path: Path, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything was judged right, and nobody could ever look again."""

    def run(*arguments: Any, **named: Any) -> object:  # noqa: ANN401 - handed on
        verdicts = run_suite(*arguments, **named)
        (tmp_path / "out" / "evidence" / "part-0000.jsonl").unlink()
        return verdicts

    monkeypatch.setattr("arh.harness.release_gate.run_suite", run)
    code = main(words)

    found = scorecard(tmp_path)
    assert code == INCONCLUSIVE
    assert "gate evidence_complete is inconclusive: 0 runs on record, 1 planned" in found["reasons"]
    assert "evidence: part-0000.jsonl: missing" in found["warnings"]


def test_an_agent_that_removes_its_evidence_gains_nothing(tmp_path: Path, words: list[str]) -> None:
    """A process can reach the report's folder, and what it removes is missed."""
    evidence = tmp_path / "out" / "evidence"
    code = (
        f"import pathlib, sys; sys.stdin.readline();"
        f"[p.unlink() for p in pathlib.Path({str(evidence)!r}).glob('scenarios.jsonl')];"
        'print(\'{"type": "final", "answer": "Bye."}\', flush=True)'
    )

    main([*words, "--agent", shlex.join([sys.executable, "-c", code])])

    gates = {gate["gate"]: gate["status"] for gate in scorecard(tmp_path)["gates"]}
    assert gates["evidence_complete"] == "inconclusive"


@pytest.mark.parametrize("name", ["scorecard.json", "scenarios", "evidence/part-0000.jsonl"])
def test_a_folder_that_holds_what_is_not_ours_is_refused(
    tmp_path: Path, words: list[str], name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything runs, with the name of the file, which stays."""
    path = tmp_path / "out" / name
    path.parent.mkdir(parents=True)
    path.write_text("mine")

    code = main(words)

    assert (code, path.read_text()) == (USAGE, "mine")
    assert str(path) in capsys.readouterr().err
