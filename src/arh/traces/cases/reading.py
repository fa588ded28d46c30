"""Reads cases and snapshots: JSON lines, strictly, every mistake with file, line and field.

What cannot be compared is refused before anything is judged: a case or an output that is missing,
there twice or one too many, a tool that is both required and forbidden, arguments without a tool, a
number that is not finite. Nothing is guessed and nothing is left out.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Final, TypeVar

from arh.canonical import JsonValue, Refused, parse
from arh.decision.case_metrics import SEVERITIES
from arh.decision.numbers import exact
from arh.errors import AuthoringError, Problem, closest, quoted
from arh.traces.cases.records import (
    NO_TOOL,
    Case,
    Cases,
    Expected,
    JsonObject,
    Output,
    RecordedCall,
    Snapshot,
)

FILE_BYTES_MAX: Final = 64 * 2**20
LINE_BYTES_MAX: Final = 4 * 2**20
LINES_MAX: Final = 100_000
PROBLEMS_MAX: Final = 100
NAMED_MAX: Final = 20
LABEL: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", re.ASCII)

_CASE: Final = ("case_id", "title", "severity", "input", "expected")
_EXPECTED: Final = (
    "decision",
    "tool_name",
    "required_args",
    "required_citations",
    "forbidden_tools",
)
_OUTPUT: Final = ("case_id", "decision", "tool_calls", "citations", "latency_ms", "cost_usd")
_CALL: Final = ("name", "arguments")

T = TypeVar("T")


def read_cases(path: Path) -> Cases:
    """Return the cases of a file.

    Raises:
        AuthoringError: Anything in it is wrong; everything is listed.
    """
    data = _bytes(path)
    cases = _records(data, path, _case, lambda case: case.case_id)
    if not cases:
        raise AuthoringError.of("there are no cases in it", file=str(path))
    tools = {name for case in cases for name in _tools(case.expected)}
    decisions = frozenset(case.expected.decision for case in cases)
    return Cases(tuple(cases), hashlib.sha256(data).hexdigest(), decisions, frozenset(tools))


def read_snapshot(path: Path, cases: Cases, *, label: str | None = None) -> Snapshot:
    """Return the recorded outputs of a file, one for each case; its name is the label.

    Raises:
        AuthoringError: Anything in it is wrong, or it does not answer exactly these cases.
    """
    named = checked_label(path.stem if label is None else label, file=str(path))
    data = _bytes(path)
    by_id = {
        output.case_id: output
        for output in _records(data, path, _output, lambda output: output.case_id)
    }
    wanted = [case.case_id for case in cases.cases]
    problems = [
        *_unmatched("there is no output for the cases", set(wanted) - set(by_id), path),
        *_unmatched("there is no case for the outputs", set(by_id) - set(wanted), path),
    ]
    if problems:
        raise AuthoringError(*problems)
    outputs = tuple(by_id[case_id] for case_id in wanted)
    return Snapshot(named, outputs, hashlib.sha256(data).hexdigest())


def checked_label(label: str, *, file: str = "") -> str:
    """Return a label that is safe as the name of a file.

    Raises:
        AuthoringError: It is not.
    """
    if LABEL.fullmatch(label) is None:
        expected = "a label of letters, digits, `.`, `_` and `-` that begins with one of the former"
        raise AuthoringError.of(
            label, expected=expected, file=file, field="--label", hint="name one with --label"
        )
    return label


def snapshot_files(named: Sequence[str]) -> tuple[Path, ...]:
    """Return the files that are named, and the `.jsonl` files of the folders, sorted by name.

    Raises:
        AuthoringError: One does not exist, a folder holds none, or two files have one label.
    """
    files: list[Path] = []
    for name in named:
        path = Path(name)
        found = (
            sorted(path.glob("*.jsonl"), key=lambda each: each.name) if path.is_dir() else [path]
        )
        if not found:
            raise AuthoringError.of("there is no .jsonl file in this folder", file=name)
        files.extend(found)
    seen: dict[str, Path] = {}
    for file in files:
        other = seen.setdefault(file.stem.casefold(), file)
        if other is not file:
            hint = "results are told apart by the file's name: rename one"
            raise AuthoringError.of(
                f"{quoted(str(other))} has the same label", file=str(file), hint=hint
            )
    return tuple(files)


def _unmatched(what: str, ids: set[str], path: Path) -> Iterator[Problem]:
    if ids:
        named = ", ".join(quoted(each) for each in sorted(ids)[:NAMED_MAX])
        more = f" and {len(ids) - NAMED_MAX} more" if len(ids) > NAMED_MAX else ""
        yield Problem(f"{what} {named}{more}", file=str(path), field="case_id")


def _bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            data = stream.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        found = "there is no such file" if isinstance(error, FileNotFoundError) else "unreadable"
        raise AuthoringError.of(found, file=str(path)) from None
    if len(data) > FILE_BYTES_MAX:
        raise AuthoringError.of(f"this file is larger than {FILE_BYTES_MAX} bytes", file=str(path))
    return data


def _records(
    data: bytes, path: Path, made: Callable[[_Fields], T | None], identity: Callable[[T], str]
) -> list[T]:
    """Return what every line states; all mistakes are raised together."""
    problems: list[Problem] = []
    records: list[T] = []
    first: dict[str, int] = {}
    for number, text in enumerate(data.split(b"\n"), start=1):
        if not text.strip(b" \t\r"):
            continue
        fields = _Fields(str(path), number, problems)
        record = made(fields) if fields.parsed(text) else None
        if record is None or len(problems) > PROBLEMS_MAX:
            continue
        records.append(record)
        before = first.setdefault(identity(record), number)
        if before != number:
            fields.wrong("case_id", identity(record), f"an id that line {before} does not have")
    if len(first) > LINES_MAX:
        problems.append(Problem(f"there are more than {LINES_MAX} lines", file=str(path)))
    if problems:
        raise AuthoringError(*problems[:PROBLEMS_MAX])
    return records


class _Fields:
    """The fields of one line: each is checked as it is taken, and what is wrong is listed."""

    def __init__(self, file: str, line: int, problems: list[Problem]) -> None:
        self._file, self._line, self._problems = file, line, problems
        self._before = len(problems)
        self.value: JsonObject = {}

    def parsed(self, text: bytes) -> bool:
        """Read the line as an object."""
        try:
            value = parse(text, size_max=LINE_BYTES_MAX)
        except Refused as refusal:
            column = "" if refusal.column is None else f" at column {refusal.column}"
            self._add(Problem(f"{refusal.reason}{column}", field=refusal.path))
            return False
        if not isinstance(value, dict):
            self.wrong("", _kind(value), "an object")
            return False
        self.value = value
        return True

    def wrong(self, field: str, found: str, expected: str, hint: str = "") -> None:
        """List a mistake."""
        self._add(Problem(found, expected, field=field, hint=hint))

    def is_right(self) -> bool:
        """Tell whether nothing of this line was wrong so far."""
        return len(self._problems) == self._before

    def only(self, value: JsonObject, names: Sequence[str], at: str = "") -> None:
        """List the names that are missing, and those that nobody knows."""
        for name in names:
            if name not in value:
                self.wrong(f"{at}{name}", "", "this field")
        for name in value:
            if name not in names:
                hint = closest(name, names)
                self._add(Problem("there is no such field", field=f"{at}{name}", hint=hint))

    def text(self, value: JsonObject, name: str, at: str = "") -> str:
        """Return a text that is not blank."""
        found = value.get(name)
        if isinstance(found, str) and found.strip():
            return found
        if name in value:
            self.wrong(f"{at}{name}", _kind(found), "a text that is not blank")
        return ""

    def object(self, value: JsonObject, name: str, at: str = "") -> JsonObject:
        """Return an object."""
        found = value.get(name)
        if isinstance(found, dict):
            return found
        if name in value:
            self.wrong(f"{at}{name}", _kind(found), "an object")
        return {}

    def list(self, value: JsonObject, name: str, at: str = "") -> Sequence[JsonValue]:
        """Return a list."""
        found = value.get(name)
        if isinstance(found, list):
            return found
        if name in value:
            self.wrong(f"{at}{name}", _kind(found), "a list")
        return ()

    def texts(self, value: JsonObject, name: str, at: str = "") -> tuple[str, ...]:
        """Return a list of texts that are not blank, none of them twice."""
        texts: dict[str, None] = {}
        for index, found in enumerate(self.list(value, name, at)):
            field = f"{at}{name}[{index}]"
            if not isinstance(found, str) or not found.strip():
                self.wrong(field, _kind(found), "a text that is not blank")
            elif found in texts:
                self.wrong(field, found, "each of them once")
            else:
                texts[found] = None
        return tuple(texts)

    def number(self, value: JsonObject, name: str) -> Fraction:
        """Return a finite number of 0 or more, exactly as it was written."""
        found = value.get(name)
        is_number = isinstance(found, int | float) and not isinstance(found, bool)
        if is_number and isinstance(found, int | float) and found >= 0:
            return exact(found)
        if name in value:
            self.wrong(name, str(found) if is_number else _kind(found), "a number of 0 or more")
        return Fraction(0)

    def _add(self, problem: Problem) -> None:
        self._problems.append(
            Problem(
                problem.found,
                problem.expected,
                self._file,
                self._line,
                problem.field,
                problem.hint,
            )
        )


def _case(fields: _Fields) -> Case | None:
    value = fields.value
    fields.only(value, _CASE)
    severity = fields.text(value, "severity")
    if severity and severity not in SEVERITIES:
        fields.wrong("severity", severity, f"one of {', '.join(SEVERITIES)}")
    expected = _expected(fields, fields.object(value, "expected"))
    case = Case(
        fields.text(value, "case_id"),
        fields.text(value, "title"),
        severity,
        fields.object(value, "input"),
        expected,
    )
    return case if fields.is_right() else None


def _expected(fields: _Fields, value: JsonObject) -> Expected:
    at = "expected."
    if value or isinstance(fields.value.get("expected"), dict):
        fields.only(value, _EXPECTED, at)
    expected = Expected(
        fields.text(value, "decision", at),
        fields.text(value, "tool_name", at),
        fields.object(value, "required_args", at),
        fields.texts(value, "required_citations", at),
        fields.texts(value, "forbidden_tools", at),
    )
    if expected.tool_name == NO_TOOL and expected.required_args:
        fields.wrong(f"{at}required_args", "arguments", f"none, since the tool_name is `{NO_TOOL}`")
    if NO_TOOL in expected.forbidden_tools:
        fields.wrong(f"{at}forbidden_tools", NO_TOOL, "names of tools")
    if expected.tool_name in expected.forbidden_tools:
        fields.wrong(
            f"{at}forbidden_tools", expected.tool_name, "a tool that is not the required one"
        )
    return expected


def _output(fields: _Fields) -> Output | None:
    value = fields.value
    fields.only(value, _OUTPUT)
    calls = tuple(
        _call(fields, call, f"tool_calls[{index}]")
        for index, call in enumerate(fields.list(value, "tool_calls"))
    )
    output = Output(
        fields.text(value, "case_id"),
        fields.text(value, "decision"),
        calls,
        fields.texts(value, "citations"),
        fields.number(value, "latency_ms"),
        fields.number(value, "cost_usd"),
    )
    return output if fields.is_right() else None


def _call(fields: _Fields, call: JsonValue, at: str) -> RecordedCall:
    if not isinstance(call, dict):
        fields.wrong(at, _kind(call), "an object")
        return RecordedCall("", {})
    fields.only(call, _CALL, f"{at}.")
    return RecordedCall(
        fields.text(call, "name", f"{at}."), fields.object(call, "arguments", f"{at}.")
    )


def _tools(expected: Expected) -> Iterator[str]:
    yield from expected.forbidden_tools
    if expected.tool_name != NO_TOOL:
        yield expected.tool_name


def _kind(value: JsonValue) -> str:
    """Return a value's kind, never the value: outputs may hold anything."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return "a blank text" if not value.strip() else "a text"
        case int() | float():
            return "a number"
        case list():
            return "a list"
        case _:
            return "an object"
