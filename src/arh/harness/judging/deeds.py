"""What an actor did for one task, as the record has it: the deeds that its claims must answer to.

A deed is a write that the store committed (also as the replay of an earlier attempt), or a read
that was answered. It is confirmed once its actor learned of it: by the reply of any attempt at the
operation, or because a later result shows what was committed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from arh.harness.vocabulary.effects import by_operation
from arh.harness.vocabulary.texts import texts_of
from arh.records.control.evidence import CallEvidence, CommitEvidence, Evidence
from arh.records.packs import WorkflowPack
from arh.records.quick import quick
from arh.records.tools import ToolManifest


@quick
@dataclass(frozen=True, slots=True)
class Deed:
    """One thing that was done.

    `names` are the texts of its arguments, its result and what it wrote; `keys` those of records.
    """

    tool: str
    keys: tuple[str, ...]
    names: frozenset[str]
    amount: int | None
    confirmed: bool
    event_id: str
    operation_id: str


class Deeds:
    """The deeds of one run, looked up by the calls that attempted them."""

    def __init__(self, evidence: Evidence, pack: WorkflowPack) -> None:
        """Sort the commit entries by operation."""
        self.manifests: Mapping[str, ToolManifest] = pack.manifests
        self._commits = by_operation(evidence.commits)

    def of(self, calls: Sequence[CallEvidence], *, before: int) -> dict[str, list[Deed]]:
        """Return the writes of these calls by tool, as far as they were done before an event."""
        attempts: dict[str, list[CallEvidence]] = {}
        found: dict[str, list[Deed]] = {}
        for call in calls:
            if call.seq < before and call.operation_id in self._commits:
                attempts.setdefault(call.operation_id, []).append(call)
        for operation, several in attempts.items():
            for commit in self._commits[operation]:
                if commit.seq < before:
                    found.setdefault(commit.tool, []).append(self._done(commit, several, calls))
        return found

    def answered(self, tool: str, calls: Sequence[CallEvidence], *, before: int) -> list[Deed]:
        """Return the reads of a tool among these calls, as far as they were answered by then."""
        if tool not in self.manifests or self.manifests[tool].writes:
            return []
        read = (c for c in calls if c.tool == tool and c.executed and c.seq < before)
        return [_answered(call) for call in read]

    def committed(self, call: CallEvidence) -> bool:
        """Return whether the store holds what the call attempted."""
        return bool(self._commits.get(call.operation_id))

    def _done(
        self,
        commit: CommitEvidence,
        attempts: Sequence[CallEvidence],
        calls: Sequence[CallEvidence],
    ) -> Deed:
        changes = [c for c in commit.changes if not str(c.get("collection", "")).startswith("_")]
        keys = tuple(str(change.get("key", "")) for change in changes)
        values = [change.get("value") for change in changes]
        results = [call.result for call in attempts if call.executed]
        arguments = next((c.arguments for c in attempts if c.arguments is not None), {})
        names = {*keys, *texts_of([*values, *results]), *texts_of(arguments)}
        return Deed(
            tool=commit.tool,
            keys=keys,
            names=frozenset(names),
            amount=self._amount(commit.tool, (arguments, *values)),
            confirmed=bool(results) or _shown(keys, commit, calls),
            event_id=commit.event_id,
            operation_id=commit.operation_id,
        )

    def _amount(self, tool: str, sources: Iterable[object]) -> int | None:
        manifest = self.manifests.get(tool)
        name = manifest.amount_argument if manifest is not None else None
        for source in sources if name else ():
            value = source.get(name) if isinstance(source, Mapping) else None
            if isinstance(value, int) and not isinstance(value, bool):
                return value
        return None


def _answered(call: CallEvidence) -> Deed:
    names = frozenset((*texts_of(call.result), *texts_of(call.arguments or {})))
    return Deed(
        tool=call.tool,
        keys=(),
        names=names,
        amount=None,
        confirmed=True,
        event_id=call.event_id,
        operation_id=call.operation_id,
    )


def _shown(keys: Sequence[str], commit: CommitEvidence, calls: Sequence[CallEvidence]) -> bool:
    """Return whether a later result shows one of the records that were committed."""
    wanted = {key for key in keys if key}
    return any(
        text in wanted
        for call in calls
        if call.executed and call.seq > commit.seq
        for text in texts_of(call.result)
    )
