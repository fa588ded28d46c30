"""What must come before an action: evidence that succeeded, fitted and was current, and order.

A read is evidence only if it was answered, by the same actor and for the same task, with the
required fields, before the action, and for each occurrence of the action anew. It is current if
every record that it showed still had that revision when the action took effect. An action that was
committed counts even if its reply was lost.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from arh.canonical import JsonValue
from arh.errors import safe
from arh.harness.judging.segments import Segment
from arh.harness.vocabulary.effects import same
from arh.harness.vocabulary.rules import finding
from arh.harness.vocabulary.wording import listed, shown
from arh.records.control.evidence import (
    CallEvidence,
    CommitEvidence,
    Evidence,
    StateRow,
    StateView,
)
from arh.records.control.scenario import EvidenceRequirement, FieldEquals, OrderingConstraint
from arh.records.control.verdict import Finding
from arh.records.state import SHARED_TENANT

Fault = tuple[Finding, str]  # what is wrong, and the call that it is wrong with


class Path:
    """The calls of a run and what they did: which took effect, and when."""

    def __init__(self, evidence: Evidence) -> None:
        """Join attempts and commit entries by call."""
        self.commits = {c.call_id: c for c in evidence.commits if c.call_id and c.effective}
        self._evidence = evidence

    @cached_property
    def revisions(self) -> Revisions:
        """Which revision a record had when; few scenarios ask."""
        return Revisions(self._evidence)

    def acted(self, call: CallEvidence) -> bool:
        """Return whether the call was executed or took effect, whatever its caller learned."""
        return call.executed or call.call_id in self.commits

    def let_through(self, call: CallEvidence) -> bool:
        """Return whether the gateway let the call pass."""
        return call.entered or self.acted(call)

    def acted_at(self, call: CallEvidence) -> int:
        """Return the place in the run at which the call took effect, or else ended."""
        commit = self.commits.get(call.call_id)
        return call.seq if commit is None else min(commit.seq, call.seq)


def evidence_faults(
    needs: Sequence[EvidenceRequirement], segment: Segment, path: Path
) -> Iterator[Fault]:
    """Yield each action of a task that was taken without its evidence, or on stale evidence."""
    for need in needs:
        sources: list[CallEvidence] = []
        for number, call in enumerate(segment.calls):
            acts = call.tool == need.must_precede_tool and path.acted(call)
            if acts and not _is_justified(need, call, sources, path):
                yield from _unjustified(need, call, segment.calls[:number], path)
            if call.tool == need.source_tool and call.executed:
                sources.append(call)


def _is_justified(
    need: EvidenceRequirement, action: CallEvidence, sources: Sequence[CallEvidence], path: Path
) -> bool:
    """Return whether a source fits, and is current if it must be; the latest is the likeliest."""
    at = path.acted_at(action)
    return any(
        not _misfit(need, source, action)
        and (not need.fresh or path.revisions.moved(source, action, at) == "")
        for source in reversed(sources)
    )


def _unjustified(
    need: EvidenceRequirement, action: CallEvidence, before: Sequence[CallEvidence], path: Path
) -> Iterator[Fault]:
    sources = [c for c in before if c.tool == need.source_tool and c.executed]
    fitting = [c for c in sources if not _misfit(need, c, action)]
    what = f"{safe(need.must_precede_tool)} needs {safe(need.name)}"
    if not fitting:
        reason = _misfit(need, sources[-1], action) if sources else _attempts(need, before)
        yield _fault(
            "trajectory.evidence_missing",
            f"{what} and had none: {reason}",
            f"a fitting {safe(need.source_tool)} before it",
            reason,
            action,
            sources,
        )
    elif need.fresh:
        yield from _outdated(what, action, fitting, path)


def _outdated(
    what: str, action: CallEvidence, fitting: Sequence[CallEvidence], path: Path
) -> Iterator[Fault]:
    answers = [path.revisions.moved(source, action, path.acted_at(action)) for source in fitting]
    if "" in answers:
        return
    unread = any(answer is None for answer in answers)
    reason = "nobody can say" if unread else str(answers[-1])
    yield _fault(
        "trajectory.unreadable" if unread else "trajectory.evidence_stale",
        f"{what} that is up to date: {reason}",
        "the revision that was current",
        reason,
        action,
        fitting,
    )


def ordering_faults(
    constraints: Sequence[OrderingConstraint], segment: Segment, path: Path
) -> Iterator[Fault]:
    """Yield each action of a task that came before what must precede it.

    What precedes is not used up: once it was executed, it covers every action that follows.
    """
    for constraint in constraints:
        done = False
        for call in segment.calls:
            if call.tool == constraint.after and path.acted(call) and not done:
                first = f"{safe(constraint.after)} came before any executed"
                yield _fault(
                    "trajectory.ordering",
                    f"{first} {safe(constraint.before)}",
                    f"{safe(constraint.before)} first",
                    "none before it",
                    call,
                    (),
                )
            done = done or (call.tool == constraint.before and call.executed)


def missing_reads(tools: Iterable[str], evidence: Evidence) -> Iterator[Finding]:
    """Yield each tool that a run must have read from and never did with success."""
    executed = {call.tool for call in evidence.calls if call.executed}
    for tool in dict.fromkeys(tools):
        if tool not in executed:
            tried = [call for call in evidence.calls if call.tool == tool]
            found = listed(dict.fromkeys(safe(c.reason) for c in tried)) or "no attempt"
            yield finding(
                "trajectory.evidence_missing",
                f"no {safe(tool)} was executed: {found}",
                expected=f"an executed {safe(tool)}",
                found=found,
                events=(call.event_id for call in tried),
            )


@dataclass(frozen=True, slots=True)
class _Step:
    """A record's revision from a place in the run on; 0 while it is absent."""

    seq: int
    tenant: str
    revision: int
    call_id: str


