"""Scenarios as evidence holds them: redacted, and still readable.

A run is judged by the scenario as it is written, live as from disk, so that no finding tells what
evidence may not, and both come to one verdict. Nearly every scenario is written as it is.
"""

from __future__ import annotations

from dataclasses import replace

from arh.canonical import line
from arh.errors import AuthoringError, HarnessError
from arh.harness.evidence.recorder import Data, Redact
from arh.records.control.plan import Located, PlannedRun
from arh.records.control.scenario import Scenario


def written_scenario(run: PlannedRun, redact: Redact) -> tuple[bytes, PlannedRun]:
    """Return the line of a planned run's scenario, and the run with the scenario that it holds.

    Raises:
        AuthoringError: The scenario holds a secret without which it cannot be read.
        HarnessError: It could not be redacted: nothing of it may be written.
    """
    kept, judged = _written(run, redact)
    return line(kept), judged


def judged_by(run: PlannedRun, redact: Redact) -> PlannedRun:
    """Return the run with the scenario that evidence would hold of it.

    Raises:
        AuthoringError: The scenario holds a secret without which it cannot be read.
        HarnessError: It could not be redacted: nothing of it may be written.
    """
    return _written(run, redact)[1]


def _written(run: PlannedRun, redact: Redact) -> tuple[Data, PlannedRun]:
    """Return the row of a planned run's scenario, and the run with what the row holds."""
    located = run.located
    row: Data = {
        "run": run.run_id,
        "seed": run.seed,
        "trial": run.trial,
        "path": located.path,
        "line": located.line,
        "digest": located.digest,
        "scenario": located.scenario.model_dump(mode="json", exclude_unset=True),
    }
    kept = authored(redact, row)
    if kept == row:
        return kept, run
    return kept, replace(run, located=_reread(kept, located))


def authored(redact: Redact, data: Data) -> Data:
    """Return what of an author's data may be written.

    Raises:
        HarnessError: It could not be redacted: nothing of it may be written.
    """
    kept = redact("authored", data)
    if "redaction_failed" in kept:
        raise HarnessError("a scenario could not be redacted")
    return kept


def _reread(kept: Data, located: Located) -> Located:
    try:
        scenario = Scenario.model_validate_json(line(kept["scenario"]))
    except ValueError:
        raise AuthoringError.of(
            "a secret stands where the scenario cannot do without it",
            file=located.path,
            line=located.line,
            hint="put an invented name in its place",
        ) from None
    return replace(located, scenario=scenario)
