"""Recordings of real agents are read without loss, or declined with a reason; none crashes.

They lie outside of the repository: in the folder that ARH_SHARED names, else beside it, and without
them there is nothing to test. `samples.py` and `writers.py` hold twins of each kind that is read.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import pytest

from arh.canonical import JsonValue
from arh.errors import AuthoringError
from arh.traces.reading.cassettes import bodies, interactions
from arh.traces.reading.documents import recording
from arh.traces.reading.source import read_traces
from tests.unit.traces.formats.conservation import leaves, lost

ROOT: Final = Path(__file__).parents[4]
SHARED: Final = Path(os.environ.get("ARH_SHARED", ROOT.parent / "shared"))
FILES: Final = sorted(path for path in (SHARED / "traces").glob("*/*") if path.is_file())

DECLINED: Final = frozenset(
    {
        "2025-05-12T20-28-26-04-00_security-guide.json",  # a log of an evaluation framework
        "log_read_sample.json",
        "log_tool_call_error.json",
        "fewshot_airline_line0.jsonl",  # messages as one text to show
        "order_query.test.json",  # expectations of a test, not a session
        "test_query_task_subagent_spans.yaml",  # no exchanges over HTTP
        "test_tool_calls_with_input_params.yaml",  # an agent service, not a model
        "test_xai_request_tool_call.xai.yaml",  # no bodies of HTTP
        "trace_semantic_vcr.jsonl",
    }
)
"""Files that no reader takes, beside whole folders."""
DECLINED_FOLDERS: Final = frozenset(
    {"langfuse_trace", "openai_agents_runstate", "openhands_events"}
)

pytestmark = pytest.mark.skipif(not FILES, reason="no recorded files here")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_real_file_is_read_whole_or_declined(path: Path) -> None:
    """What is read holds all text of the file; what is declined says why, by each format."""
    data = path.read_bytes()
    if path.name in DECLINED or path.parent.name in DECLINED_FOLDERS:
        with pytest.raises(AuthoringError, match="openai-chat"):
            read_traces(data, path.name)
        return
    traces = read_traces(data, path.name)

    assert lost(_held(data, path.name), traces) == []
    assert any(trace.steps for trace in traces)


def test_most_files_are_read_and_hold_text() -> None:
    """The test above is about something: many files, with many texts in them."""
    read = [path for path in FILES if path.name not in DECLINED]
    read = [path for path in read if path.parent.name not in DECLINED_FOLDERS]
    texts = sum(1 for path in read for _ in leaves(_held(path.read_bytes(), path.name)))

    assert len(read) > 55
    assert texts > 4000


def _held(data: bytes, source: str) -> JsonValue:
    """Return what a file holds; of recorded traffic, the bodies."""
    value = recording(data, source).value
    exchanges = interactions(value)
    if exchanges is None:
        return value
    return [body for exchange in exchanges for body in bodies(exchange, source)]
