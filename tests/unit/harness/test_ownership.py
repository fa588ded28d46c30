"""A report replaces what arh wrote and nothing else: whatever stands in its way is named first."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from arh.errors import AuthoringError
from arh.harness.evidence.evidence_store import EvidenceWriter
from arh.harness.evidence.ownership import check_report
from arh.harness.evidence.recorder import keep_all
from arh.harness.reports import ReportFolder
from arh.records.control.plan import RunPlan
from tests.unit.decision.made import ABOUT, PASS_RATE, suite

PLAN = RunPlan((), (), "plan", 1)
PAGE = "scenarios/buy-a-lamp-001.md"
STATE = "evidence/states/" + "a" * 64 + ".json"


def reported(folder: Path) -> ReportFolder:
    """A report of ours, with evidence."""
    made = suite()
    report = ReportFolder(folder)
    report.start(ABOUT)
    EvidenceWriter(report.evidence, PLAN, redact=keep_all).close({})
    report.finish(made.scorecard(PASS_RATE), list(made.verdicts.values()))
    return report


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def refused(folder: Path) -> list[str]:
    """What stands in the way of a report, by the name of the file."""
    with pytest.raises(AuthoringError) as caught:
        check_report(folder, pages=[PAGE])
    return [Path(problem.file).relative_to(folder).as_posix() for problem in caught.value.problems]


def test_a_report_of_ours_is_in_nobodys_way(tmp_path: Path) -> None:
    """An empty folder, a missing one, our own report, one that we did not finish."""
    reported(tmp_path / "done")
    begun = ReportFolder(tmp_path / "begun")
    begun.start(ABOUT)
    EvidenceWriter(begun.evidence, PLAN, redact=keep_all)
    (begun.evidence / "part-0000.jsonl").write_bytes(b"half a li")
    (tmp_path / "empty").mkdir()

    for name in ("done", "begun", "empty", "missing/below"):
        check_report(tmp_path / name, pages=[PAGE])
        EvidenceWriter(tmp_path / name / "evidence", PLAN, redact=keep_all).close({})

    assert sorted(contents(tmp_path / "begun" / "evidence")) == ["manifest.json", "scenarios.jsonl"]


@pytest.mark.parametrize(
    "name",
    [
        "scorecard.json",
        "scorecard.md",
        "junit.xml",
        "telemetry.jsonl",
        PAGE,
        STATE,
        "evidence/manifest.json",
        "evidence/part-0000.jsonl",
        "evidence/scenarios.jsonl",
        "evidence/unfinished",
    ],
)
def test_a_file_of_others_under_our_name_is_refused_and_kept(tmp_path: Path, name: str) -> None:
    """Nothing is changed, and every such file is named."""
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text('{"schema_version": "mine"}')
    before = contents(tmp_path)

    assert refused(tmp_path) == [name]
    with pytest.raises(AuthoringError):
        ReportFolder(tmp_path).start(ABOUT, pages=[PAGE])
    assert contents(tmp_path) == before


def _link(path: Path) -> None:
    path.symlink_to(path.parent / "elsewhere")


def _folder(path: Path) -> None:
    path.mkdir()


@pytest.mark.parametrize("make", [_link, _folder, os.mkfifo])
@pytest.mark.parametrize(
    "name",
    ["scorecard.json", ".scorecard.json.new", "evidence/part-0000.jsonl", STATE, PAGE],
)
def test_what_is_no_file_is_refused_and_never_opened(
    tmp_path: Path, make: Callable[[Path], None], name: str
) -> None:
    """A pipe would never answer, a link would lead elsewhere."""
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    make(tmp_path / name)

    assert refused(tmp_path) == [name]


@pytest.mark.parametrize("name", ["evidence", "scenarios", "evidence/states"])
def test_a_file_where_a_folder_must_be_is_refused(tmp_path: Path, name: str) -> None:
    """And so is a link to one."""
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("mine")

    assert refused(tmp_path) == [name]


def test_a_folder_below_a_file_is_refused(tmp_path: Path) -> None:
    """However far below."""
    (tmp_path / "file").write_text("mine")

    with pytest.raises(AuthoringError, match="this is no folder"):
        check_report(tmp_path / "file" / "a" / "b")


def test_files_of_others_under_other_names_stay(tmp_path: Path) -> None:
    """In every folder of a report, also where it would be in the way of removing the folder."""
    reported(tmp_path)
    own = ("notes.txt", "scenarios/README.md", "evidence/notes.txt", "evidence/states/readme.txt")
    for name in own:
        (tmp_path / name).write_text("mine")

    reported(tmp_path)

    assert [contents(tmp_path)[name] for name in own] == [b"mine"] * 4


def test_a_part_that_no_manifest_lists_is_not_ours(tmp_path: Path) -> None:
    """Our own name alone makes no file ours."""
    reported(tmp_path)
    (tmp_path / "evidence" / "part-0007.jsonl").write_text("mine")

    assert refused(tmp_path) == ["evidence/part-0007.jsonl"]
