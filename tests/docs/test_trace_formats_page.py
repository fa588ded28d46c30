"""The page on trace formats says what the readers do."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from arh.canonical import JsonValue
from arh.traces.reading.detection import BUILT_IN, read_document
from arh.traces.trace import Step
from tests.unit.traces.formats.samples import SAMPLES, STREAMS
from tests.unit.traces.formats.writers import WRITERS, Call, Talk, Turn, mcp_jsonrpc

ROOT: Final = Path(__file__).resolve().parents[2]
PAGE: Final = (ROOT / "docs" / "trace-formats.md").read_text("utf-8")
FAILING: Final = Talk("q", (Turn("So.", (Call("pay", {}, "declined", failed=True),)),))


def test_the_table_says_what_each_reader_finds() -> None:
    """In the order in which they are asked; a `yes` is shown by a sample, an empty cell by none."""
    table = PAGE.partition("<!-- table -->")[2].partition("<!-- end of table -->")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()[3:]]
    expected = [[f"`{reader.name}`", *carried(reader.name)] for reader in BUILT_IN]

    assert expected == [[name, *cells] for name, _, *cells in rows if name]


def test_every_note_of_the_page_exists() -> None:
    """A note that the page explains is one that a reader writes."""
    source = "".join(
        path.read_text("utf-8") for path in (ROOT / "src" / "arh" / "traces").rglob("*.py")
    )
    section = PAGE.partition("The notes that matter most")[2].partition("## Rules")[0]
    named = re.findall(r"`([a-z]+_[a-z_]+)`", section)

    assert len(named) > 10
    assert [name for name in named if f'"{name}"' not in source] == []


def carried(name: str) -> list[str]:
    """Return a cell for each thing that a format may carry."""
    steps = [step for document in documents(name) for step in read(document, name)]
    return [
        "yes" if held else ""
        for held in (
            any(step.text for step in steps),
            any(step.status == "error" for step in steps),
            any(step.input_tokens is not None for step in steps),
            any(step.latency_ms is not None for step in steps),
            name in STREAMS,
        )
    ]


def documents(name: str) -> list[JsonValue]:
    """Return recordings of a format that hold all that it can."""
    found = [*SAMPLES.get(name, ())]
    write = {**WRITERS, "mcp-jsonrpc": mcp_jsonrpc}.get(name)
    return [*found, write(FAILING)] if write else found


def read(document: JsonValue, name: str) -> list[Step]:
    """Return the steps of a document."""
    return [
        step for trace in read_document(document, "sample.json", form=name) for step in trace.steps
    ]
