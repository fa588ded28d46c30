"""A fault as the controlled environment arms it: which dependency fails, when, how.

Plain fields with plain names, so that the environment needs nothing of the control plane; the table
in `arh.sim.fault_table` says which combinations mean something.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FaultPlan:
    """One scheduled fault; `trigger` is first, nth (the 1-based `invocation`) or always.

    `target_name` is the tool's name, for a state store the collection's, and empty for any. `ms` is
    how long the symptom takes; without it a timeout takes all the time that its caller has.
    `hidden_outcome` (committed, not_committed) settles what a lost reply hides.
    """

    id: str
    target_type: str
    phase: str
    effect: str
    target_name: str = ""
    trigger: str = "first"
    invocation: int | None = None
    ms: int | None = None
    retry_after_ms: int | None = None
    hidden_outcome: str | None = None
    raw: str | None = None
    keep_fields: tuple[str, ...] | None = None
    revisions_back: int | None = None

    def strikes(self, count: int) -> bool:
        """Return true if the `count`-th matching call is to be struck."""
        if self.trigger == "always":
            return True
        return count == (self.invocation if self.trigger == "nth" else 1)
