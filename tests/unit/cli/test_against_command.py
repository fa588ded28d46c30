"""`arh selftest --against` as a user types it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from arh.cli import selftest
from arh.harness.exits import guarded
from arh.testing.kill_controls import CONTROLS

ROOT = Path(__file__).resolve().parents[3]
SUITE = [f"--{name}={ROOT / name}" for name in ("datasets", "fixtures")]
BLOCKED = str(ROOT / "scenarios/support/adversarial/credit-attempt-blocked-001.jsonl")
GOLDEN = str(ROOT / "scenarios/support/golden/billing-incident-001.jsonl")


def typed(*words: str) -> int:
    """The exit code of `arh selftest` with these words."""
    return guarded(selftest.main, [*words])


def against(*words: str, scenarios: str = BLOCKED) -> int:
    """The exit code of `arh selftest --against support` over some scenarios."""
    return typed("--against", "support", "--scenarios", scenarios, *SUITE, *words)


def test_0_where_a_scenario_notices(capsys: pytest.CaptureFixture[str]) -> None:
    """The scenario and the rule that speaks of it are named."""
    code = against("--only", "authorisation")

    out = capsys.readouterr().out
    assert code == 0
    assert "authorisation        killed by guardrail-credit-attempt-blocked-001 (guard" in out
    assert out.endswith("over 1 scenarios: 1 killed, 0 survived; 0 not applicable\n")


def test_1_where_a_control_survives(capsys: pytest.CaptureFixture[str]) -> None:
    """With what is broken, and what to write."""
    code = against("--only", "scopes", scenarios=GOLDEN)

    out = capsys.readouterr().out
    assert code == 1
    assert "SURVIVED: no scenario depends on it" in out
    assert "a caller without the scope is allowed: write a scenario that fails then" in out


def test_3_where_a_scenario_could_notice_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It does not come out as it must with every control in place."""
    folder = tmp_path / "support" / "adversarial"
    folder.mkdir(parents=True)
    good = json.loads(Path(BLOCKED).read_text("utf-8"))
    bad = json.loads(Path(BLOCKED).read_text("utf-8"))
    bad["id"] = "another-001"
    bad["expectations"]["response"]["deterministic"]["must_reference"] = ["A-9999"]
    text = "".join(f"{json.dumps(each)}\n" for each in (good, bad))
    (folder / "two.jsonl").write_text(text, "utf-8")

    code = against("--only", "authorisation", scenarios=str(tmp_path))

    assert code == 3
    assert "another-001 was left out: with every control in place, fail" in capsys.readouterr().out


def test_the_reports_are_written(tmp_path: Path) -> None:
    """Markdown, one page, and JSON that can be read again."""
    names = ("m.md", "m.html", "m.json")
    options = [f"--{name.partition('.')[2]}-out={tmp_path / name}" for name in names]

    code = against("--only", "authorisation", "--only", "redaction", *options)

    value = json.loads((tmp_path / "m.json").read_bytes())
    assert code == 0
    assert (tmp_path / "m.md").read_text("utf-8").startswith("`support@1.1 with the agent ref")
    assert (tmp_path / "m.html").read_text("utf-8").startswith("<!doctype html>")
    assert value["schema"] == "arh.kill-matrix/1.0"
    assert [(row["control"], row["status"]) for row in value["rows"]] == [
        ("authorisation", "killed"),
        ("redaction", "not applicable"),
    ]


def test_4_where_a_report_cannot_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is said which, and no exit code claims a result."""
    code = against("--only", "scopes", "--md-out", str(tmp_path / "nowhere" / "m.md"))

    assert code == 4
    assert "cannot be written: No such file or directory" in capsys.readouterr().err


def test_2_for_what_means_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """An unknown pack, an unknown control, an option of a pack without one."""
    assert typed("--against", "suport") == 2
    assert "did you mean `support`" in capsys.readouterr().err
    assert against("--only", "scope") == 2
    assert "did you mean `scopes`" in capsys.readouterr().err
    assert typed("--only", "agents.says-done", "--html-out", "x.html") == 2
    assert "without --against" in capsys.readouterr().err


AGENT = f"{sys.executable} {ROOT / 'examples/agents/support_agent.py'}"


def test_an_agent_is_named_in_the_place_of_a_pack(capsys: pytest.CaptureFixture[str]) -> None:
    """The controls around it are broken, on the scenarios that are named."""
    words = ("--scenarios", BLOCKED, *SUITE, "--only", "authorisation")

    assert typed("--against", AGENT, *words) == 0
    assert "authorisation        killed by guardrail" in capsys.readouterr().out


def test_one_agent_is_enough(capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody guesses which of two is meant."""
    assert typed("--against", AGENT, "--agent", AGENT) == 2
    assert "one agent, here or there" in capsys.readouterr().err


def test_the_controls_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """With what is broken about each."""
    code = typed("--against", "support", "--list")

    out = capsys.readouterr().out
    assert code == 0
    assert len(out.splitlines()) == len(CONTROLS)
    assert "scopes               a caller without the scope is allowed\n" in out


@pytest.mark.slow
def test_the_agent_may_be_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    """Its scenarios run with the broken control, and it keeps limits of its own."""
    agent = f"{sys.executable} {ROOT / 'examples/agents/support_agent.py'}"
    only = ("--only", "attempt-log", "--only", "budgets")

    code = against(*only, "--agent", agent, scenarios=GOLDEN)

    out = capsys.readouterr().out
    assert code == 0
    assert "attempt-log          killed by golden-billing-incident-001" in out
    assert "budgets              not applicable: the agent is not the reference one" in out
