"""What an agent was told by its user and its tools up to some point, and so may tell others.

An agent's own arguments are left out: whoever could invent an identifier could pass it to a tool
first. The amount of a committed write counts, for that is a fact by then. What is heard only grows,
so one `Heard` follows an actor through its answers, and each text is read once.
"""

from __future__ import annotations

from operator import itemgetter
from typing import Final

from arh.canonical import JsonValue
from arh.harness.vocabulary.texts import (
    amounts,
    identifiers,
    minor_units,
    numbers,
    numbers_of,
    plain,
    texts_of,
    words,
)
from arh.records.control.evidence import CallEvidence, Evidence
from arh.records.packs import WorkflowPack

MASKED: Final = ("[masked]", "[redacted")


class Heard:
    """Follows what one actor was told."""

    def __init__(self, evidence: Evidence, pack: WorkflowPack, actor: str) -> None:
        """Begin at the start of the run."""
        self._patterns = pack.identifiers
        self._tools = pack.manifests
        self._money = pack.amounts
        self._committed = {c.operation_id for c in evidence.commits if c.effective} - {""}
        self._waiting = iter(_told(evidence, actor))
        self._next = next(self._waiting, None)
        self._texts: list[str] = []
        self._returned: list[str] = []
        self._calls: list[CallEvidence] = []
        self._read = {"identifiers": 0, "amounts": 0, "refs": 0, "calls": 0}
        self._identifiers: set[str] = set()
        self._amounts: set[int] = set()
        self._refs: set[str] = set()
        self._totals: dict[str, int] = {}
        self._charged: set[str] = set()
        self.masked = False

    def listen(self, seq: int) -> None:
        """Take in everything that was said before the event of that number."""
        while self._next is not None and self._next[0] < seq:
            told = self._next[1]
            if isinstance(told, str):
                self._texts.append(plain(told))
            else:
                self._take(told)
            self._next = next(self._waiting, None)

    def identifiers(self) -> set[str]:
        """Return every identifier heard so far, as the pack's patterns find them."""
        text = "\n".join(self._unread("identifiers", self._texts))
        self._identifiers.update(identifiers(text, self._patterns) if text else ())
        return self._identifiers

    def amounts(self) -> set[int]:
        """Return every amount that what was heard so far may mean, in minor units."""
        for text in self._unread("amounts", self._texts):
            for amount in amounts(text):
                self._amounts.update(amount.readings)
            for number in numbers(text):
                self._amounts.update(minor_units(number))
        for call in self._calls[self._read["calls"] :]:
            self._count(call)
        self._read["calls"] = len(self._calls)
        return self._amounts

    def refs(self) -> set[str]:
        """Return every text and every word that tools have returned so far."""
        texts = self._unread("refs", self._returned)
        self._refs.update(texts, words("\n".join(texts)))  # no word goes on in another line
        return self._refs

    def _unread(self, reader: str, source: list[str]) -> list[str]:
        begin, self._read[reader] = self._read[reader], len(source)
        return source[begin:]

    def _take(self, call: CallEvidence) -> None:
        """Take in the texts of a call's result, and keep the call for whoever asks for amounts."""
        self._calls.append(call)
        texts = texts_of(call.result) if call.executed else []
        every = "\n".join(texts)
        self.masked = self.masked or any(mark in every for mark in MASKED)
        self._texts += map(plain, texts)
        self._returned += texts

    def _count(self, call: CallEvidence) -> None:
        """Take in the numbers of a call's result, and the amount that it moved."""
        for name, number in numbers_of(call.result) if call.executed else ():
            self._amounts.update((round(number),) if name in self._money else minor_units(number))
        operation = call.operation_id
        if operation in self._committed and operation not in self._charged:
            self._charge(call)

    def _charge(self, call: CallEvidence) -> None:
        manifest = self._tools.get(call.tool)
        name = manifest.amount_argument if manifest is not None else None
        amount: JsonValue = (call.arguments or {}).get(name) if name else None
        if isinstance(amount, int) and not isinstance(amount, bool):
            self._charged.add(call.operation_id)
            self._totals[call.tool] = self._totals.get(call.tool, 0) + amount
            self._amounts.update((amount, self._totals[call.tool]))


def _told(evidence: Evidence, actor: str) -> list[tuple[int, str | CallEvidence]]:
    """Return what was said to the actor, in order."""
    told: list[tuple[int, str | CallEvidence]] = [
        *[(t.seq, t.text) for t in evidence.user_turns if t.actor == actor],
        *[(c.seq, c) for c in evidence.calls if c.actor == actor],
    ]
    return sorted(told, key=itemgetter(0))
