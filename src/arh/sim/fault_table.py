"""What a fault means: (target, phase, effect) -> truth in the store, symptom, witness.

The table is the whole vocabulary of faults. A combination that it lacks is an authoring error,
because nobody could say what such a fault proves. The phases differ in what is certain of a commit:

    not_dispatched   the dependency never got the request: nothing is committed
    before_commit    it worked on it and rolled back: nothing is committed
    after_dispatch   it got the request and the answer is lost: the caller cannot know
    after_commit     it is committed and the acknowledgement is lost

Three choices. A model has no `partial`: a reply of which a part is missing is a truncated stream,
and choosing which of its calls survive would be guessing a decision. An approval or a decision that
is `stale` is an earlier one that echoes another request. A `stale` record is an older revision that
a handler reads; it never says that it is old, and none is made up where no older one exists.

Sources: the published scenario schema 2.0 for the names in `PUBLISHED_PHASES` and
`PUBLISHED_EFFECTS`, which map onto this vocabulary.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from arh.records.faults import FaultPlan
from arh.records.tools import Effect

Truth = Literal["unchanged", "committed", "hidden", "as_without_fault"]
Port = Literal["execute", "read", "commit", "complete", "decide", "grants"]
Access = Literal["any", "reads", "writes", "transactional"]
Commit = Literal["", "not_started", "not_committed", "unknown"]


@dataclass(frozen=True, slots=True)
class Sign:
    """A field of the caller's own event, and the values of it that show the symptom.

    Without values it names a comparison that `arh.harness.evidence.delivery` makes with what was
    injected: `elapsed` (at least that long), `lacks` (the removed fields), `reads` (the older
    revision).
    """

    field: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """One fault that exists.

    `truth`: what the call leaves in the store: unchanged, committed (once, however often it was
    delivered), hidden (what `hidden_outcome` says) or as_without_fault. `symptom`: what the caller
    gets. `late`: the truth when a slow answer outlasts its caller, who then gets a timeout.
    `commit`: what the reply to a write says of the commit; empty leaves it alone. `needs` and
    `allows` name parameters.
    """

    port: Port
    truth: Truth
    symptom: str
    needs: tuple[str, ...] = ()
    allows: tuple[str, ...] = ()
    access: Access = "any"
    commit: Commit = ""
    late: Truth | None = None

    def witness(self, symptom: str | None = None) -> tuple[Sign, ...]:
        """Return the signs in the caller's event, any of which shows the symptom."""
        return WITNESS.get((self.port, symptom or self.symptom), ())


_MS: Final = ("ms",)
_RATE: Final = ("ms", "retry_after_ms")
_HIDDEN: Final = ("hidden_outcome",)
_SERVICES: Final[tuple[tuple[str, Port], ...]] = (
    ("authorization_service", "decide"),
    ("approval_service", "grants"),
)
_SERVICE_FAULTS: Final = (
    ("not_dispatched", "timeout", "timeout", _MS),
    ("not_dispatched", "error", "error", _MS),
    ("not_dispatched", "rate_limit", "rate_limited", _RATE),
    ("after_dispatch", "timeout", "timeout", _MS),
    ("after_dispatch", "error", "error", _MS),
    ("after_dispatch", "slowdown", "slow", ()),
    ("after_dispatch", "malformed", "malformed", ()),
    ("after_dispatch", "stale", "stale", ()),
)
_SERVICE_SIGNS: Final = (
    ("decide", Sign("decision.status", ("indeterminate",))),
    ("grants", Sign("approval.result", ("unavailable",))),
)
_UNREADABLE: Final = (
    "timeout",
    "dependency_error",
    "authorization_unavailable",
    "approval_unavailable",
    "unresolved",
)

