"""What cannot be compared is refused, with file, line and field, all mistakes at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from arh.errors import AuthoringError
from arh.traces.cases.reading import checked_label, read_cases, read_snapshot, snapshot_files
from tests.unit.traces.cases.made import case, changed, output, written


def refused_cases(path: Path, *rows: object) -> str:
    """Return what the reader says of a file of cases."""
    file = written(path / "cases.jsonl", rows)  # type: ignore[arg-type]
    with pytest.raises(AuthoringError) as refusal:
        read_cases(file)
    return str(refusal.value)


def refused_outputs(path: Path, *rows: object) -> str:
    """Return what the reader says of the outputs for one case `c-1`."""
    cases = read_cases(written(path / "cases.jsonl", [case("c-1")]))
    file = written(path / "outputs.jsonl", rows)  # type: ignore[arg-type]
    with pytest.raises(AuthoringError) as refusal:
        read_snapshot(file, cases)
    return str(refusal.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"case_id": " "}, "`case_id`: expected a text that is not blank"),
        ({"title": 3}, "`title`: expected a text that is not blank, found `a number`"),
        ({"severity": "high"}, "`severity`: expected one of critical, major, minor, found `high`"),
        ({"input": []}, "`input`: expected an object, found `a list`"),
        ({"decision": None}, "`expected.decision`: expected a text that is not blank"),
        ({"required_args": []}, "`expected.required_args`: expected an object"),
        ({"tool_name": "none"}, "`expected.required_args`: expected none, since the tool_name"),
        ({"forbidden_tools": ["create_refund"]}, "a tool that is not the required one"),
        ({"forbidden_tools": ["a", "a"]}, "`expected.forbidden_tools[1]`: expected each of them"),
        ({"required_citations": "x"}, "`expected.required_citations`: expected a list"),
        ({"required_citations": [""]}, "`expected.required_citations[0]`: expected a text"),
        ({"expected": 1}, "`expected`: expected an object"),
    ],
)
def test_a_wrong_case_is_refused(tmp_path: Path, changes: dict[str, object], message: str) -> None:
    """Each mistake names its field."""
    told = refused_cases(tmp_path, case("c-1"), changed(case("c-2"), changes))

    assert message in told
    assert "cases.jsonl:2:" in told


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"decision": 1}, "`decision`: expected a text that is not blank"),
        ({"tool_calls": {}}, "`tool_calls`: expected a list, found `an object`"),
        ({"tool_calls": ["x"]}, "`tool_calls[0]`: expected an object"),
        ({"tool_calls": [{"name": "t"}]}, "`tool_calls[0].arguments`: expected this field"),
        ({"tool_calls": [{"name": "t", "arguments": "{}"}]}, "`tool_calls[0].arguments`: expected"),
        ({"citations": ["a", "a"]}, "`citations[1]`: expected each of them once"),
        ({"latency_ms": True}, "`latency_ms`: expected a number of 0 or more, found `true`"),
        ({"latency_ms": -1}, "`latency_ms`: expected a number of 0 or more, found `-1`"),
        ({"cost_usd": "0.1"}, "`cost_usd`: expected a number of 0 or more, found `a text`"),
        ({"latency": 1}, "`latency`: there is no such field; did you mean `latency_ms`?"),
    ],
)
def test_a_wrong_output_is_refused(
    tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    """Each mistake names its field."""
    told = refused_outputs(tmp_path, output("c-1", **changes))

    assert message in told
    assert "outputs.jsonl:1:" in told


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"case_id": "c-1"', "cut short"),
        ('{"case_id": "c-1", "case_id": "c-2"}', "duplicate key"),
        ('{"latency_ms": NaN}', "malformed"),
        ('{"latency_ms": 1e999}', "not finite"),
        ("[]", "expected an object, found `a list`"),
        ('"' + "\\ud800" + '"', "lone surrogate"),
    ],
)
def test_a_line_that_is_no_strict_json_is_refused(tmp_path: Path, line: str, message: str) -> None:
    """What two readers could read in two ways is read in none."""
    assert message in refused_outputs(tmp_path, line)


def test_every_mistake_is_listed_at_once(tmp_path: Path) -> None:
    """Nobody mends one line after the other."""
    told = refused_cases(tmp_path, case("c-1", severity="x"), "{", case("c-3", title=""))

    assert [f"cases.jsonl:{line}:" in told for line in (1, 2, 3)] == [True] * 3


def test_an_id_is_there_once(tmp_path: Path) -> None:
    """The second place names the first."""
    told = refused_cases(tmp_path, case("c-1"), case("c-1"))

    assert "cases.jsonl:2: `case_id`: expected an id that line 1 does not have" in told


def test_every_case_has_one_output(tmp_path: Path) -> None:
    """What is missing and what is too much are both named."""
    told = refused_outputs(tmp_path, output("c-2"))

    assert "there is no output for the cases `c-1`" in told
    assert "there is no case for the outputs `c-2`" in told


def test_no_cases_are_no_gate(tmp_path: Path) -> None:
    """An empty file decides nothing."""
    assert "there are no cases in it" in refused_cases(tmp_path)


def test_outputs_are_taken_in_the_order_of_the_cases(tmp_path: Path) -> None:
    """Whatever order they were recorded in."""
    cases = read_cases(written(tmp_path / "cases.jsonl", [case("a"), case("b")]))
    snapshot = read_snapshot(written(tmp_path / "s.jsonl", [output("b"), output("a")]), cases)

    assert [each.case_id for each in snapshot.outputs] == ["a", "b"]
    assert snapshot.label == "s"


@pytest.mark.parametrize(
    "label", ["", ".hidden", "../up", "a/b", "a b", "a\n", "-x", "é", "x" * 101]
)
def test_a_label_that_is_no_safe_name_is_refused(label: str) -> None:
    """It becomes the name of a file."""
    with pytest.raises(AuthoringError, match="a label of letters"):
        checked_label(label)


def test_a_folder_is_read_in_the_order_of_its_names(tmp_path: Path) -> None:
    """And nothing else in it is."""
    for name in ("b.jsonl", "a.jsonl", "notes.txt"):
        written(tmp_path / name, [])

    assert [file.name for file in snapshot_files([str(tmp_path)])] == ["a.jsonl", "b.jsonl"]


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    """Nothing to judge is no pass."""
    with pytest.raises(AuthoringError, match=r"there is no \.jsonl file in this folder"):
        snapshot_files([str(tmp_path)])


def test_two_files_of_one_label_are_refused(tmp_path: Path) -> None:
    """One result would stand in for the other, on a disk that ignores case too."""
    one = written(tmp_path / "a" / "v1.jsonl", [])
    two = written(tmp_path / "b" / "V1.jsonl", [])

    with pytest.raises(AuthoringError, match="has the same label"):
        snapshot_files([str(one), str(two)])
