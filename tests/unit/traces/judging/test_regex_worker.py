"""Trusted patterns run in a process that cannot outlive its limits; no answer fails the trace."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from arh.traces.authoring.policy import Policy
from arh.traces.judging import regex_process, regex_worker
from arh.traces.judging.regex_worker import Worker
from arh.traces.judging.report import TraceReport
from arh.traces.judging.validator import validate_trace
from arh.traces.trace import Trace
from tests.controls.trace_cases import TRACE, call, said

LOOKAHEAD = r"pass(?=word)"


@pytest.fixture
def worker() -> Iterator[Worker]:
    """A worker whose process is ended."""
    with Worker() as one:
        yield one


def test_it_runs_what_the_linear_engine_cannot(worker: Worker) -> None:
    """And nothing else."""
    assert worker.runs(LOOKAHEAD)
    assert not worker.runs("password")
    assert worker.searches(LOOKAHEAD, "my PASSword") == (3, 7)
    assert worker.searches(LOOKAHEAD, "passport") is False
    assert worker.matches(r"(a)\1", "aa") is True
    assert worker.matches(r"(a)\1", "aab") is False


@pytest.mark.slow
def test_many_requests_are_not_one_that_is_slow(worker: Worker) -> None:
    """Each has its own limit on time: how long a trace is decides nothing."""
    slow = r"(?<!x)(a|b|c|d)*word"
    text = "abcd" * 1_500
    answers = [worker.searches(slow, text) for _ in range(6)]

    assert answers == [False] * 6


@pytest.mark.slow
def test_a_pattern_that_explodes_has_no_answer(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process is ended by its limit, and after a few times none is started any more."""
    monkeypatch.setattr(regex_worker, "ANSWER_SECONDS_MAX", 0.5)
    for _ in range(regex_worker.RESTARTS_MAX + 1):
        assert worker.matches(r"(a+)+(?=b)", "a" * 40) is None
    assert worker.matches(LOOKAHEAD, "pass") is None


def test_without_an_answer_a_trace_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Text that was not scanned is not known to be safe."""
    monkeypatch.setattr(regex_worker, "ANSWER_SECONDS_MAX", 0.3)
    monkeypatch.setattr(regex_worker, "RESTARTS_MAX", 0)
    report = judged([r"(a+)+(?=b)"], said("s", "a" * 40))

    assert {"ARH-SAF-003"} == {each.rule_id for each in report.findings}
    assert not report.passed


def judged(patterns: list[str], *steps: object, **tools: object) -> TraceReport:
    """The report on steps by a policy with trusted patterns."""
    document = {
        "policy_id": "p",
        "allow_unlisted_tools": True,
        "unsafe_patterns": patterns,
        "trusted_patterns": True,
        "allowed_tools": tools,
    }
    return validate_trace(
        Trace.from_dict({**TRACE, "steps": list(steps)}), Policy.from_dict(document)
    )


def test_rules_use_it() -> None:
    """For unsafe patterns and for patterns of arguments, beside linear ones."""
    tool = {"required_arguments": {"id": {"pattern": r"(?!X)[A-Z]+"}}}
    steps = [
        call("a", "t", {"id": "ABC"}),
        call("b", "t", {"id": "XYZ"}),
        said("c", "PASSWORD key"),
    ]
    report = judged([LOOKAHEAD, "key"], *steps, t=tool)

    assert [f"{each.rule_id}@{each.step_id}" for each in report.findings] == [
        "ARH-SCH-008@b",
        "ARH-SAF-001@c",
        "ARH-SAF-001@c",
    ]


def test_a_pattern_of_no_engine_is_refused_all_the_same() -> None:
    """Trust does not make it a pattern."""
    with pytest.raises(ValueError, match="policy unsafe_patterns contains an invalid regex"):
        judged(["(?=("], said("c", "x"))


def test_the_process_answers_line_by_line() -> None:
    """Its answers are JSON values."""
    assert regex_process._answer("full", "a+", "aa") is True
    assert regex_process._answer("search", "B", "ab") == [1, 2]
    assert regex_process._answer("search", "c", "ab") is False
