"""The report's folder never shows an older decision, half a file, or a missing one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from arh.errors import AuthoringError, WriteFailure
from arh.harness import reports
from arh.harness.exits import CRASHED, guarded
from arh.harness.reports import ReportFolder
from tests.unit.decision.made import ABOUT, PASS_RATE, Suite, located, suite


def finished(folder: Path, made: Suite) -> ReportFolder:
    """A folder with the report of a suite."""
    report = ReportFolder(folder)
    report.start(ABOUT)
    report.finish(made.scorecard(PASS_RATE), list(made.verdicts.values()))
    return report


def decision(folder: Path) -> tuple[str, list[str]]:
    """What the folder says was decided."""
    value = json.loads((folder / "scorecard.json").read_bytes())
    return value["decision"], value["reasons"]


def test_a_report_holds_everything(tmp_path: Path) -> None:
    """JSON, Markdown, JUnit, and a page for each run; nothing else is left behind."""
    finished(tmp_path / "latest", suite())

    files = sorted(p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*") if p.is_file())
    assert files == [
        "latest/junit.xml",
        "latest/scenarios/buy-a-lamp-001.md",
        "latest/scenarios/faulted-001.md",
        "latest/scenarios/guarded-001.md",
        "latest/scenarios/liar-001.md",
        "latest/scorecard.json",
        "latest/scorecard.md",
    ]
    assert decision(tmp_path / "latest") == ("pass", ["all 8 blocking gates passed"])


def test_every_link_of_the_scorecard_leads_to_a_page(tmp_path: Path) -> None:
    """Paths are relative to the folder, so it can be moved."""
    finished(tmp_path, suite())

    runs = json.loads((tmp_path / "scorecard.json").read_bytes())["runs"]
    assert [run["page"] for run in runs if not (tmp_path / run["page"]).is_file()] == []


def test_after_a_crash_the_older_decision_is_gone(tmp_path: Path) -> None:
    """A run that began and never ended says started, and its predecessor's pages are gone."""
    finished(tmp_path, suite())

    ReportFolder(tmp_path).start(ABOUT)

    assert decision(tmp_path) == ("inconclusive", ["started"])
    assert "# Release gate: INCONCLUSIVE" in (tmp_path / "scorecard.md").read_text("utf-8")
    assert not (tmp_path / "junit.xml").exists()
    assert list((tmp_path / "scenarios").iterdir()) == []


def test_pages_of_scenarios_that_are_gone_are_gone(tmp_path: Path) -> None:
    """A report is about its own run only."""
    finished(tmp_path, suite())
    finished(tmp_path, suite(located("other-001")))

    assert [p.name for p in (tmp_path / "scenarios").iterdir()] == ["other-001.md"]


def test_files_of_others_are_left_alone(tmp_path: Path) -> None:
    """Also where somebody names a folder that holds their own scenarios."""
    own = tmp_path / "scenarios" / "README.md"
    own.parent.mkdir()
    own.write_text("# ours")
    (tmp_path / "scenarios" / "a.jsonl").write_text("{}")

    finished(tmp_path, suite())

    assert own.read_text() == "# ours"
    assert (tmp_path / "scenarios" / "a.jsonl").exists()


def test_the_json_is_written_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever reads a decision finds all that it stands on."""
    order: list[str] = []
    real = Path.replace

    def replaced(path: Path, target: Path) -> Path:
        order.append(Path(target).name)
        return real(path, target)

    monkeypatch.setattr(Path, "replace", replaced)
    finished(tmp_path, suite(located()))

    assert order == [
        "scorecard.json",
        "scorecard.md",
        "buy-a-lamp-001.md",
        "junit.xml",
        "scorecard.md",
        "scorecard.json",
    ]


def test_the_same_run_gives_the_same_report(tmp_path: Path) -> None:
    """Byte for byte, whatever the folder is called."""
    finished(tmp_path / "one", suite())
    finished(tmp_path / "two", suite())

    def contents(folder: Path) -> dict[str, bytes]:
        files = [path for path in folder.rglob("*") if path.is_file()]
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}

    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_a_folder_that_cannot_be_written_is_told_before_anything_runs(tmp_path: Path) -> None:
    """It is the option that is wrong."""
    file = tmp_path / "file"
    file.write_text("")

    with pytest.raises(AuthoringError, match="`--out`: this is no folder"):
        ReportFolder(file / "latest").start(ABOUT)


def test_a_decision_that_somebody_wrote_over_is_no_decision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What lies there in the end is what was decided, or there is no result."""
    made = suite()
    report = ReportFolder(tmp_path)
    report.start(ABOUT)
    stale = (tmp_path / "scorecard.json").read_bytes()

    def replaced(path: Path, content: bytes) -> None:
        path.write_bytes(stale if path.name == "scorecard.json" else content)

    monkeypatch.setattr(reports, "replace_file", replaced)
    with pytest.raises(WriteFailure, match="not what was decided"):
        report.finish(made.scorecard(PASS_RATE), list(made.verdicts.values()))


def test_a_disk_that_is_full_leaves_no_result_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No traceback: the file, and that this is no verdict."""
    made = suite()
    report = ReportFolder(tmp_path)
    report.start(ABOUT)
    monkeypatch.setattr(reports, "replace_file", _full)

    def finish(_words: object) -> int:
        report.finish(made.scorecard(PASS_RATE), list(made.verdicts.values()))
        return 0

    assert guarded(finish, []) == CRASHED
    told = capsys.readouterr().err
    assert "scorecard.json: cannot be written: OSError" in told
    assert "Traceback" not in told


def test_what_else_cannot_be_written_does_not_change_the_decision(tmp_path: Path) -> None:
    """It is told, and the decision is there."""
    made = suite()
    report = ReportFolder(tmp_path)
    report.start(ABOUT)
    (tmp_path / "scenarios").write_text("in the way")

    unwritten = report.finish(made.scorecard(PASS_RATE), list(made.verdicts.values()))

    assert decision(tmp_path)[0] == "pass"
    assert unwritten == tuple(
        f"scenarios/{name}.md cannot be written: FileExistsError"
        for name in ("buy-a-lamp-001", "guarded-001", "faulted-001", "liar-001")
    )


def _full(_path: Path, _content: bytes) -> None:
    raise OSError(28, "full")
