"""Rules of category `grounding`: what responses that need grounding cite.

The category's score is the coverage, as a part of the minimum where one is set. A citation counts
if it is an object or a text that says something; whether its address is valid is a rule of its own.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit

from arh.canonical import JsonValue
from arh.traces.authoring.policy import Policy
from arh.traces.findings import Judged
from arh.traces.judging.facts import Facts, exact
from arh.traces.trace import Step

_PLAIN_ADDRESS: Final = re.compile(r"https?://[A-Za-z0-9.-]+(?:[/?#][A-Za-z0-9/?#&=%._~-]*)?")
_WHOLE: Final = Fraction(1)
_SCHEMES: Final = frozenset({"http", "https"})


def judge(facts: Facts, policy: Policy) -> tuple[Judged, Fraction | None]:
    """Return what is not grounded, and the coverage, `None` when nothing needs grounding."""
    judged = Judged("grounding")
    wanted = policy.grounding
    grounded = [
        step
        for step in facts.trace.steps
        if step.requires_grounding and step.type == "model_response"
    ]
    if not grounded:
        return judged, None
    cited = 0
    for step in grounded:
        if _cites(step, facts):
            cited += 1
        else:
            judged.add(
                "ARH-GRD-001",
                "the response needs grounding and cites nothing",
                facts.anchor(step),
                severity="error" if wanted.require_citations else "warning",
            )
        if wanted.require_valid_citation_urls:
            _judge_citations(judged, facts, step)
    coverage = _WHOLE if cited == len(grounded) else Fraction(cited, len(grounded))
    _judge_coverage(judged, coverage, exact_fraction(wanted.min_citation_coverage))
    judged.public_share = cited / len(grounded)
    if wanted.min_citation_coverage:
        judged.public_share = min(1.0, judged.public_share / wanted.min_citation_coverage)
    return judged, coverage


@lru_cache(maxsize=64)
def exact_fraction(number: float) -> Fraction:
    """Return the number that was written, as a fraction."""
    return Fraction(exact(number))


def _judge_coverage(judged: Judged, coverage: Fraction, least: Fraction) -> None:
    share = coverage if coverage is _WHOLE or not least else min(_WHOLE, coverage / least)
    judged.applicable = True
    judged.passed, judged.total = share.numerator, share.denominator
    if coverage < least:
        judged.add(
            "ARH-GRD-002",
            f"{float(coverage):.2%} of the responses that need grounding cite anything",
            expected=f">= {float(least):.2%}",
            observed=f"{float(coverage):.2%}",
        )


def _cites(step: Step, facts: Facts) -> bool:
    if facts.compat:
        return bool(step.citations)
    return any(
        isinstance(each, dict) or (isinstance(each, str) and each.strip())
        for each in step.citations
    )


def _judge_citations(judged: Judged, facts: Facts, step: Step) -> None:
    for at, citation in enumerate(step.citations, 1):
        if not _is_valid(citation):
            judged.add(
                "ARH-GRD-003",
                f"citation {at} has neither a valid http(s) address nor a source",
                facts.anchor(step),
                expected="a `url` with http or https and a host, or a `source`",
                observed="neither",
                subject=str(at),
            )


def _is_valid(citation: JsonValue) -> bool:
    """Return whether a citation names an address, or a source where it has no address."""
    if not isinstance(citation, dict):
        return False
    url, source = citation.get("url"), citation.get("source")
    if url is not None:
        return isinstance(url, str) and _is_address(url)
    return isinstance(source, str) and bool(source.strip())


def _is_address(url: str) -> bool:
    if _PLAIN_ADDRESS.fullmatch(url):
        return True
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in _SCHEMES and bool(parts.netloc)
