"""`arh cases` as a user types it: every exit code, every file, and what an approval changes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "cases"
CASES = EXAMPLE / "cases.jsonl"


def arh_cases(*options: object, cases: Path = CASES) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    words = [sys.executable, "-m", "arh", "cases", "--cases", str(cases), *map(str, options)]
    return subprocess.run(
        words, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False, timeout=60
    )


@pytest.mark.parametrize(
    ("snapshot", "code", "word"),
    [("sound", 0, "PASS"), ("pays-twice", 1, "BLOCK"), ("slow", 3, "REVIEW")],
)
def test_each_decision_has_its_exit_code(snapshot: str, code: int, word: str) -> None:
    """The first word of a snapshot's line is the decision."""
    done = arh_cases("--outputs", EXAMPLE / "outputs" / f"{snapshot}.jsonl")

    assert (done.returncode, done.stdout.split()[0]) == (code, word), done.stderr


def test_of_several_the_worst_decides(tmp_path: Path) -> None:
    """And each has a result of its own."""
    done = arh_cases("--outputs", EXAMPLE / "outputs", "--out", tmp_path)

    assert done.returncode == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "pays-twice.json",
        "report.md",
        "slow.json",
        "sound.json",
        "summary.json",
    ]
    summary: Any = json.loads((tmp_path / "summary.json").read_bytes())
    assert [each["decision"] for each in summary["evaluations"]] == ["BLOCK", "REVIEW", "PASS"]


def test_the_same_inputs_give_the_same_bytes(tmp_path: Path) -> None:
    """Whatever folder they are written to."""
    written = []
    for name in ("a", "b"):
        arh_cases("--outputs", EXAMPLE / "outputs", "--out", tmp_path / name)
        written.append([path.read_bytes() for path in sorted((tmp_path / name).iterdir())])

    assert written[0] == written[1]


def test_an_approval_makes_a_review_a_pass(tmp_path: Path) -> None:
    """It names the digest that the review printed, and the day after its last it is void."""
    slow = EXAMPLE / "outputs" / "slow.jsonl"
    digest = arh_cases("--outputs", slow).stdout.split()[-1]
    file = tmp_path / "approval.json"
    content = {"approver": "board", "reason": "known", "expires": "2026-12-31", "result": digest}
    file.write_text(json.dumps(content), encoding="utf-8")

    within = arh_cases("--outputs", slow, "--approval", file, "--as-of", "2026-12-31")
    after = arh_cases("--outputs", slow, "--approval", file, "--as-of", "2027-01-01")

    assert within.returncode == 0, within.stdout
    assert "approved by board until 2026-12-31: known" in within.stdout
    assert "approved by" not in after.stdout
    assert after.returncode == 3
    assert "the approval expired on 2026-12-31" in after.stderr


def test_an_approval_of_another_result_is_told(tmp_path: Path) -> None:
    """It answers for nothing, and nobody has to guess."""
    file = tmp_path / "approval.json"
    content = {"approver": "b", "reason": "r", "expires": "2026-12-31", "result": "0" * 64}
    file.write_text(json.dumps(content), encoding="utf-8")

    done = arh_cases("--outputs", EXAMPLE / "outputs" / "slow.jsonl", "--approval", file)

    assert done.returncode == 3
    assert "it answers for nothing" in done.stderr


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "this is no object"),
        ("{", "cut short"),
        ('{"approver": "a"}', "`expires`: expected this field"),
        ('{"approver": "", "reason": "r", "expires": "x", "result": "y"}', "`approver`"),
        ('{"approver": "a", "reason": "r", "expires": "x", "result": "y"}', "a date, YYYY-MM-DD"),
        ('{"approver": "a", "reason": "r", "expires": "2026-01-01", "result": "y"}', "`result`"),
        ('{"approver": "a", "reason": "r", "expires": "20270101", "result": "y"}', "YYYY-MM-DD"),
        ('{"aprover": "a"}', "did you mean `approver`?"),
    ],
)
def test_a_wrong_approval_is_bad_input(tmp_path: Path, content: str, message: str) -> None:
    """Nothing is decided."""
    file = tmp_path / "approval.json"
    file.write_text(content, encoding="utf-8")

    done = arh_cases("--outputs", EXAMPLE / "outputs" / "slow.jsonl", "--approval", file)

    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


def test_bad_input_decides_nothing(tmp_path: Path) -> None:
    """Exit code 2, the place of the mistake, and no word of a decision."""
    outputs = tmp_path / "outputs.jsonl"
    outputs.write_text("{}\n", encoding="utf-8")

    done = arh_cases("--outputs", outputs)

    assert (done.returncode, done.stdout) == (2, "")
    assert "outputs.jsonl:1: `case_id`: expected this field" in done.stderr


def test_no_result_takes_the_place_of_the_summary(tmp_path: Path) -> None:
    """Both would be one file, and the last one written would be left."""
    outputs = EXAMPLE / "outputs" / "sound.jsonl"

    done = arh_cases("--outputs", outputs, "--label", "Summary", "--out", tmp_path / "out")

    assert (done.returncode, done.stdout) == (2, "")
    assert "`Summary`" in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_label_is_for_one_file() -> None:
    """Two results of one name would be one."""
    done = arh_cases("--outputs", EXAMPLE / "outputs", "--label", "v1")

    assert done.returncode == 2
    assert "one file of outputs" in done.stderr


def test_a_profile_of_scenarios_does_not_judge_cases() -> None:
    """Its metrics are of runs, and nothing ran."""
    done = arh_cases("--outputs", EXAMPLE / "outputs", "--profile", "conformance")

    assert done.returncode == 2
    assert "`judges`: expected cases, found `scenarios`" in done.stderr


def test_what_cannot_be_written_is_no_verdict(tmp_path: Path) -> None:
    """Exit code 4: there is no report to read."""
    blocked = tmp_path / "file"
    blocked.write_text("", encoding="utf-8")

    done = arh_cases("--outputs", EXAMPLE / "outputs", "--out", blocked)

    assert done.returncode == 4
