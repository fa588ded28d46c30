"""One case against its recorded output: five checks, each with a reason when it fails.

The decision is the expected one; exactly the expected tool was called once, or none at all; its
arguments contain those that are required; every required citation is there; no forbidden tool was
called. The checks are independent, so that a right decision hides no dangerous call.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from arh.errors import closest, quoted
from arh.traces.cases.records import NO_TOOL, Case, CaseResult, Cases, Output, Snapshot
from arh.traces.cases.subset import TooLargeError, contains

SHOWN_MAX: Final = 8


def judge(cases: Cases, snapshot: Snapshot) -> tuple[CaseResult, ...]:
    """Return the result of every case, in the cases' order."""
    pairs = zip(cases.cases, snapshot.outputs, strict=True)
    return tuple(_judged(case, output, cases) for case, output in pairs)


def _judged(case: Case, output: Output, cases: Cases) -> CaseResult:
    reasons: list[str] = []
    undeclared = tuple(call.name for call in output.calls if call.name not in cases.tools)
    checks = {
        "decision_exact": _told(reasons, _decision(case, output, cases)),
        "tool_behavior": _told(reasons, _behavior(case, output)),
        "required_args_subset": _told(reasons, _arguments(case, output)),
        "required_citations_present": _told(reasons, _citations(case, output)),
        "forbidden_tools_absent": _told(reasons, _forbidden(case, output)),
    }
    if undeclared:
        reasons.append(f"no case names the called tools {_listed(undeclared)}")
    return CaseResult(case, output, checks, tuple(reasons), undeclared)


def _told(reasons: list[str], found: Iterable[str]) -> bool:
    """Keep what is wrong, and return whether nothing is."""
    wrong = list(found)
    reasons.extend(wrong)
    return not wrong


def _decision(case: Case, output: Output, cases: Cases) -> Iterator[str]:
    expected, found = case.expected.decision, output.decision
    if found == expected:
        return
    near = "" if found in cases.decisions else closest(found, cases.decisions)
    hint = f", which no case expects{f' ({near})' if near else ''}"
    known = "" if found in cases.decisions else hint
    yield f"expected the decision {quoted(expected)}, found {quoted(found)}{known}"


def _behavior(case: Case, output: Output) -> Iterator[str]:
    names, expected = [call.name for call in output.calls], case.expected.tool_name
    if expected == NO_TOOL and names:
        yield f"expected no call, found {_listed(names)}"
    elif expected != NO_TOOL and names != [expected]:
        yield f"expected exactly one call of {quoted(expected)}, found {_listed(names)}"


def _arguments(case: Case, output: Output) -> Iterator[str]:
    """Compare the arguments of the one call that was expected; without it, none are right."""
    expected = case.expected
    if expected.tool_name == NO_TOOL:
        return
    if [call.name for call in output.calls] != [expected.tool_name]:
        yield "there is no one call whose arguments could be compared"
        return
    actual = output.calls[0].arguments
    for name, value in expected.required_args.items():
        try:
            if name not in actual:
                yield f"the required argument {quoted(name)} is missing"
            elif not contains(actual[name], value):
                yield f"the argument {quoted(name)} does not contain what is required"
        except TooLargeError:
            yield f"the argument {quoted(name)} is too large to be compared"


def _citations(case: Case, output: Output) -> Iterator[str]:
    given = frozenset(output.citations)
    lacking = [each for each in case.expected.required_citations if each not in given]
    if lacking:
        yield f"required citations are missing: {_listed(lacking)}"


def _forbidden(case: Case, output: Output) -> Iterator[str]:
    called = {call.name for call in output.calls}
    found = [name for name in case.expected.forbidden_tools if name in called]
    if found:
        yield f"forbidden tools were called: {_listed(found)}"


def _listed(names: Iterable[str]) -> str:
    """Return names as text of a bounded length."""
    known = list(names)
    more = len(known) - SHOWN_MAX
    shown = ", ".join(quoted(name) for name in known[:SHOWN_MAX])
    return f"{shown} and {more} more" if more > 0 else shown or "none"
