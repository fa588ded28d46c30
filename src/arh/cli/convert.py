"""`arh convert`: writes a recording as traces of the canonical format, notes included."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from arh.canonical import JsonValue
from arh.cli import trace_options as options
from arh.errors import AuthoringError, safe
from arh.traces.canonical_form import trace_document
from arh.traces.reading.inputs import find_recordings
from arh.traces.rendering.run import Unjudged
from arh.traces.trace import Trace


def main(argv: Sequence[str]) -> int:
    """Write the traces; what a reader could not map is told on standard error."""
    chosen = _parser().parse_args(argv)
    return options.guarded(lambda: _converted(chosen))


def _converted(chosen: argparse.Namespace) -> int:
    recordings = find_recordings([chosen.path], sys.stdin.buffer)
    if len(recordings) != 1:
        raise AuthoringError.of(
            f"{len(recordings)} recordings are named",
            file=chosen.path,
            hint="convert one at a time",
        )
    traces = options.traces_of(recordings[0], chosen.format)
    if isinstance(traces, Unjudged):
        raise AuthoringError.of(str(traces))
    for trace in traces:
        sys.stderr.writelines(f"note: {line}\n" for line in _notes(trace))
    text = _text([trace_document(trace) for trace in traces])
    if chosen.out is None:
        sys.stdout.write(text)
        return options.PASSED
    is_whole = options.written([(chosen.out, lambda: text)], is_quiet=False)
    return options.PASSED if is_whole else options.FAILED


def _text(documents: Sequence[dict[str, JsonValue]]) -> str:
    """Return one document, or a line for each of several."""
    if len(documents) == 1:
        return json.dumps(documents[0], indent=2, ensure_ascii=True, allow_nan=False) + "\n"
    return "".join(
        f"{json.dumps(each, ensure_ascii=True, allow_nan=False)}\n" for each in documents
    )


def _notes(trace: Trace) -> list[str]:
    return [
        f"{safe(trace.trace_id)}: {safe(note.kind)}"
        f"{f' at {safe(note.pointer)}' if note.pointer else ''}"
        f"{f': {safe(note.detail)}' if note.detail else ''}"
        for note in trace.notes
    ]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("arh convert", description=__doc__)
    parser.add_argument("path", metavar="PATH", help="a file, or - for standard input")
    options.add_format(parser)
    parser.add_argument("-o", "--out", type=Path, metavar="FILE", help="default standard output")
    return parser
