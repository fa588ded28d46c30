"""Holds the spans that were received against those that must be there.

What must be there is derived from the evidence of runner and gateway, never from the trace: a
system that omits an operation from its trace cannot hide it by omitting the claim as well. A gap in
telemetry is a finding on telemetry; outcomes are still judged from the store and the journal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from arh.records.control.evidence import CallEvidence, Evidence
from arh.telemetry import semconv as names
from arh.telemetry.spans import Attempt, RunFacts, Span, bounded

# A kind of span and what tells it from others of its kind, in bounded words.
Key = tuple[str, str]

_OPERATIONS: Final = "_operations"
_UNKNOWN_TOOL: Final = "unknown"
_INTERRUPTED: Final = "interrupted"
_REPLAYED: Final = "replayed"
_COMMITS: Final = ("committed", "not_committed", "unknown", "compensated")
_REFUSED: Final = ("arguments_unparsable", "arguments_invalid")
_DETAILS: Final[Mapping[str, tuple[str, ...]]] = {
    names.WORKFLOW: (names.TERMINATION,),
    names.AGENT_STEP: (),
    names.MODEL_CALL: ("arh.decision",),
    names.TOOL_REQUEST: (names.TOOL_NAME, "arh.tool.status", names.TOOL_REASON),
    names.ARGUMENT_VALIDATION: (names.TOOL_NAME, names.VALIDATION),
    names.AUTHORIZATION: (names.DECISION,),
    names.APPROVAL: ("arh.approval.result",),
    names.TOOL_EXECUTION: (names.TOOL_NAME,),
    names.STATE_COMMIT: (names.TOOL_NAME, names.COMMIT),
}


@dataclass(frozen=True, slots=True)
class Completeness:
    """How a trace compares with what must be in it.

    `missing` and `invented` are kinds with what tells them apart; a span that says something else
    than the evidence is both. `orphans` and `duplicated` are span ids. `disagreements` counts the
    effects of which trace and journal say opposite things, out of `effects`.
    """

    expected: int
    received: int
    missing: tuple[Key, ...]
    invented: tuple[Key, ...]
    orphans: tuple[str, ...]
    duplicated: tuple[str, ...]
    disagreements: int
    effects: int

    @property
    def complete(self) -> bool:
        """True if the trace is exactly what must be there."""
        wrong = (self.missing, self.invented, self.orphans, self.duplicated)
        return not any(wrong) and not self.disagreements

    def facts(self) -> dict[str, tuple[int, int]]:
        """Return numerator and denominator of each metric of the trace's quality."""
        return {
            "trace_completeness": (self.expected - len(self.missing), self.expected),
            "orphan_span_rate": (len(self.orphans), self.received),
            "trace_journal_disagreement": (self.disagreements, self.effects),
        }


def check(evidence: Evidence, received: Sequence[Span]) -> Completeness:
    """Return how the spans that arrived compare with the evidence of their run."""
    once = {span.span_id: span for span in received}
    expected = expected_spans(evidence)
    found = Counter(_key(span) for span in once.values() if _counts(span, evidence))
    claimed, journal = _claimed(once.values()), _journal(evidence)
    committed = Counter({tool: n for (tool, status), n in claimed.items() if status == "committed"})
    seen = Counter(span.span_id for span in received)
    return Completeness(
        expected=expected.total(),
        received=len(received),
        missing=tuple(sorted((expected - found).elements())),
        invented=tuple(sorted((found - expected).elements())),
        orphans=tuple(sorted(span.span_id for span in once.values() if _orphan(span, once))),
        duplicated=tuple(sorted(span_id for span_id, n in seen.items() if n > 1)),
        disagreements=_disagreements(claimed, journal),
        effects=(journal | committed).total(),
    )


def expected_spans(evidence: Evidence, *, agent_reports: bool | None = None) -> Counter[Key]:
    """Return every span that the run must have left, as a multiset.

    Unless told otherwise, the reference agent alone reports steps and model calls of its own; what
    the gateway does is reported whoever the agent is.
    """
    own = _agent(evidence) == "reference" if agent_reports is None else agent_reports
    keys = [(names.WORKFLOW, _words(evidence.termination))]
    if own:
        for exchange in evidence.exchanges:
            keys.append((names.AGENT_STEP, ""))
            keys.append((names.MODEL_CALL, _words(exchange.decision.replace("_", ""))))
    for attempt in evidence.calls:
        if not attempt.refused_by_budget:
            keys += _of_call(attempt)
    return Counter(keys)


