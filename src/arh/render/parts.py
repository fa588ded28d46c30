"""The parts that Markdown pages are made of: a titled list and a titled table, none where empty.

What stands in them is safe already: `text.markdown` and `text.code` were called where it was read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence


def section(title: str, lines: Iterable[str]) -> Iterator[str]:
    """Yield a list below its title."""
    found = list(lines)
    if found:
        yield from (f"## {title}", "", *(f"- {line}" for line in found), "")


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield a table below its title."""
    if rows:
        yield from (f"## {title}", "", f"| {' | '.join(columns)} |")
        yield f"|{' --- |' * len(columns)}"
        yield from (f"| {' | '.join(row)} |" for row in rows)
        yield ""
