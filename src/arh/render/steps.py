"""One run, step by step, in plain lines: what was said, asked, decided, done and found.

Every text that came from outside is made safe and cut; the evidence itself is on disk.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from arh.errors import safe
from arh.records.control.evidence import Event
from arh.records.control.verdict import ScenarioVerdict

TEXT_CHARS_MAX = 400

Data = Mapping[str, Any]


def run_lines(events: tuple[Event, ...]) -> Iterator[str]:
    """Yield a line for each event that a reader can follow the run by."""
    for event in events:
        told = _TELLERS.get(event.kind)
        if told is not None:
            yield f"{event.at_ms:>7} ms  {_who(event)}{_told(told, event)}"


def verdict_lines(verdict: ScenarioVerdict) -> Iterator[str]:
    """Yield the verdict: status, levels, every finding with its proof, and how to run it again."""
    yield f"verdict  {verdict.status}"
    for level, status in verdict.levels:
        yield f"  {level:<9} {status}"
    for result in verdict.results:
        yield f"  {result.evaluator}: {result.status}"
        for finding in result.findings:
            yield f"    {finding.severity} {finding.rule}: {_cut(finding.message)}"
            if finding.expected or finding.found:
                yield f"      expected {_cut(finding.expected)}; found {_cut(finding.found)}"
    for reason in verdict.reasons:
        yield f"  because {_cut(reason)}"
    yield f"path     {_cut(verdict.path)}"
    for claim in verdict.claims:
        yield f"effect   {_cut(claim)}"


def _told(tell: Callable[[Data], str], event: Event) -> str:
    """Return what an event says; one that could not be redacted keeps nothing to be told."""
    if event.data.get("redaction_failed"):
        return f"{event.kind}: an entry that could not be redacted"
    return tell(event.data)


def _who(event: Event) -> str:
    return f"[{safe(event.actor)}] " if event.actor else ""


def _started(data: Data) -> str:
    return f"run {data['run']} of {data['scenario']}, seed {data['seed']}"


def _said(data: Data) -> str:
    return f"{data['role']}: {_cut(data['text'])}"


def _answered(data: Data) -> str:
    match data["decision"]:
        case "calls":
            calls = "; ".join(f"{tool} {text}" for _, tool, text in data["requests"])
            return f"model: calls {_cut(calls)}"
        case "final":
            return f"model: final {_cut(_plain(data['answer']))}"
        case other:
            return f"model: {other} {_cut(str(data.get('text', '')))}"


def _called(data: Data) -> str:
    decision = data["decision"] or {}
    allowed = decision.get("status", "not decided")
    why = decision.get("cause") or decision.get("reason", "")
    result = "" if data["result"] is None else f" {_plain(data['result'])}"
    belief = data["commit_belief"]
    believed = "" if belief == "not_applicable" else f", {belief}"
    text = f"{data['tool']}: {allowed} {why} -> {data['status']} {data['reason']}{believed}{result}"
    return _cut(f"gateway: {text}")


def _changed(data: Data) -> str:
    changes = [c for c in data["changes"] if not str(c["collection"]).startswith("_")]
    told = ", ".join(f"{c['collection']}/{c['key']} rev {c['revision_after']}" for c in changes)
    return _cut(f"store: commit {data['sequence']} by {data['tool']}: {told}")


def _checked(data: Data) -> str:
    broken = [f"{name}: {found}" for name, holds, found in data["results"] if holds is not True]
    return _cut(f"invariants: {'; '.join(broken) or 'hold'}")


def _injected(data: Data) -> str:
    return _cut(f"fault: {data.get('fault')} {data.get('phase')} {data.get('effect')}")


def _refused(data: Data) -> str:
    return f"supervisor: {data['budget']}, {data['needed']} needed, {data['limit']} allowed"


def _stuck(data: Data) -> str:
    return _cut(f"supervisor: {data['pattern']}: {data['detail']}")


def _finished(data: Data) -> str:
    return _cut(f"agent: {data['termination']} {_plain(data['answer'])} {data['detail']}")


def _ended(data: Data) -> str:
    return _cut(f"run ended: {data['termination']} {data['stopped_by']} {data['detail']}")


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _cut(text: str) -> str:
    return safe(text, chars_max=TEXT_CHARS_MAX)


_TELLERS = {
    "run_started": _started,
    "user_said": _said,
    "model_answered": _answered,
    "tool_call": _called,
    "state_changed": _changed,
    "invariant_checked": _checked,
    "fault_injected": _injected,
    "budget_refused": _refused,
    "progress_stopped": _stuck,
    "agent_finished": _finished,
    "run_ended": _ended,
}