class Revisions:
    """Which revision a record had at which point of the run."""

    def __init__(self, evidence: Evidence) -> None:
        """Read the commit entries; the seeded state is looked up where it is needed."""
        self._initial = evidence.initial
        self._steps: dict[tuple[str, str], list[_Step]] = {}
        self._tenants = _tenants(evidence)
        for commit in evidence.commits:
            self._add(commit)

    def moved(self, source: CallEvidence, action: CallEvidence, at: int) -> str | None:
        """Return which record of the source had moved on, "" for none, `None` if nobody knows."""
        own = self._tenants.get(source.actor)
        for collection, key, revision in source.reads:
            current = self._current(collection, key, own, action, at)
            if current is None:
                return None
            if revision not in current:
                record = f"{safe(collection)} {safe(key)}"
                now = listed(map(str, sorted(current)))
                return f"{record} was read at revision {revision} and was at {now}"
        return ""

    def _current(
        self, collection: str, key: str, own: str | None, action: CallEvidence, at: int
    ) -> set[int] | None:
        """Return the revisions that a reader could have found: its own record's, else a shared."""
        found: dict[str, int] = {}
        for row in _seeded(self._initial, collection, key):
            found[row.tenant] = row.revision
        for step in self._steps.get((collection, key), ()):
            if step.seq < at and step.call_id != action.call_id:
                found[step.tenant] = step.revision
        if not found:
            return None
        if own is None:
            return set(found.values())
        return {found[own] if found.get(own) else found.get(SHARED_TENANT, 0)}

    def _add(self, commit: CommitEvidence) -> None:
        for change in commit.changes:
            place = (str(change.get("collection")), str(change.get("key")))
            revision = change.get("revision_after")
            if isinstance(revision, int):
                tenant = str(change.get("tenant"))
                step = _Step(commit.seq, tenant, revision, commit.call_id)
                self._steps.setdefault(place, []).append(step)


def _tenants(evidence: Evidence) -> dict[str, str]:
    """Return the tenant of each actor, as far as the header or a commit names it."""
    found = {commit.actor: commit.tenant for commit in evidence.commits}
    actors = evidence.header.get("actors")
    for each in actors if isinstance(actors, list) else ():
        if isinstance(each, Mapping) and isinstance(each.get("tenant"), str):
            found[str(each.get("actor"))] = each["tenant"]
    return found


def _seeded(initial: StateView | None, collection: str, key: str) -> Iterator[StateRow]:
    """Yield the rows of a key, found by bisection: collections are in key order, and may be big."""
    rows = (initial.rows(collection) if initial is not None else None) or ()
    at = bisect_left(rows, key, key=lambda row: row.key)
    while at < len(rows) and rows[at].key == key:
        yield rows[at]
        at += 1


def _misfit(need: EvidenceRequirement, source: CallEvidence, action: CallEvidence) -> str:
    """Return why an executed read is no evidence for the action, or nothing if it is."""
    result = source.result if isinstance(source.result, Mapping) else {}
    given, wanted = source.arguments or {}, action.arguments or {}
    tool = safe(need.source_tool)
    for predicate in need.result_predicates:
        if not _holds(predicate, result):
            return f"{tool} answered {_field(predicate, result)}"
    for predicate in need.argument_predicates:
        if not _holds(predicate, given):
            return f"{tool} was asked for {_field(predicate, given)}"
    for name in need.same_arguments:
        if name not in given or not same(given, wanted, name):
            found = shown(given[name]) if name in given else "none"
            return f"{tool} was asked for {safe(name)} {found}, not {shown(wanted.get(name))}"
    return ""


def _holds(predicate: FieldEquals, values: Mapping[str, JsonValue]) -> bool:
    return same(values, {predicate.field: predicate.expected}, predicate.field)


def _field(predicate: FieldEquals, values: Mapping[str, JsonValue]) -> str:
    found = shown(values[predicate.field]) if predicate.field in values else "absent"
    return f"{safe(predicate.field)} {found}, not {shown(predicate.expected)}"


def _attempts(need: EvidenceRequirement, before: Sequence[CallEvidence]) -> str:
    tried = [c for c in before if c.tool == need.source_tool]
    tool = safe(need.source_tool)
    if not tried:
        return f"no {tool} before it"
    return f"{tool} ended as {listed(dict.fromkeys(safe(c.reason) for c in tried))}"


def _fault(
    rule: str,
    message: str,
    expected: str,
    found: str,
    action: CallEvidence,
    others: Sequence[CallEvidence],
) -> Fault:
    events = (action.event_id, *(call.event_id for call in others))
    return finding(rule, message, expected=expected, found=found, events=events), action.call_id
