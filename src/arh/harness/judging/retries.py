"""What a run tried again, and whether it was right to: retries judged from the attempt log alone.

An action is what an actor wants of a tool: the tool and its arguments without the idempotency
key. A retry is an attempt at an action whose last attempt did not succeed; asking again for what
was answered is no retry. Attempts that the agent's own supervisor refused never left, so they
neither retry nor are retried.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from arh.canonical import JsonValue
from arh.harness.vocabulary.effects import frozen, manifests
from arh.records.control.evidence import CallEvidence
from arh.records.outcomes import Reason
from arh.records.packs import WorkflowPack

FINAL_ANSWERS: Final = frozenset(
    {
        Reason.AUTHORIZATION_DENIED,
        Reason.APPROVAL_DENIED,
        Reason.LIMIT_EXCEEDED,
        Reason.ARGUMENTS_INVALID,
        Reason.ARGUMENTS_UNPARSABLE,
        Reason.UNKNOWN_TOOL,
        Reason.KEY_MISMATCH,
    }
)
_SETTLED: Final = frozenset({"committed", "replayed", "not_committed", "compensated"})


@dataclass(frozen=True, slots=True)
class Retry:
    """An attempt at an action that was tried before without success, and how often by then."""

    before: CallEvidence
    again: CallEvidence
    number: int


@dataclass(frozen=True, slots=True)
class Action:
    """All attempts of one actor at one action, in order."""

    attempts: tuple[CallEvidence, ...]

    def retries(self) -> Iterator[Retry]:
        """Yield each attempt that follows a failed one; success starts the count anew."""
        number = 0
        for before, again in zip(self.attempts, self.attempts[1:], strict=False):
            number = 0 if before.executed else number + 1
            if number:
                yield Retry(before, again, number)

    def refused_again(self) -> Iterator[Retry]:
        """Yield each attempt that repeats, key and all, what no retry can change."""
        for retry in self.retries():
            before, again = retry.before, retry.again
            same = before.key == again.key and before.arguments_text == again.arguments_text
            if before.reason in FINAL_ANSWERS and same:
                yield retry

    def sent_anew(self) -> Iterator[Retry]:
        """Yield each attempt under a new key while an earlier operation may have been committed."""
        unknown: dict[str, CallEvidence] = {}
        for number, call in enumerate(self.attempts):
            others = [c for operation, c in unknown.items() if operation != call.operation_id]
            if others and call.operation_id and (call.entered or call.executed):
                yield Retry(others[0], call, number)
            if call.commit_belief == "unknown":
                unknown[call.operation_id] = call
            elif call.commit_belief in _SETTLED:
                unknown.pop(call.operation_id, None)


def actions(calls: Iterable[CallEvidence], pack: WorkflowPack) -> tuple[Action, ...]:
    """Return the actions of a run, in the order in which they were first tried."""
    keys = {name: manifest.key_argument for name, manifest in manifests(pack).items()}
    found: dict[object, list[CallEvidence]] = {}
    for call in calls:
        if not call.refused_by_budget:
            found.setdefault(_action(call, keys.get(call.tool)), []).append(call)
    return tuple(Action(tuple(attempts)) for attempts in found.values())


def _action(call: CallEvidence, key_argument: str | None) -> object:
    if call.arguments is None:
        return call.actor, call.tool, call.arguments_text
    wanted: dict[str, JsonValue] = {
        name: value for name, value in call.arguments.items() if name != key_argument
    }
    return call.actor, call.tool, frozen(wanted)
