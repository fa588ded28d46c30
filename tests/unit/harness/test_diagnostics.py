"""Own trouble is said on the error stream, a line each; a run without any says nothing."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from dataclasses import replace
from typing import NoReturn

import pytest

from arh.harness import exits
from arh.harness.diagnostics import EVALUATOR_FAILED, HARNESS_FAILED, Diagnostics
from arh.records.control.verdict import EvaluationResult, ScenarioVerdict
from arh.telemetry.logs import logger

PASSED = ScenarioVerdict(
    scenario_id="buy-001",
    run_id="run-buy-001-1",
    role="acceptance",
    category="golden",
    risk_class="medium",
    status="pass",
    levels=(),
    results=(EvaluationResult("outcome", "1.0", "pass", "all of 3 checks hold"),),
    reasons=(),
    termination="completed",
    replay="arh run shop/buy.jsonl:1",
    location="shop/buy.jsonl:1",
)


def said(*verdicts: ScenarioVerdict, not_redacted: int = 0, not_sent: int = 0) -> list[object]:
    """Return what was written about the verdicts and in the end, read."""
    stream = io.StringIO()
    own = Diagnostics(lambda: logger(stream, as_json=True, stamped=False))
    for verdict in verdicts:
        own.heard(verdict)
    own.finished(not_redacted=not_redacted, not_sent=not_sent)
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_run_without_trouble_says_nothing_and_makes_no_logger() -> None:
    """An agent that fails is no trouble of ours either."""
    own = Diagnostics(lambda: pytest.fail("a logger was made"))

    own.heard(PASSED)
    own.heard(replace(PASSED, status="fail", reasons=("outcome: a credit is missing",)))
    own.finished(not_redacted=0, not_sent=0)


def test_an_evaluator_that_failed_is_named_with_its_error() -> None:
    """By the type of the exception, never its text."""
    failed = EvaluationResult("mine", "1.0", "error", "the evaluator failed: KeyError")

    assert said(replace(PASSED, status="error", results=(*PASSED.results, failed))) == [
        {
            "event": EVALUATOR_FAILED,
            "level": "error",
            "part": "mine",
            "run": "run-buy-001-1",
            "why": "the evaluator failed: KeyError",
        }
    ]


def test_a_run_that_broke_in_the_harness_is_named() -> None:
    """It has no results to say so."""
    broke = replace(
        PASSED,
        status="error",
        results=(),
        reasons=("the harness failed: OSError",),
        termination="harness_error",
    )

    assert said(broke) == [
        {
            "event": HARNESS_FAILED,
            "level": "error",
            "part": "harness",
            "run": "run-buy-001-1",
            "why": "the harness failed: OSError",
        }
    ]


def test_what_was_not_redacted_or_sent_is_counted_once() -> None:
    """As warnings: neither changes a verdict."""
    found = said(PASSED, not_redacted=2, not_sent=30)

    assert [(e["level"], e["count"]) for e in found if isinstance(e, dict)] == [
        ("warning", 2),
        ("warning", 30),
    ]


def crash(_words: object) -> NoReturn:
    """Fail as no command should."""
    raise RuntimeError("password=hunter2-and-more")


@pytest.mark.parametrize(("ci", "first"), [("true", "{"), ("", "2")])
def test_a_crash_is_said_without_secrets(
    ci: str, first: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As JSON in CI and as lines elsewhere, each with the traceback."""
    monkeypatch.setenv("CI", ci)

    assert exits.guarded(crash, []) == exits.CRASHED

    told = capsys.readouterr().err
    assert told.startswith(first)
    assert exits.NO_VERDICT in told
    assert "RuntimeError" in told
    assert "hunter2" not in told


def test_a_crash_that_cannot_be_logged_is_no_verdict_either() -> None:
    """Its exit code is that of a crash, whatever is broken."""
    code = (
        "import sys; sys.modules['structlog'] = None\n"
        "from arh.harness.exits import guarded\n"
        "sys.exit(guarded(lambda words: 1 // 0, []))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode == exits.CRASHED
    assert "ZeroDivisionError" in done.stderr
    assert exits.NO_VERDICT in done.stderr
