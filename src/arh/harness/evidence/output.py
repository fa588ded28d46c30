"""What one run leaves: its written lines, and the evidence that they hold."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from arh.harness.evidence.evidence import build_evidence, read_own
from arh.records.control.evidence import Evidence, StateView
from arh.records.faults import FaultPlan


@dataclass(frozen=True)
class RunOutput:
    """The written lines of one run, the initial state that they refer to, and the chain's root."""

    run_id: str
    lines: tuple[bytes, ...] = field(repr=False)
    root: str
    initial: bytes = field(repr=False)
    state: StateView = field(repr=False)
    faults: tuple[FaultPlan, ...] = ()

    @property
    def initial_digest(self) -> str:
        """The digest of the initial state."""
        return self.state.digest

    @cached_property
    def evidence(self) -> Evidence:
        """What the lines say, read when first asked for: a third of what the run itself costs."""
        return build_evidence(
            self.run_id, self.lines, self.state, faults=self.faults, read=read_own
        )
