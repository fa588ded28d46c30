"""What an agent says to its user that it did: claims, read by rules and never guessed at.

Claims have two sources: structured answers (envelopes, also in fences, and fields of other JSON),
and prose, in which the claim patterns of a workflow pack (RE2) are searched sentence by sentence. A
sentence that matches says that the action was done, unless something within its reach takes that
back: then it says that it was not (`denied`), or leaves it open (`unknown`). A sentence that
touches a topic of the pack, claims nothing and is not harmless is `open`: it may be a claim. The
status `completed` of a workflow, or a bare "Done.", is a claim too, of the task as a whole; its
action is empty. Whether a claim is true is for evaluators to find out.

All of it is linear in the text: a claim is judged within a window of its sentence.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from arh.canonical import JsonValue, Refused, parse
from arh.harness.judging.derived import once
from arh.harness.judging.spoken import conditional, foreign, governed, harmless, spoken, stated
from arh.harness.judging.structured import fenced, malformed, stated_in
from arh.harness.vocabulary.texts import (
    Amount,
    amounts,
    asks,
    clause_begin,
    count_of,
    denies,
    leaves_open,
    plain,
    reach,
    says_done,
    sentences,
    texts_of,
    without_deed,
)
from arh.records.control.evidence import Evidence
from arh.records.envelope import ResponseEnvelope, envelope_of
from arh.records.packs import ClaimPattern, Speech, WorkflowPack
from arh.records.quick import quick
from arh.regex import Match, compiled

ClaimStatus = Literal["completed", "blocked", "failed", "pending", "unknown", "denied"]

TASK: Final = ""
ELSEWHERE: Final = "an effect of no tool"
DENIALS: Final = (r"(?i)\b(?:if|once|until|unless|whether|pending|awaiting|propos\w+)\b",)
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
    count: int = 1


@dataclass(frozen=True, slots=True)
class Open:
    """A sentence that speaks of an action and may claim it; an empty action is any of them."""

    action: str
    text: str
    count: int = 1


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
    count: int = 1

    @property
    def negated(self) -> bool:
        """True unless the sentence says that the action was done."""
        return self.status != "completed"


@quick
@dataclass(frozen=True, slots=True)
class Answer:
    """Something an agent said to its user: a final answer, or (not `final`) a question on the way.

    `text` is all of it as plain prose, `value` its JSON value if it has one. `open` is what may be
    a claim and cannot be told; `malformed` says why what looks like an envelope is none.
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
    open: tuple[Open, ...] = ()
    malformed: str = ""


@dataclass(frozen=True, slots=True)
class Prose:
    """What a text says: of actions, that the task is done, and what cannot be told."""

    claims: tuple[ProseClaim, ...]
    completions: tuple[str, ...]
    open: tuple[Open, ...]


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
    texts = texts_of(value if isinstance(value, (dict, list)) else said)
    inside = [value] if isinstance(value, (dict, list)) else fenced(said)
    prose = read_prose("\n\n".join(texts if envelope is None else _told(envelope)), pack)
    claims = [_prose_claim(each, event_id) for each in prose.claims]
    open_ = list(prose.open)
    for document in inside:
        _read_document(document, pack, event_id, claims, open_)
    done = (Claim(TASK, "completed", None, None, t, "prose", event_id) for t in prose.completions)
    wrong = next(filter(None, map(malformed, inside)), "")
    text = plain("\n".join(texts))
    found = (*claims, *done)
    return Answer(
        event_id, seq, actor, final, text, value, envelope, prose.claims, found, tuple(open_), wrong
    )


def _told(envelope: ResponseEnvelope) -> tuple[str, ...]:
    return (envelope.message, envelope.disposition or "")


def _read_document(
    document: JsonValue, pack: WorkflowPack, event_id: str, claims: list[Claim], open_: list[Open]
) -> None:
    """Add what an envelope, or other JSON, says of actions."""
    envelope = _envelope(document)
    if envelope is not None:
        claims[:0] = _envelope_claims(envelope, event_id)
        return
    for action, text, sure in stated_in(document, pack):
        if sure:
            claims.append(Claim(action, "completed", None, None, text, "envelope", event_id))
        else:
            open_.append(Open(action, text))


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
    resource = said.id or None
    return Claim(
        said.action, said.status, resource, amount, said.text, "prose", event_id, said.count
    )


def read_prose(text: str, pack: WorkflowPack) -> Prose:
    """Return what a text says of actions, that the task is done, and what cannot be told.

    Several evaluators read one answer, so the last few readings are kept.
    """
    return _read(text, pack.speech)


@lru_cache(maxsize=32)
def _read(text: str, asked: Speech) -> Prose:
    others = tuple(ClaimPattern(ELSEWHERE, each, DENIALS) for each in asked.foreign_effects)
    found = tuple(stated(sentence) for sentence in sentences(spoken(text)))
    claims: list[ProseClaim] = []
    open_: list[Open] = []
    for sentence in found:
        for each in (*asked.claims, *others):
            _in_sentence(sentence, each, claims, open_)
        if asked.english and foreign(sentence):
            open_.append(Open(TASK, sentence[:WINDOW_CHARS]))
    done = tuple(each for each in found if len(each) <= WINDOW_CHARS and says_done(each))
    return Prose(tuple(claims), done, tuple(open_))


def _in_sentence(
    sentence: str, claimed: ClaimPattern, claims: list[ProseClaim], open_: list[Open]
) -> None:
    """Add what one sentence says of an action, and the sentence itself if that is open."""
    if claimed.topic and not compiled(claimed.topic).search(sentence):
        return
    said = list(_matches(sentence, claimed))
    claims.extend(said)
    if not claimed.topic or any(each.status == "completed" for each in said):
        return
    if not harmless(sentence, compiled(claimed.topic), claimed.counted):
        shown = sentence[:WINDOW_CHARS]
        open_.append(Open(claimed.action, shown, count_of(shown, claimed.counted)))


def _matches(sentence: str, claimed: ClaimPattern) -> Iterator[ProseClaim]:
    unsaid = asks(sentence) or conditional(sentence)
    for match in compiled(claimed.pattern).finditer(sentence):
        low = max(0, match.start() - WINDOW_CHARS)
        window = sentence[low : match.end() + WINDOW_CHARS]
        named = match.groupdict()
        yield ProseClaim(
            claimed.action,
            "unknown" if unsaid else _status(window, match, low, claimed.negations),
            window.strip(),
            named.get("id") or "",
            named.get("amount") or "",
            tuple(amounts(named.get("amount") or window)),
            count_of(window, claimed.counted, match.group()),
        )


def _status(
    window: str, match: Match, low: int, negations: tuple[str, ...]
) -> Literal["completed", "denied", "unknown"]:
    """Return what is said of the action in the part of a sentence that speaks of it."""
    begin, end = match.start() - low, match.end() - low
    window = f"{window[:begin]}{without_deed(match.group())}{window[end:]}"
    scope = reach(window, begin, end)
    denied = denies(scope)
    if not denied and not any(compiled(negation).search(scope) for negation in negations):
        begun = clause_begin(window, begin)
        before, head = window[begun:begin], window[begun:end]
        return "unknown" if governed(before, head, scope) else "completed"
    return "denied" if denied and not leaves_open(scope) else "unknown"
