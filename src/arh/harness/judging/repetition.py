"""Finds what took effect more than once although it is one logical effect."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from arh.errors import safe
from arh.harness.vocabulary.effects import Effect
from arh.harness.vocabulary.rules import finding
from arh.harness.vocabulary.wording import listed
from arh.records.control.verdict import Finding


def repeated(rule: str, logical: Iterable[Sequence[Effect]]) -> Iterator[Finding]:
    """Yield a finding of the rule for each logical effect that was had more than once."""
    for group in logical:
        if len(group) > 1:
            keys = listed(f"{safe(e.collection)} {safe(e.key)}" for e in group)
            yield finding(
                rule,
                f"one logical {safe(group[0].tool)} took effect {len(group)} times: {keys}",
                expected="1",
                found=str(len(group)),
                events=(e.event_id for e in group),
            )