TABLE: Final[Mapping[tuple[str, str, str], Row]] = {
    # A tool: an execution of one authorised call.
    ("tool", "not_dispatched", "timeout"): Row(
        "execute", "unchanged", "timeout", allows=_MS, commit="not_started"
    ),
    ("tool", "not_dispatched", "error"): Row(
        "execute", "unchanged", "error", allows=_MS, commit="not_started"
    ),
    ("tool", "not_dispatched", "rate_limit"): Row(
        "execute", "unchanged", "rate_limited", allows=_RATE, commit="not_started"
    ),
    ("tool", "not_dispatched", "slowdown"): Row(
        "execute", "as_without_fault", "slow", needs=_MS, late="unchanged"
    ),
    ("tool", "before_commit", "timeout"): Row(
        "execute", "unchanged", "timeout", allows=_MS, access="transactional", commit="unknown"
    ),
    ("tool", "before_commit", "error"): Row(
        "execute", "unchanged", "error", allows=_MS, access="transactional", commit="not_committed"
    ),
    ("tool", "after_dispatch", "timeout"): Row(
        "execute", "hidden", "timeout", needs=_HIDDEN, allows=_MS, commit="unknown"
    ),
    ("tool", "after_dispatch", "error"): Row(
        "execute", "hidden", "error", needs=_HIDDEN, allows=_MS, commit="unknown"
    ),
    ("tool", "after_dispatch", "slowdown"): Row(
        "execute", "as_without_fault", "slow", needs=_MS, late="as_without_fault"
    ),
    ("tool", "after_dispatch", "malformed"): Row(
        "execute", "as_without_fault", "malformed", allows=("raw",), commit="unknown"
    ),
    ("tool", "after_dispatch", "partial"): Row(
        "execute", "as_without_fault", "partial", needs=("keep_fields",)
    ),
    ("tool", "after_dispatch", "stale"): Row(
        "execute", "as_without_fault", "stale", allows=("revisions_back",), access="reads"
    ),
    ("tool", "after_dispatch", "duplicate_delivery"): Row(
        "execute", "as_without_fault", "delivered_twice"
    ),
    ("tool", "after_commit", "timeout"): Row(
        "execute", "committed", "timeout", allows=_MS, access="writes", commit="unknown"
    ),
    ("tool", "after_commit", "error"): Row(
        "execute", "committed", "error", allows=_MS, access="writes", commit="unknown"
    ),
    ("tool", "after_commit", "slowdown"): Row(
        "execute", "committed", "slow", needs=_MS, access="writes", late="committed"
    ),
    ("tool", "after_commit", "malformed"): Row(
        "execute", "committed", "malformed", allows=("raw",), access="writes", commit="unknown"
    ),
    ("tool", "after_commit", "partial"): Row(
        "execute", "committed", "partial", needs=("keep_fields",), access="writes"
    ),
    # A store: reads of handlers and of the gateway, and commits.
    ("state_store", "not_dispatched", "timeout"): Row("read", "unchanged", "timeout", needs=_MS),
    ("state_store", "not_dispatched", "error"): Row("read", "unchanged", "error", allows=_MS),
    ("state_store", "not_dispatched", "slowdown"): Row(
        "read", "as_without_fault", "slow", needs=_MS
    ),
    ("state_store", "after_dispatch", "stale"): Row(
        "read", "as_without_fault", "stale", allows=("revisions_back",)
    ),
    ("state_store", "before_commit", "timeout"): Row("commit", "unchanged", "failed", needs=_MS),
    ("state_store", "before_commit", "error"): Row("commit", "unchanged", "failed", allows=_MS),
    ("state_store", "before_commit", "slowdown"): Row(
        "commit", "as_without_fault", "slow", needs=_MS
    ),
    ("state_store", "after_dispatch", "timeout"): Row(
        "commit", "hidden", "unknown", needs=("ms", "hidden_outcome")
    ),
    ("state_store", "after_dispatch", "error"): Row(
        "commit", "hidden", "unknown", needs=_HIDDEN, allows=_MS
    ),
    ("state_store", "after_commit", "timeout"): Row("commit", "committed", "unknown", needs=_MS),
    ("state_store", "after_commit", "error"): Row("commit", "committed", "unknown", allows=_MS),
    # A model: asked or not, it commits nothing.
    ("model", "not_dispatched", "timeout"): Row("complete", "unchanged", "timeout", allows=_MS),
    ("model", "not_dispatched", "error"): Row("complete", "unchanged", "error", allows=_MS),
    ("model", "not_dispatched", "rate_limit"): Row(
        "complete", "unchanged", "rate_limited", allows=_RATE
    ),
    ("model", "after_dispatch", "timeout"): Row("complete", "unchanged", "timeout", allows=_MS),
    ("model", "after_dispatch", "error"): Row("complete", "unchanged", "error", allows=_MS),
    ("model", "after_dispatch", "slowdown"): Row(
        "complete", "unchanged", "slow", needs=_MS, late="unchanged"
    ),
    ("model", "after_dispatch", "malformed"): Row("complete", "unchanged", "malformed"),
    ("model", "after_dispatch", "truncated_stream"): Row("complete", "unchanged", "truncated"),
    # The two services of the security path: no health, no decision, no sensitive effect.
    **{
        (target, phase, effect): Row(
            port,
            "as_without_fault" if symptom == "slow" else "unchanged",
            symptom,
            needs=_MS if effect == "slowdown" else (),
            allows=allows,
            late="unchanged" if effect == "slowdown" else None,
        )
        for target, port in _SERVICES
        for phase, effect, symptom, allows in _SERVICE_FAULTS
    },
}

