"""Says arh's own trouble on the error stream, a line each: it is no verdict on anybody's agent.

Reports hold it too, where a verdict is `error`; here it is seen at once, by whoever keeps arh
running. Only names of ours and of exception types are said, and secrets are taken out as
everywhere. A run without trouble says nothing, and never imports the library.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

from arh.records.control.verdict import ScenarioVerdict
from arh.telemetry.logs import Logger

EVALUATOR_FAILED = "an evaluator failed"
HARNESS_FAILED = "a run failed in the harness"
NOT_REDACTED = "events could not be redacted, and were kept without their data"
NOT_SENT = "spans did not reach the collector"


class Diagnostics:
    """What a command says of its own trouble."""

    def __init__(self, make: Callable[[], Logger]) -> None:
        """Say nothing yet; `make` is called when there is something to say."""
        self._make = make

    @cached_property
    def _log(self) -> Logger:
        return self._make()

    def heard(self, verdict: ScenarioVerdict) -> None:
        """Say what of arh or of a plug-in failed while one run was judged."""
        for event, part, why in _troubles(verdict):
            self._log.error(event, run=verdict.run_id, part=part, why=why)

    def finished(self, *, not_redacted: int, not_sent: int) -> None:
        """Say what failed over all runs, if anything did."""
        for event, count in ((NOT_REDACTED, not_redacted), (NOT_SENT, not_sent)):
            if count:
                self._log.warning(event, count=count)


def _troubles(verdict: ScenarioVerdict) -> Iterator[tuple[str, str, str]]:
    if verdict.termination == "harness_error":
        yield HARNESS_FAILED, "harness", "; ".join(verdict.reasons)
    for result in verdict.results:
        if result.status == "error":
            yield EVALUATOR_FAILED, result.evaluator, result.summary
