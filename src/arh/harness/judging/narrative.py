"""One run told in a few lines.

The path with its faults, and decision -> effect -> claim for each write.

place_order!ack_lost -> place_order
place_order 2500 C-1007: denied insufficient_scope -> no effect -> claimed completed
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from arh.harness.judging.claims import Claim, claims_of
from arh.records.control.evidence import CallEvidence, Evidence, FaultEvidence
from arh.records.packs import WorkflowPack
from arh.records.tools import ToolManifest

STEPS_MAX = 24
# What an answer cannot truly say of an action that was never tried.
ASSERTED = frozenset({"completed", "failed", "pending", "unknown"})
LOST_REPLIES = frozenset({"timeout", "error"})


def path_line(evidence: Evidence) -> str:
    """Return the tools called, in order, each with the symptom its caller saw."""
    struck = {call: fault for fault in evidence.faults for call in fault.calls}
    steps = [_step(call, struck.get(call.call_id)) for call in evidence.calls]
    if len(steps) > STEPS_MAX:
        steps = [*steps[:STEPS_MAX], f"… {len(steps) - STEPS_MAX} more"]
    return " -> ".join(steps) or "no tool was called"


def _step(call: CallEvidence, fault: FaultEvidence | None) -> str:
    if fault is not None:
        return f"{call.tool}!{_symptom(call, fault)}"
    if call.executed:
        return f"{call.tool}={call.reason}" if call.reason != "ok" else call.tool
    return f"{call.tool}!{call.reason}"


def _symptom(call: CallEvidence, fault: FaultEvidence) -> str:
    """Return what the fault did to the call; a lost reply to a write by what is known of it."""
    if fault.effect not in LOST_REPLIES:
        return fault.effect
    if fault.phase == "after_commit":
        return "ack_lost"
    unknown = fault.phase == "after_dispatch" and call.commit_belief == "unknown"
    return "commit_unknown" if unknown else fault.effect


def claim_lines(evidence: Evidence, pack: WorkflowPack) -> tuple[str, ...]:
    """Return one line for each attempt at a write, and for each write that was only claimed.

    What was decided, what took effect, what was said.
    """
    writes = {name: pack.manifests[name] for name in pack.writing}
    claims = claims_of(evidence, pack)
    said = _said(claims)
    tried = [call for call in evidence.calls if call.tool in writes]
    lines = [
        f"{_subject(call, writes[call.tool])}: {_decided(call)} -> {_effect(call, evidence)}"
        f" -> {said.get(call.tool, 'nothing claimed')}"
        for call in tried
    ]
    invented = _said(c for c in claims if c.action in writes and c.status in ASSERTED)
    untried = invented.keys() - {call.tool for call in tried}
    lines += [f"{name}: not attempted -> no effect -> {invented[name]}" for name in sorted(untried)]
    return tuple(lines)


def _subject(call: CallEvidence, manifest: ToolManifest) -> str:
    arguments = call.arguments or {}
    shown = [manifest.amount_argument, *(r.argument for r in manifest.resources)]
    values = [str(arguments[name]) for name in shown if name and name in arguments]
    return " ".join([call.tool, *values])


def _decided(call: CallEvidence) -> str:
    if call.refused_by_budget:
        return f"refused by the agent's own {call.cause}"
    if call.decision is None:
        return f"rejected {call.reason}"
    if call.decision.status != "allow":
        return f"{_verb(call.decision.status)} {call.decision.cause or call.decision.reason}"
    approval = call.approval
    if approval is not None and approval.result != "not_required":
        return f"allowed, approval {approval.result}" + _why(approval.reason, approval.result)
    return "allowed"


def _verb(status: str) -> str:
    return "denied" if status == "deny" else "undecided"


def _why(reason: str, result: str) -> str:
    return f" ({reason})" if result != "granted" and reason else ""


def _effect(call: CallEvidence, evidence: Evidence) -> str:
    commit = evidence.commit_of(call.operation_id) if call.operation_id else None
    if commit is None:
        return "no effect"
    if commit.call_id != call.call_id:
        return f"no further effect (commit {commit.sequence})"
    keys = [str(c["key"]) for c in commit.changes if not str(c["collection"]).startswith("_")]
    lost = ", reply lost" if call.status == "error" else ""
    return f"committed {' '.join(keys)}{lost}"


def _said(claims: Iterable[Claim]) -> Mapping[str, str]:
    said: dict[str, list[str]] = {}
    for claim in claims:
        resource = f" {claim.resource_id}" if claim.resource_id else ""
        said.setdefault(claim.action, []).append(f"claimed {claim.status}{resource}")
    return {action: ", ".join(dict.fromkeys(lines)) for action, lines in said.items()}
