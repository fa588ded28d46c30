"""Bytes become JSON documents strictly, whatever kind of file they are."""

from __future__ import annotations

import pytest

from arh.errors import AuthoringError
from arh.traces.reading.documents import BYTES_MAX, YAML_BYTES_MAX, recording
from arh.traces.reading.source import read_traces

LINE = b'{"role": "assistant", "content": "Done."}'


@pytest.mark.parametrize(
    ("data", "name", "kind", "value"),
    [
        (b'{"a": 1}', "a.json", "document", {"a": 1}),
        (b'\xef\xbb\xbf{"a": 1}', "a.json", "document", {"a": 1}),
        (b'{"a": 1}\n\n{"a": 2}\n', "a.jsonl", "lines", [{"a": 1}, {"a": 2}]),
        (
            b'event: x\ndata: {"a": 1}\n\ndata: {"a":\ndata: 2}\n\ndata: [DONE]\n\n',
            "a.txt",
            "events",
            [{"a": 1}, {"a": 2}],
        ),
        (b"a: [1, x]\nb: 2026-01-02\n", "a.yaml", "yaml", {"a": [1, "x"], "b": "2026-01-02"}),
    ],
)
def test_the_kind_of_a_file_is_seen(data: bytes, name: str, kind: str, value: object) -> None:
    """One document, lines, server-sent events, YAML."""
    held = recording(data, name)

    assert (kind, value) == (held.kind, held.value)


@pytest.mark.parametrize(
    ("data", "name", "says"),
    [
        (b'{"a": 1, "a": 2}', "a.json", "duplicate key"),
        (b'{"a": NaN}', "a.json", "malformed"),
        (b'{"a": [0,\n {"b": NaN}]}', "a.json", r"a.json:2: `a\[1\].b`: this is no strict JSON"),
        (b'{"a": [{"b": 1, "b": 1}]}', "a.json", r"a.json:1: `a\[0\].b`: .*duplicate key"),
        (b'\xff\xfe{\x00"\x00', "a.json", "no strict JSON"),
        (b"[" * 100_000, "a.json", "too deep"),
        (b'data: {"a"\n\n', "a.txt", "cut short"),
        (b'data: 1\n\n{"a": 1}\ndata: 2\n', "a.txt", "a.txt:3: this line is no field"),
        (b"a: 1\na: 2\n", "a.yaml", "no YAML document that arh reads: DuplicateKeyError"),
        (b'1: a\n"1": b\n', "a.yaml", "duplicate key"),
        (b"a: [1\n", "a.yaml", "no YAML document"),
        (b"[" * 50_000, "a.yaml", "no YAML document that arh reads: Refused"),
        (b"a: .nan\n", "a.yaml", "not finite"),
        (b"", "a.json", "cut short"),
    ],
)
def test_a_mistake_is_said_with_its_place(data: bytes, name: str, says: str) -> None:
    """Every kind of file is as strict as JSON is."""
    with pytest.raises(AuthoringError, match=says):
        recording(data, name)


def test_a_broken_line_is_kept_apart_with_its_place() -> None:
    """Whoever reads the others decides what it means."""
    held = recording(b'{"a": 1}\n{"a": \n[2]', "a.jsonl")

    assert (held.value, held.lines) == ([{"a": 1}, [2]], (1, 3))
    assert [(problem.file, problem.line) for problem in held.broken] == [("a.jsonl", 2)]
    assert "cut short" in held.broken[0].found


def test_sizes_are_limited_and_the_limits_are_said() -> None:
    """A file beyond the limit is refused before it is read."""
    with pytest.raises(AuthoringError, match=str(BYTES_MAX)):
        recording(b" " * (BYTES_MAX + 1), "a.json")
    with pytest.raises(AuthoringError, match=str(YAML_BYTES_MAX)):
        recording(b" " * (YAML_BYTES_MAX + 1), "a.yaml")


def test_aliases_that_multiply_are_refused() -> None:
    """Nine lines of YAML do not become a billion values."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]

    with pytest.raises(AuthoringError, match="too many containers"):
        recording("\n".join(lines).encode(), "a.yaml")


def test_lines_are_one_recording_or_one_each() -> None:
    """Messages on lines are a conversation; conversations on lines are as many traces."""
    talk = b'{"messages": [' + LINE + b"]}"
    together = read_traces(LINE + b"\n" + LINE, "talk.jsonl")
    apart = read_traces(talk + b"\n" + talk, "talk.jsonl")

    assert [len(trace.steps) for trace in together] == [2]
    assert [(trace.trace_id, len(trace.steps)) for trace in apart] == [("talk", 1), ("talk-2", 1)]


def test_one_line_that_nobody_reads_is_named() -> None:
    """The other lines are no reason to leave it out."""
    talk = b'{"messages": [' + LINE + b"]}"

    with pytest.raises(AuthoringError, match=r"talk\.jsonl:2: "):
        read_traces(talk + b'\n{"weather": "fine"}\n' + talk, "talk.jsonl")


def test_lines_that_are_all_wrong_in_a_known_format_say_what_is_wrong() -> None:
    """Not that nobody knows the format: the mistake is the author's next step."""
    line = b'{"schema_version": "1", "trace_id": "t", "steps": []}'

    with pytest.raises(AuthoringError, match="line 2: `agent_name`: expected") as refused:
        read_traces(line + b"\n" + line + b"\n", "a.jsonl")

    assert "declines" not in str(refused.value)