def facts_of(evidence: Evidence) -> RunFacts:
    """Return what a run's spans are labelled with: its operations, attempts, injected delays."""
    sue = evidence.header.get("sue", {})
    return RunFacts(
        run_id=evidence.run_id,
        scenario_id=evidence.scenario_id,
        agent=_agent(evidence),
        model=str(sue.get("model", "")),
        termination=evidence.termination,
        clock=str(evidence.header.get("clock", "")),
        end_ms=evidence.events[-1].at_ms if evidence.events else 0,
        attempts=tuple(_attempts(evidence.calls)),
        delays=tuple(_delays(evidence)),
    )


def _of_call(attempt: CallEvidence) -> Iterator[Key]:
    """Yield the spans of one attempt, as far as it got by the gateway's own stages."""
    known = attempt.version and attempt.reason != "unknown_tool"
    tool = attempt.tool if known else _UNKNOWN_TOOL
    yield names.TOOL_REQUEST, _words(tool, attempt.status, attempt.reason)
    stages = {stage for stage, _ in attempt.stages}
    if stages & {"parsed", "validated"}:
        refused = attempt.reason in _REFUSED
        yield names.ARGUMENT_VALIDATION, _words(tool, "refused" if refused else "accepted")
    if attempt.decision is not None:
        yield names.AUTHORIZATION, _words(attempt.decision.status)
    if attempt.approval is not None and attempt.approval.result != "not_required":
        yield names.APPROVAL, _words(attempt.approval.result)
    if attempt.entered and attempt.cause != _INTERRUPTED:
        yield names.TOOL_EXECUTION, _words(tool)
    if attempt.commit_belief in _COMMITS:
        yield names.STATE_COMMIT, _words(tool, attempt.commit_belief)


def _attempts(calls: Iterable[CallEvidence]) -> Iterator[Attempt]:
    """Yield each attempt with the number of its operation in the run, and its own within that."""
    numbers: dict[object, int] = {}
    made: Counter[int] = Counter()
    for attempt in calls:
        if attempt.refused_by_budget:
            continue
        same = attempt.operation_id or (attempt.tool, attempt.argument_digest or attempt.call_id)
        number = numbers.setdefault(same, len(numbers) + 1)
        made[number] += 1
        yield Attempt(
            attempt.requested_ms,
            attempt.returned_ms,
            attempt.status,
            attempt.reason,
            number,
            made[number],
        )


def _delays(evidence: Evidence) -> Iterator[tuple[int, int]]:
    for event in evidence.events:
        if event.kind == "fault_injected":
            ms = event.data.get("parameters", {}).get("ms")
            if isinstance(ms, int) and ms > 0:
                yield event.at_ms, ms


def _key(span: Span) -> Key:
    details = _DETAILS.get(span.kind, ())
    return span.kind, "|".join(str(span.attributes.get(name, "")) for name in details)


def _words(*words: str) -> str:
    return "|".join(str(bounded(word)) for word in words)


def _counts(span: Span, evidence: Evidence) -> bool:
    """Return whether a span stands for what it says: a step left open only counts if stopped."""
    return not span.attributes.get(names.UNFINISHED) or bool(evidence.stopped_by)


def _orphan(span: Span, once: Mapping[str, Span]) -> bool:
    return bool(span.parent_id) and span.parent_id not in once


def _agent(evidence: Evidence) -> str:
    return str(evidence.header.get("sue", {}).get("agent", ""))


def _claimed(spans: Iterable[Span]) -> Counter[Key]:
    """Count by tool and status what the trace says of commits; a replay tells of one as well."""
    claimed: Counter[Key] = Counter()
    for span in spans:
        tool = str(span.attributes.get(names.TOOL_NAME))
        if span.kind == names.STATE_COMMIT:
            claimed[tool, str(span.attributes.get(names.COMMIT))] += 1
        elif span.attributes.get(names.COMMIT_BELIEF) == _REPLAYED:
            claimed[tool, _REPLAYED] += 1
    return claimed


def _journal(evidence: Evidence) -> Counter[str]:
    """Count by tool the operations that the store committed for good."""
    tools: dict[str, str] = {}
    for commit in evidence.commits:
        rows = [c for c in commit.changes if c.get("collection") == _OPERATIONS]
        values = [row.get("value") or {} for row in rows]
        if not rows or values[-1].get("status") == "committed":
            tools[commit.operation_id] = str(bounded(commit.tool))
        else:
            tools.pop(commit.operation_id, None)
    return Counter(tools.values())


def _disagreements(claimed: Counter[Key], journal: Counter[str]) -> int:
    """Count the commits claimed that the journal lacks, and those in it that nothing admits."""
    found = 0
    for tool in {*journal, *(tool for tool, _ in claimed)}:
        committed = claimed[tool, "committed"]
        admitted = committed + claimed[tool, "unknown"] + claimed[tool, _REPLAYED]
        found += max(0, committed - journal[tool], journal[tool] - admitted)
    return found
