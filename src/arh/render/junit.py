"""The verdicts as JUnit XML, which every CI system shows.

A suite for each category, a case for each run. Only a failure of the agent is a `failure`; what
could not be judged is an `error`, a run that does not count is `skipped`, and a control that
behaves as it must is a passing case, also where it must fail.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from arh.records.control.scorecard import Scorecard
from arh.records.control.verdict import Excused, ScenarioVerdict
from arh.render.failures import failure_lines
from arh.render.text import xml

Kind = Literal["failure", "error", "skipped", ""]
_KINDS: Final[Mapping[str, Kind]] = {"pass": "", "fail": "failure", "inconclusive": "error"}


def junit(scorecard: Scorecard, verdicts: Sequence[ScenarioVerdict]) -> bytes:
    """Return the XML document; well formed whatever the verdicts say."""
    behaved = {line.scenario_id: line.behaved for line in scorecard.controls}
    kinds = [(verdict, _kind(verdict, behaved)) for verdict in verdicts]
    decided = _KINDS[scorecard.decision.decision]
    root = Element("testsuites", {"name": "arh", **_counts([decided, *(k for _, k in kinds)])})
    _decision(root, scorecard, decided)
    for category in dict.fromkeys(verdict.category for verdict in verdicts):
        own = [(verdict, kind) for verdict, kind in kinds if verdict.category == category]
        counts = _counts([kind for _, kind in own])
        suite = SubElement(root, "testsuite", {"name": xml(category), **counts})
        for verdict, kind in own:
            _case(suite, verdict, kind)
    indent(root)
    document: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def _decision(root: Element, scorecard: Scorecard, kind: Kind) -> None:
    """Add the decision itself, so that a gate that failed shows beside scenarios that passed."""
    decided = scorecard.decision
    suite = SubElement(root, "testsuite", {"name": "release gate", **_counts([kind])})
    case = SubElement(suite, "testcase", {"classname": "release gate", "name": "decision"})
    if kind:
        about = {"message": xml(scorecard.subject), "type": decided.decision}
        SubElement(case, kind, about).text = xml("\n".join(decided.reasons))


def _kind(verdict: ScenarioVerdict, behaved: Mapping[str, bool]) -> Kind:
    if verdict.role == "unscored":
        return "skipped"
    if verdict.role in ("positive_control", "negative_control"):
        return "" if behaved.get(verdict.scenario_id, False) else "error"
    if verdict.status == "pass":
        return ""
    return "failure" if verdict.status == "fail" else "error"


def _counts(kinds: Sequence[Kind]) -> dict[str, str]:
    return {
        "tests": str(len(kinds)),
        "failures": str(kinds.count("failure")),
        "errors": str(kinds.count("error")),
        "skipped": str(kinds.count("skipped")),
    }


def _case(suite: Element, verdict: ScenarioVerdict, kind: Kind) -> None:
    about = {
        "classname": xml(f"{verdict.category}.{verdict.role}"),
        "name": xml(verdict.scenario_id),
        "file": xml(verdict.location),
    }
    case = SubElement(suite, "testcase", about)
    if verdict.excused:
        _excused(SubElement(case, "properties"), verdict.excused)
    if kind:
        reason = next(iter(verdict.reasons), verdict.status)
        found = {"message": xml(reason), "type": xml(verdict.status)}
        SubElement(case, kind, found).text = xml("\n".join(failure_lines(verdict)))


def _excused(properties: Element, excused: Sequence[Excused]) -> None:
    """Add what was left out of a verdict, so that a passing case tells what it passes over."""
    for each in excused:
        value = xml(f"{each.rule}, {each.count} found: {each.why}")
        SubElement(properties, "property", {"name": "excused by design", "value": value})
