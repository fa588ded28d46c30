"""Rules of category `safety`: unsafe patterns over what the agent produced, consumed and hid.

A blob is a text, a text within an output or an argument, or an error. Each blob is a check for the
score, and each pattern that matches it a finding. Where the published scan does not look (names,
keys, citations, content that a reader could not map, raw arguments) and for text that was disguised
by escapes or look-alike characters, a rule of its own speaks. What matched is never repeated in a
finding: reports are public, and it may be a secret.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Final

from arh.canonical import JsonValue
from arh.regex import searchable
from arh.traces.authoring.patterns import is_found, screen, searcher
from arh.traces.authoring.policy import Policy
from arh.traces.findings import Judged, shown
from arh.traces.judging.facts import Facts, all_texts, keys, strings
from arh.traces.judging.regex_worker import Worker
from arh.traces.trace import Step

_ESCAPES: Final = re.compile(r"\\u([0-9a-fA-F]{4})")
_PAIRS: Final = re.compile("[\ud800-\udbff][\udc00-\udfff]")
# In any case of letters, `re` takes the Turkish ones for an i, and the linear engine does not.
_LETTERS_I: Final = {0x130: "i", 0x131: "i"}
_AS_IS: Final = "surrogatepass"
# Characters of other categories than formats that nothing is shown for.
_FILLERS: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8"
    "\U000e0000-\U000e0fff]"
)

# A blob: the text, and where it stands.
Blob = tuple[str, str]


def judge(facts: Facts, policy: Policy, worker: Worker | None = None) -> Judged:
    """Return which unsafe patterns match a trace."""
    judged = Judged("safety")
    if not policy.unsafe_patterns:
        return judged
    if _is_clean(facts, policy.unsafe_patterns, worker):
        # Every check holds; how many there are is of no consequence then.
        judged.applicable = any(_has_blob(step) for step in facts.trace.steps)
        judged.check(holds=True)
        return judged
    scan = _Scan(judged, facts, policy.unsafe_patterns, worker)
    scan.published()
    if not facts.compat:
        scan.beyond()
    return judged


def _is_clean(facts: Facts, patterns: tuple[str, ...], worker: Worker | None) -> bool:
    """Return whether it is certain that nothing matches anywhere, by one search over everything."""
    if worker and any(map(worker.runs, patterns)):
        return False
    wide = screen(patterns)
    if wide is None:
        return False
    text = all_texts(_everything(facts))
    return not is_found(wide, text) and not any(is_found(wide, each) for each in undisguised(text))


def _everything(facts: Facts) -> list[JsonValue]:
    """Return every value of a trace that any scan looks at."""
    values: list[JsonValue] = [note.content for note in facts.trace.notes]
    for step in facts.trace.steps:
        values += (step.text, step.tool_name, step.error, step.raw_arguments, step.output)
        values += (step.arguments, step.metadata, *step.citations)
    return values


def _has_blob(step: Step) -> bool:
    return next(_blobs(step), None) is not None


class _Scan:
    """One scan of a trace, text by text."""

    __slots__ = ("facts", "judged", "patterns", "worker")

    def __init__(
        self, judged: Judged, facts: Facts, patterns: tuple[str, ...], worker: Worker | None
    ) -> None:
        self.judged = judged
        self.facts = facts
        self.patterns = patterns
        self.worker = worker

    def published(self) -> None:
        """Scan the blobs of the specification, which the score counts."""
        blobs = matches = 0
        for step in self.facts.trace.steps:
            anchor = self.facts.anchor(step)
            for blob in _blobs(step):
                blobs += 1
                matches += self._found("ARH-SAF-001", anchor, blob)
        self.judged.applicable = blobs > 0
        self.judged.total = blobs
        self.judged.passed = max(0, blobs - matches)

    def beyond(self) -> None:
        """Scan what the specification does not name."""
        for anchor, blob in self._hidden():
            self._found("ARH-SAF-002", anchor, blob)

    def _found(self, rule: str, anchor: str | None, blob: Blob) -> int:
        """Add a finding for each pattern that matches a blob, and return how many did."""
        text, where = blob
        count = 0
        for pattern in self.patterns:
            span = self._span(pattern, text)
            if span is None:
                self._no_end(anchor, pattern, where)
            elif span:
                count += 1
                start, end = span
                self.judged.add(
                    rule,
                    f"unsafe pattern {shown(pattern)} matches {end - start} characters of {where}",
                    anchor,
                    expected=f"no match of {shown(pattern)}",
                    observed=f"characters {start + 1} to {end} of {where}",
                    subject=pattern,
                )
        return count

    def _span(self, pattern: str, text: str) -> tuple[int, int] | tuple[()] | None:
        """Return where a pattern matches, an empty tuple, or `None` when no answer came."""
        if self.worker is not None and self.worker.runs(pattern):
            answer = self.worker.searches(pattern, text)
            return None if answer is None else answer or ()  # type: ignore[return-value]  # no True
        found = searcher(pattern).search(searchable(text))
        return (found.start(), found.end()) if found else ()

    def _no_end(self, anchor: str | None, pattern: str, where: str) -> None:
        said = f"pattern {shown(pattern)} came to no end over {where}"
        self.judged.add("ARH-SAF-003", said, anchor, subject=pattern)

    def _hidden(self) -> Iterator[tuple[str | None, Blob]]:
        """Yield the texts that the published scan leaves out, each with the step it is of."""
        for step in self.facts.trace.steps:
            anchor = self.facts.anchor(step)
            for blob in _unread(step):
                yield anchor, blob
            for text, where in (*_unread(step), *_blobs(step)):
                for plain in undisguised(text):
                    yield anchor, (plain, f"{where}, undisguised")
        for note in self.facts.trace.notes:
            if note.content:
                yield note.step_id, (note.content, "content that was not mapped")
                for plain in undisguised(note.content):
                    yield note.step_id, (plain, "content that was not mapped, undisguised")


def _blobs(step: Step) -> Iterator[Blob]:
    """Yield the blobs of a step in the order in which they are reported."""
    if step.text:
        yield step.text, "the text"
    if step.output is not None:
        for text in strings(step.output):
            yield text, "the output"
    if step.arguments:
        for text in strings(step.arguments):
            yield text, "the arguments"
    if step.error:
        yield step.error, "the error"


def _unread(step: Step) -> Iterator[Blob]:
    """Yield the texts of a step that are no blobs."""
    if step.tool_name:
        yield step.tool_name, "the tool's name"
    if step.raw_arguments:
        yield step.raw_arguments, "the raw arguments"
    if step.arguments:
        yield from _named(keys(step.arguments), "a key of the arguments")
    if isinstance(step.output, dict | list):
        yield from _named(keys(step.output), "a key of the output")
    for citation in step.citations:
        yield from _named(strings(citation), "a citation")
    if step.metadata:
        yield from _named(strings(step.metadata), "the metadata")


def _named(texts: Iterable[str], where: str) -> Iterator[Blob]:
    return ((text, where) for text in texts if text)


def undisguised(text: str) -> Iterator[str]:
    """Yield what a text becomes without escapes, invisible characters and look-alike forms.

    Of texts that are joined by line feeds it becomes the same as of each by itself.
    """
    plain = text
    if "\\u" in text:
        plain = _ESCAPES.sub(lambda match: chr(int(match[1], 16)), plain)
        plain = _PAIRS.sub(lambda pair: pair[0].encode("utf-16", _AS_IS).decode("utf-16"), plain)
    if not plain.isascii():
        plain = unicodedata.normalize("NFKC", plain).translate(_LETTERS_I)
        invisible = [char for char in set(plain) if _is_invisible(char)]
        if invisible:
            plain = plain.translate(dict.fromkeys(map(ord, invisible)))
    if plain != text:
        yield plain


def _is_invisible(char: str) -> bool:
    return unicodedata.category(char) == "Cf" or _FILLERS.match(char) is not None
