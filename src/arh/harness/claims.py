"""What a final answer claims to have done, read by rules and never guessed at.

Two sources: the claimed actions of a structured answer, and prose, in which a workflow pack's claim
patterns (RE2, one sentence at a time) find claims and their negations. Whether a claim is true is
for evaluators to find out; here it is only read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from arh.canonical import JsonValue
from arh.records.control.evidence import Evidence
from arh.records.packs import ClaimPattern, WorkflowPack

if TYPE_CHECKING:
    from collections.abc import Mapping

TEXT_CHARS_MAX: Final = 200_000
_PATTERN_BYTES_MAX: Final = 2**20
_SENTENCE: Final = r"[^.!?\n]*(?:[.!?][^\s.!?][^.!?\n]*)*[.!?\n]*"


@dataclass(frozen=True, slots=True)
class Claim:
    """One sentence that says an action happened, or, `negated`, that it did not or may not have.

    `id` and `amount` are as the text has them, empty where it names none.
    """

    action: str
    negated: bool
    text: str
    id: str = ""
    amount: str = ""


@dataclass(frozen=True, slots=True)
class ClaimedAction:
    """What a final answer says of an action: completed, blocked, failed, pending, or denied."""

    action: str
    status: str
    resource_id: str = ""


def claims_in_prose(text: str, pack: WorkflowPack) -> tuple[Claim, ...]:
    """Return the claims of a text in order; one sentence can make several."""
    if not pack.claims or not text:
        return ()
    return tuple(
        claim
        for sentence in _sentences(text[:TEXT_CHARS_MAX])
        for pattern in pack.claims
        for claim in _claims(sentence, pattern)
    )


def claims_of(evidence: Evidence, pack: WorkflowPack) -> tuple[ClaimedAction, ...]:
    """Return everything that the final answers of a run say was done or not done."""
    return tuple(claim for finish in evidence.finishes for claim in _claimed(finish.answer, pack))


def _claimed(answer: JsonValue, pack: WorkflowPack) -> Iterator[ClaimedAction]:
    structured = answer if isinstance(answer, dict) else {}
    actions = structured.get("claimed_actions")
    for each in actions if isinstance(actions, list) else ():
        if isinstance(each, dict) and isinstance(each.get("action"), str):
            resource = each.get("resource_id")
            yield ClaimedAction(
                str(each["action"]),
                str(each.get("status", "")),
                resource if isinstance(resource, str) else "",
            )
    message = structured.get("message") if structured else answer
    for claim in claims_in_prose(message if isinstance(message, str) else "", pack):
        yield ClaimedAction(claim.action, "denied" if claim.negated else "completed", claim.id)


def _claims(sentence: str, pattern: ClaimPattern) -> Iterator[Claim]:
    compiled = _compiled(pattern.pattern)
    negated: bool | None = None
    for match in compiled.finditer(sentence):
        if negated is None:
            negated = any(_compiled(n).search(sentence) for n in pattern.negations)
        named: Mapping[str, str | None] = match.groupdict()
        yield Claim(
            pattern.action, negated, sentence, named.get("id") or "", named.get("amount") or ""
        )


def _sentences(text: str) -> Iterator[str]:
    for match in _compiled(_SENTENCE).finditer(text):
        sentence = match.group().strip()
        if sentence:
            yield sentence


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> Any:  # noqa: ANN401 - the library has no types
    import re2  # type: ignore[import-untyped]  # noqa: PLC0415 - 13 ms, only where prose is read

    options = re2.Options()
    options.log_errors = False
    options.max_mem = _PATTERN_BYTES_MAX
    return re2.compile(pattern, options)
