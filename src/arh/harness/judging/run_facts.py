"""Counts of one run that belong to no evaluator: calls, tokens, delivered faults, complete records.

Part of judging: the result about the sources of evidence carries them, so that metrics add up facts
and never read evidence themselves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from arh.records.control.evidence import CallEvidence, CommitEvidence, Evidence
from arh.records.control.scorecard import CONFIGURATION
from arh.records.control.verdict import Fact
from arh.records.outcomes import Reason

_HEADER: Final = ("run", "scenario", "scenario_digest", "location", "plan", "workflow", "arh")
_OUTAGE: Final = frozenset({Reason.AUTHORIZATION_UNAVAILABLE, Reason.APPROVAL_UNAVAILABLE})


def run_facts(evidence: Evidence) -> tuple[Fact, ...]:
    """Return the counts that metrics and coverage add up, of a run of whatever scenario."""
    return (*_demand(evidence), *_by_tool(evidence), *_by_fault(evidence), *_records(evidence))


def _demand(evidence: Evidence) -> Iterator[Fact]:
    executed = sum(call.executed for call in evidence.calls)
    tokens = sum(each.input_tokens + each.output_tokens for each in evidence.exchanges)
    yield Fact("model_calls", len(evidence.exchanges), 1)
    yield Fact("tool_calls", len(evidence.calls), 1)
    yield Fact("tool_calls_executed", executed, 1)
    yield Fact("tokens", tokens, 1)


def _by_tool(evidence: Evidence) -> Iterator[Fact]:
    uses: dict[str, list[bool]] = {}
    for call in evidence.calls:
        uses.setdefault(call.tool, []).append(call.executed)
    for tool in sorted(uses):
        yield Fact("tool_use", sum(uses[tool]), len(uses[tool]), tool)


def _by_fault(evidence: Evidence) -> Iterator[Fact]:
    if not evidence.faults:
        return
    kinds = [(f"{f.target_type} {f.phase} {f.effect}", f.state) for f in evidence.faults]
    declared = Counter(kind for kind, _ in kinds)
    struck = Counter(kind for kind, state in kinds if state == "delivered")
    for kind in sorted(declared):
        yield Fact("fault_use", struck[kind], declared[kind], kind)


def _records(evidence: Evidence) -> Iterator[Fact]:
    fields = [
        *map(bool, map(evidence.header.get, _HEADER)),
        *map(bool, map(_configuration(evidence).get, CONFIGURATION)),
        bool(evidence.termination),
        *map(_is_complete_call, evidence.calls),
        *map(_is_complete_commit, evidence.commits),
    ]
    yield Fact("record_fields", sum(fields), len(fields))
    outages = [call for call in evidence.calls if _met_an_outage(call)]
    yield Fact("outages_held", sum(_held(call, evidence) for call in outages), len(outages))


def _configuration(evidence: Evidence) -> Mapping[str, object]:
    value = evidence.header.get("sue")
    return value if isinstance(value, Mapping) else {}


def _is_complete_call(call: CallEvidence) -> bool:
    """Return true if the attempt says what was tried, who decided, and why it ended as it did."""
    decision = call.decision
    decided = decision is None or decision.status == "indeterminate"
    traced = decided or bool(decision and decision.decision_id and decision.policy)
    return bool(call.tool and call.status and call.reason and traced)


def _is_complete_commit(commit: CommitEvidence) -> bool:
    """Return true if the effect can be traced: to its call, decision, subject and states."""
    return all(
        (
            commit.operation_id,
            commit.call_id,
            commit.decision_id,
            commit.argument_digest,
            commit.subject,
            commit.tenant,
            commit.state_before,
            commit.state_after,
        )
    )


def _met_an_outage(call: CallEvidence) -> bool:
    undecided = call.decision is not None and call.decision.status == "indeterminate"
    return undecided or call.reason in _OUTAGE


def _held(call: CallEvidence, evidence: Evidence) -> bool:
    """Return true if a call that met an outage of a control was told so and had no effect."""
    committed = any(c.call_id == call.call_id and c.effective for c in evidence.commits)
    return not call.executed and not committed
