"""An error message says where, what was expected and found, and what to do; input is inert."""

from __future__ import annotations

import pickle

import pytest

from arh.errors import AuthoringError, Problem, RunStopped, closest, quoted, safe

KINDS = ("count", "equals", "exists")


def test_a_problem_reads_as_one_line_from_place_to_next_step() -> None:
    """File, line, field, expectation, finding and hint stand in this order."""
    problem = Problem(
        found="cuont",
        expected="one of `count`, `equals`, `exists`",
        file="scenarios/x.jsonl",
        line=3,
        field="expectations.outcome[0].kind",
        hint=closest("cuont", KINDS),
    )

    expected = (
        "scenarios/x.jsonl:3: `expectations.outcome[0].kind`: expected one of `count`, `equals`, "
        "`exists`, found `cuont`; did you mean `count`?"
    )
    assert expected == str(problem)


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        (Problem("the file is empty"), "the file is empty"),
        (Problem("the file is empty", file="a.jsonl"), "a.jsonl: the file is empty"),
        (Problem("cut short", line=0), "line 0: cut short"),
        (
            Problem("", expected="a list", field="outcome"),
            "`outcome`: expected a list, found nothing",
        ),
        (
            Problem("a rule id is used twice", hint="rename one"),
            "a rule id is used twice; rename one",
        ),
    ],
)
def test_a_problem_leaves_out_what_it_does_not_know(problem: Problem, expected: str) -> None:
    """Every part but `found` may be missing."""
    assert expected == str(problem)


def test_an_authoring_error_lists_all_its_problems() -> None:
    """One line a problem, in the order in which they were found, and the problems as records."""
    first, second = Problem("first", file="a"), Problem("second", file="b")
    error = AuthoringError(first, second)

    assert error.problems == (first, second)
    assert str(error) == "a: first\nb: second"


def test_of_makes_the_error_of_one_problem() -> None:
    """The keywords are the fields of the problem."""
    error = AuthoringError.of("x", expected="y", file="f", line=1, field="g", hint="h")

    assert error.problems == (Problem("x", "y", "f", 1, "g", "h"),)


@pytest.mark.parametrize(
    "error", [AuthoringError(Problem("x"), Problem("y", line=2)), RunStopped("watchdog", "late")]
)
def test_an_error_survives_pickling(error: AuthoringError | RunStopped) -> None:
    """A worker process can hand its error over whole."""
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes

    assert vars(error) == vars(again)
    assert str(error) == str(again)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("é 漢 😀", "é 漢 😀"),
        ("a\nb\r\tc", "a\\nb\\r\\tc"),
        ("\x1b[31mred\x00", "\\x1b[31mred\\x00"),
        ("user\u202egnp.exe", "user\\u202egnp.exe"),
        ("zero\u200bwidth\u2066", "zero\\u200bwidth\\u2066"),
        ("line\u2028end\x85", "line\\u2028end\\x85"),
        ("half\ud800", "half\\ud800"),
        ("tag\U000e0041", "tag\\U000e0041"),
        ("\x9b31m", "\\x9b31m"),
    ],
)
def test_what_does_not_print_is_shown_as_an_escape(text: str, expected: str) -> None:
    """No control, line end, bidi, zero-width, tag or surrogate character reaches a terminal."""
    assert expected == safe(text)


def test_a_forged_line_stays_inside_its_own() -> None:
    """A newline in a file name, a field or a finding does not begin a line of output."""
    evil = "x\nscenarios/ok.jsonl:1: all good"
    problem = Problem(evil, expected=evil, file=evil, field=evil, hint=evil)

    assert len(str(problem).splitlines()) == 1


def test_a_backtick_cannot_close_the_quotation() -> None:
    """Quoted text has exactly the two backticks around it."""
    assert quoted("a`b") == "`a\\x60b`"


def test_long_text_is_cut_and_the_rest_counted() -> None:
    """200 quoted characters and 1,000 of a sentence are shown, and how many are not."""
    assert quoted("a" * 200) == f"`{'a' * 200}`"
    assert quoted("a" * 5_000) == f"`{'a' * 200}` (4800 more characters)"
    assert safe("a" * 1_001) == f"{'a' * 1_000} (1 more characters)"


def test_the_nearest_known_word_is_offered() -> None:
    """A slip gets the word that was meant, whatever the order of the known words."""
    assert closest("exsits", KINDS) == "did you mean `exists`?"
    assert closest("exsits", reversed(KINDS)) == "did you mean `exists`?"


@pytest.mark.parametrize(("word", "known"), [("zzzzz", KINDS), ("count", ()), ("", KINDS)])
def test_no_word_is_offered_when_none_is_near(word: str, known: tuple[str, ...]) -> None:
    """The hint is empty rather than far-fetched."""
    assert closest(word, known) == ""


def test_a_huge_word_is_compared_only_in_part() -> None:
    """A megabyte where a word should be costs no more than a word."""
    assert closest("count" * 200_000, KINDS) == ""


def test_a_stopped_run_passes_an_agent_that_catches_exceptions() -> None:
    """`RunStopped` is no `Exception`, and reads as its termination and detail."""
    assert not issubclass(RunStopped, Exception)
    assert str(RunStopped("watchdog", "120 calls\n")) == "watchdog: 120 calls\\n"
    assert str(RunStopped("watchdog")) == "watchdog"


def test_no_text_is_a_command_of_a_ci_system() -> None:
    """`##[` and `##vso[` are obeyed in the middle of a line too; one hash is only shown."""
    shown = [safe("a ##[group]b"), quoted("###vso[task.complete]"), safe("# a")]

    assert shown == ["a #\\x23[group]b", "`#\\x23#vso[task.complete]`", "# a"]
    assert not any("##" in each for each in shown)