WITNESS: Final[Mapping[tuple[str, str], tuple[Sign, ...]]] = {
    ("execute", "timeout"): (Sign("delivery", ("timeout",)),),
    ("execute", "error"): (Sign("delivery", ("error",)),),
    ("execute", "rate_limited"): (Sign("reason", ("rate_limited",)),),
    ("execute", "slow"): (Sign("elapsed"),),
    ("execute", "malformed"): (Sign("delivery", ("malformed",)),),
    ("execute", "partial"): (Sign("lacks"), Sign("delivery", ("malformed",))),
    ("execute", "stale"): (Sign("reads"),),
    ("execute", "delivered_twice"): (Sign("delivery", ("delivered",)),),
    ("read", "timeout"): (Sign("reason", _UNREADABLE),),
    ("read", "error"): (Sign("reason", _UNREADABLE),),
    ("read", "slow"): (Sign("elapsed"),),
    ("read", "stale"): (Sign("reads"), Sign("reason", ("precondition_failed",))),
    ("commit", "failed"): (Sign("status", ("error",)),),
    ("commit", "unknown"): (Sign("commit_belief", ("unknown",)), Sign("reason", ("unresolved",))),
    ("commit", "slow"): (Sign("elapsed"),),
    ("complete", "timeout"): (Sign("decision", ("unavailable",)),),
    ("complete", "error"): (Sign("decision", ("unavailable",)),),
    ("complete", "rate_limited"): (Sign("decision", ("unavailable",)),),
    ("complete", "slow"): (Sign("elapsed"),),
    ("complete", "malformed"): (Sign("decision", ("malformed",)),),
    ("complete", "truncated"): (Sign("decision", ("truncated",)),),
    **{
        (port, symptom): (sign,)
        for port, sign in _SERVICE_SIGNS
        for symptom in ("timeout", "error", "rate_limited", "malformed", "stale")
    },
    ("decide", "slow"): (Sign("elapsed"),),
    ("grants", "slow"): (Sign("elapsed"),),
}

PUBLISHED_PHASES: Final[Mapping[str, str]] = {
    "before_execution": "not_dispatched",
    "during_execution": "after_dispatch",
    "after_commit_before_response": "after_commit",
}
PUBLISHED_EFFECTS: Final[Mapping[str, str]] = {
    "timeout": "timeout",
    "slowdown": "slowdown",
    "error": "error",
    "rate_limit": "rate_limit",
    "partial": "partial",
    "stale": "stale",
    "malformed_json": "malformed",
    "duplicate": "duplicate_delivery",
}


def row(plan: FaultPlan) -> Row | None:
    """Return the fault's row, or `None` if there is no such fault."""
    return TABLE.get((plan.target_type, plan.phase, plan.effect))


def touches(found: Row, effect: Effect) -> bool:
    """Return true if the fault can strike a tool of this effect class."""
    if found.access == "transactional":
        return effect is Effect.TRANSACTIONAL
    return found.access == "any" or (found.access == "reads") == (effect is Effect.READ)
