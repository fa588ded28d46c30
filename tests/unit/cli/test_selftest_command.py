"""`arh selftest` as a user types it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from arh.cli import selftest
from arh.testing.defects import Catcher, Defect, Outcome
from arh.testing.selftest import Trial

CAUGHT = "agents.says-done  caught by outcome: outcome.no_alternative_holds\n"


def test_each_defect_is_one_line_with_what_caught_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the working folder holds a suite of its own."""
    (tmp_path / "scenarios").mkdir()
    monkeypatch.chdir(tmp_path)

    code = selftest.main(["--only", "agents.says-done"])

    assert (0, f"{CAUGHT}1 defects planted, 1 caught\n") == (code, capsys.readouterr().out)


def test_a_defect_that_was_not_caught_makes_the_exit_code_one(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told with what should have caught it; hostile text is made safe."""
    clean = Outcome(clean=True)
    defect = Defect(
        "a.b", "it\x1b[2J", Catcher("gate", "g"), lambda _bench: clean, lambda _bench: clean
    )
    missed = Trial(defect, "NOT CAUGHT", "seen: nothing wrong")
    monkeypatch.setattr(selftest, "chosen", lambda _patterns: (defect,))
    monkeypatch.setattr(selftest, "selftest", lambda _defects, _bench: iter([missed]))

    code = selftest.main([])

    told = (
        "a.b  NOT CAUGHT\n"
        "     it\\x1b[2J\n"
        "     must be caught by gate: g; seen: nothing wrong\n"
        "1 defects planted, 0 caught\n"
    )
    assert (code, capsys.readouterr().out) == (1, told)
    assert not replace(missed, status="BROKEN").is_caught


def test_the_list_plants_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """It says what each defect breaks and what must catch it."""
    code = selftest.main(["--list", "--only", "agents.says-done"])

    told = (
        "agents.says-done  an agent that does nothing and says that all is done"
        " (outcome: outcome.no_alternative_holds)\n"
    )
    assert (code, capsys.readouterr().out) == (0, told)
