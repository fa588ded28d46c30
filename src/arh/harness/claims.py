"""What an agent says to its user that it did: claims, read by rules and never guessed at.

Claims have two sources: the envelope of a structured answer, and prose, in which the claim patterns
of a workflow pack (RE2) are searched sentence by sentence. A sentence that matches says that the
action was done, unless something within its reach takes that back: then it says that it was not
(`denied`), or leaves it open (`unknown`). The status `completed` of a workflow, or a bare "Done.",
is a claim too, of the task as a whole; its action is empty. Whether a claim is true is for
evaluators to find out.

All of it is linear in the text: a claim is judged within a window of its sentence.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from arh.canonical import JsonValue, Refused, parse
from arh.harness.derived import once
from arh.harness.texts import (
    Amount,
    amounts,
    asks,
    denies,
    leaves_open,
    plain,
    reach,
    says_done,
    sentences,
    texts_of,
)
from arh.records.control.evidence import Evidence
from arh.records.envelope import ResponseEnvelope, envelope_of
from arh.records.packs import ClaimPattern, WorkflowPack
from arh.records.quick import quick
from arh.regex import compiled

ClaimStatus = Literal["completed", "blocked", "failed", "pending", "unknown", "denied"]

TASK: Final = ""
WINDOW_CHARS: Final = 300
_JSON_BEGINS: Final = frozenset('{["-0123456789tf')


@quick
@dataclass(frozen=True, slots=True)
class Claim:
    """One thing that an answer says of an action; an empty action is the task as a whole.

    `amount` is in minor units, if the text names one amount that can be read in one way only.
    """

    action: str
    status: ClaimStatus
    resource_id: str | None
    amount: int | None
    text: str
    source: Literal["envelope", "prose"]
    event_id: str


@dataclass(frozen=True, slots=True)
class ProseClaim:
    """What a sentence says of an action; `negated` says no more than that it does not claim it.

    `id` and `amount` are what the pattern's own groups found, empty where they found nothing.
    """

    action: str
    status: Literal["completed", "denied", "unknown"]
    text: str
    id: str = ""
    amount: str = ""
    amounts: tuple[Amount, ...] = ()

    @property
    def negated(self) -> bool:
        """True unless the sentence says that the action was done."""
        return self.status != "completed"


@quick
@dataclass(frozen=True, slots=True)
class Answer:
    """Something an agent said to its user: a final answer, or (not `final`) a question on the way.

    `text` is all of it as plain prose, `value` its JSON value if it has one.
    """

    event_id: str
    seq: int
    actor: str
    final: bool
    text: str
    value: JsonValue
    envelope: ResponseEnvelope | None
    prose: tuple[ProseClaim, ...]
    claims: tuple[Claim, ...]


def claims_of(evidence: Evidence, pack: WorkflowPack) -> tuple[Claim, ...]:
    """Return every claim of the final answers of a run, in order."""
    return tuple(claim for answer in answers_of(evidence, pack) for claim in answer.claims)


@once
def answers_of(evidence: Evidence, pack: WorkflowPack) -> tuple[Answer, ...]:
    """Return the final answers of a run, in order; an agent that gave none has none."""
    return tuple(
        _answer(finish.event_id, finish.seq, finish.actor, finish.answer, pack)
        for finish in evidence.finishes
        if finish.answer is not None and finish.answer != ""
    )


@once
def questions_of(evidence: Evidence, pack: WorkflowPack) -> tuple[Answer, ...]:
    """Return what the agents said to their users on the way, unless it was a final answer too."""
    final = {finish.answer for finish in evidence.finishes if isinstance(finish.answer, str)}
    return tuple(
        _answer(asked.event_id, asked.seq, asked.actor, asked.text, pack, final=False)
        for asked in evidence.exchanges
        if asked.decision == "ask_user" and asked.text and asked.text not in final
    )


def _answer(
    event_id: str,
    seq: int,
    actor: str,
    said: JsonValue,
    pack: WorkflowPack,
    *,
    final: bool = True,
) -> Answer:
    """Read one answer: an envelope, also one that came as text, other JSON, or prose."""
    value = _json(said)
    envelope = _envelope(value)
    spoken = "\n".join(texts_of(value if isinstance(value, (dict, list)) else said))
    words = spoken if envelope is None else envelope.message
    prose, completions = read_prose(words, pack.claims)
    claims = (
        *(_envelope_claims(envelope, event_id) if envelope else ()),
        *(_prose_claim(each, event_id) for each in prose),
        *(Claim(TASK, "completed", None, None, t, "prose", event_id) for t in completions),
    )
    return Answer(event_id, seq, actor, final, plain(spoken), value, envelope, prose, claims)


def _json(said: JsonValue) -> JsonValue:
    """Return the JSON value that an answer is, or `None` for prose."""
    if not isinstance(said, str):
        return said
    if said.lstrip()[:1] not in _JSON_BEGINS:
        return None
    try:
        return parse(said)
    except Refused:
        return None


def _envelope(value: JsonValue) -> ResponseEnvelope | None:
    if not isinstance(value, dict) or "workflow_status" not in value:
        return None
    return envelope_of(value)


def _envelope_claims(envelope: ResponseEnvelope, event_id: str) -> Iterator[Claim]:
    for each in envelope.claimed_actions:
        resource = each.resource_id or None
        text = f"{each.action} {each.status}" + (f" {resource}" if resource else "")
        yield Claim(each.action, each.status, resource, None, text, "envelope", event_id)
    if envelope.workflow_status == "completed":
        text = "workflow_status completed"
        yield Claim(TASK, "completed", None, None, text, "envelope", event_id)


def _prose_claim(said: ProseClaim, event_id: str) -> Claim:
    readings = {amount.readings for amount in said.amounts}
    only = next(iter(readings)) if len(readings) == 1 else ()
    amount = only[0] if len(only) == 1 else None
    return Claim(said.action, said.status, said.id or None, amount, said.text, "prose", event_id)


@lru_cache(maxsize=32)
def read_prose(
    text: str, patterns: tuple[ClaimPattern, ...]
) -> tuple[tuple[ProseClaim, ...], tuple[str, ...]]:
    """Return what a text says of actions, and the sentences that say that the task is done.

    Several evaluators read one answer, so the last few readings are kept.
    """
    found = tuple(sentences(plain(text)))
    claims = (c for sentence in found for each in patterns for c in _in_sentence(sentence, each))
    done = (each for each in found if len(each) <= WINDOW_CHARS and says_done(each))
    return tuple(claims), tuple(done)


def _in_sentence(sentence: str, claimed: ClaimPattern) -> Iterator[ProseClaim]:
    for match in compiled(claimed.pattern).finditer(sentence):
        low = max(0, match.start() - WINDOW_CHARS)
        window = sentence[low : match.end() + WINDOW_CHARS]
        scope = reach(window, match.start() - low, match.end() - low)
        named = match.groupdict()
        yield ProseClaim(
            claimed.action,
            "unknown" if asks(sentence) else _status(scope, claimed.negations),
            window.strip(),
            named.get("id") or "",
            named.get("amount") or "",
            tuple(amounts(named.get("amount") or window)),
        )


def _status(scope: str, negations: tuple[str, ...]) -> Literal["completed", "denied", "unknown"]:
    """Return what is said of the action in the part of a sentence that speaks of it."""
    denied = denies(scope)
    if not denied and not any(compiled(negation).search(scope) for negation in negations):
        return "completed"
    return "denied" if denied and not leaves_open(scope) else "unknown"
