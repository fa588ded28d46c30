"""SARIF 2.1.0, as code scanning takes it: a result for each finding, at the line of its step.

Addresses are relative and percent-encoded, equal findings have fingerprints of their own, and more
results than a scanner takes are counted and not written.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from typing import Final
from urllib.parse import quote

from arh import __version__
from arh.canonical import JsonValue
from arh.render.text import console
from arh.traces.findings import Finding
from arh.traces.registry import RULES, Rule
from arh.traces.rendering.run import Placed, TraceRun, Unjudged, in_order

RESULTS_MAX: Final = 5_000
SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
FINGERPRINT: Final = "arhFingerprint/v1"
SUBJECT_FINGERPRINT: Final = "arhFingerprint/v2"
_LEVELS: Final = {"error": "error", "warning": "warning", "info": "note"}

Fields = dict[str, JsonValue]


def sarif_report(run: TraceRun) -> str:
    """Return the log as JSON text in ASCII."""
    return json.dumps(sarif_log(run), indent=2, allow_nan=False)


def sarif_log(run: TraceRun) -> Fields:
    """Return the log: one run, every rule of the registry, the findings of all traces."""
    found = [(placed, each) for placed in run.placed for each in in_order(placed.report.findings)]
    seen: Counter[str] = Counter()
    results = [_result(placed, finding, seen) for placed, finding in found[:RESULTS_MAX]]
    kept = sum(sum(placed.report.findings_cut.values()) for placed in run.placed)
    omitted = len(found) - len(results) + kept
    log: Fields = {
        "tool": {"driver": _driver()},
        "results": [*results],
        "invocations": [_invocation(run)],
        "properties": {"traces": len(run.placed), "results_omitted": omitted},
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [log]}


def _driver() -> Fields:
    return {
        "name": "agent-reliability-harness",
        "version": __version__,
        "rules": [_rule(rule) for rule in sorted(RULES.values(), key=lambda rule: rule.id)],
    }


def _rule(rule: Rule) -> Fields:
    return {
        "id": rule.id,
        "name": rule.id.replace("-", ""),
        "shortDescription": {"text": rule.meaning},
        "help": {"text": rule.remedy},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"category": rule.category},
    }


def _result(placed: Placed, finding: Finding, seen: Counter[str]) -> Fields:
    report, step = placed.report, finding.step_id
    where = f" (trace {console(report.trace_id)}{_of_step(finding)})"
    location: Fields = {"physicalLocation": _place(placed, finding)}
    if step is not None:
        location["logicalLocations"] = [{"name": console(step), "kind": "member"}]
    return {
        "ruleId": finding.rule_id,
        "ruleIndex": _INDEX[finding.rule_id],
        "level": _LEVELS[finding.severity],
        "message": {"text": f"{console(finding.message)}{where}"},
        "locations": [location],
        "partialFingerprints": _fingerprints(placed, finding, seen),
    }


def _of_step(finding: Finding) -> str:
    return "" if finding.step_id is None else f", step {console(finding.step_id)}"


def _place(placed: Placed, finding: Finding) -> Fields:
    uri = placed.uri or f"traces/{placed.report.trace_id}.json"
    place: Fields = {"artifactLocation": {"uri": encoded(uri)}}
    line = dict(placed.lines).get(finding.step_id or "", placed.line)
    if line is not None:
        place["region"] = {"startLine": line}
    return place


def _fingerprints(placed: Placed, finding: Finding, seen: Counter[str]) -> Fields:
    """Return the published fingerprint, and ours, which no two results share."""
    parts = (
        placed.report.trace_id,
        finding.rule_id,
        finding.category,
        finding.step_id or "",
    )
    published = "|".join(parts)
    own = "\0".join((*parts, finding.subject or ""))
    seen[own] += 1
    numbered = f"{own}\0{seen[own]}".encode("utf-8", "surrogatepass")
    return {
        FINGERPRINT: console(published),
        SUBJECT_FINGERPRINT: hashlib.sha256(numbered).hexdigest(),
    }


def _invocation(run: TraceRun) -> Fields:
    """Return whether everything could be judged; each input that could not is a notification."""
    notifications = [_notification(each) for each in run.unjudged[:RESULTS_MAX]]
    return {
        "executionSuccessful": not run.unjudged,
        "toolExecutionNotifications": [*notifications],
    }


def _notification(unjudged: Unjudged) -> Fields:
    place: Fields = {"artifactLocation": {"uri": encoded(unjudged.uri)}}
    if unjudged.line is not None:
        place["region"] = {"startLine": unjudged.line}
    return {
        "level": "error",
        "message": {"text": console(unjudged.reason)},
        "locations": [{"physicalLocation": place}],
    }


def encoded(path: str) -> str:
    """Return a path as a relative URI reference: percent-encoded, no scheme, no way up."""
    parts = path.replace("\\", "/").split("/")
    kept = [part for part in parts if part not in ("", ".", "..")]
    return "/".join(quote(part.encode("utf-8", "surrogateescape"), safe="") for part in kept)


def _indices() -> Iterator[tuple[str, int]]:
    yield from ((rule, at) for at, rule in enumerate(sorted(RULES)))


_INDEX: Final = dict(_indices())
