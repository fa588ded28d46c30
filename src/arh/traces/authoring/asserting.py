"""Inline assertions and how each is judged: over the calls of a trace, or over its own example.

An assertion answers with an `Outcome`: whether it holds, what was expected and found, and whether
it was exercised. `exercised` is false when nothing that was recorded could have broken it, and
`None` when that is not known. Every judgement is one pass over the calls. Calls that failed count
as calls, unless a `status` says otherwise.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, Protocol, TypeAlias

from arh.canonical import Json, JsonValue
from arh.regex import searchable
from arh.schema import compiled as compiled_schema
from arh.traces.authoring import patterns
from arh.traces.findings import shown

Expect: TypeAlias = Literal["pass", "fail"]

SHOWN_CALLS_MAX: Final = 8
_SELECTORS: Final = ("selector", "first", "then", "trigger", "forbidden")


@dataclass(frozen=True, slots=True)
class Call:
    """One call that was recorded: `anchor` names its step."""

    tool: str
    arguments: dict[str, JsonValue] | None = None
    status: str = "ok"
    anchor: str | None = None


@dataclass(frozen=True, slots=True)
class Recorded:
    """What assertions are judged over. `offered` is `None` where it is not known."""

    calls: tuple[Call, ...]
    steps: int
    offered: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """Whether an assertion holds. `anchor` names the step that breaks it, if one does."""

    holds: bool
    expected: str
    observed: str
    anchor: str | None = None
    exercised: bool | None = True


class Body(Protocol):
    """What an assertion of one type says."""

    def judge(self, recorded: Recorded) -> Outcome:
        """Return whether it holds over what was recorded."""
        ...


@dataclass(frozen=True, slots=True)
class Assertion:
    """An assertion as it stands at `path` of its document."""

    type: str
    path: str
    body: Body

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools whose recorded calls it is about, as far as it names them."""
        parts = [getattr(self.body, name, None) for name in _SELECTORS]
        named = [part.tool for part in parts if isinstance(part, Selector)]
        sequence: tuple[str, ...] = getattr(self.body, "tools", ())
        return tuple(dict.fromkeys((*named, *sequence)))


@dataclass(frozen=True, slots=True)
class Selector:
    """Calls of a tool, of a status if one is named, whose arguments match their patterns.

    A pattern has to match the whole text of its argument; what is no text is matched as JSON, and a
    number without a fraction also as an integer: 100.0 and 100 are the same amount.
    """

    tool: str
    arguments: tuple[tuple[str, str], ...] = ()
    status: str = "any"

    def selects(self, call: Call) -> bool:
        """Return whether the call is one of them."""
        return (
            call.tool == self.tool
            and self.status in {"any", call.status}
            and all(_matches(call.arguments or {}, name, text) for name, text in self.arguments)
        )

    def among(self, recorded: Recorded) -> Iterator[tuple[int, Call]]:
        """Yield the calls that are, each with its place among all calls."""
        return ((at, call) for at, call in enumerate(recorded.calls) if self.selects(call))

    def __str__(self) -> str:
        """Read as the tool and its conditions."""
        conditions = [f"{shown(name)} matches {shown(text)}" for name, text in self.arguments]
        conditions += [] if self.status == "any" else [f"status {self.status}"]
        return shown(self.tool) + (f" where {' and '.join(conditions)}" if conditions else "")


def _matches(arguments: dict[str, JsonValue], name: str, pattern: str) -> bool:
    if name not in arguments:
        return False
    value = arguments[name]
    if isinstance(value, str):
        return patterns.matches(pattern, value)
    is_whole = isinstance(value, float) and value.is_integer()
    if is_whole and patterns.matches(pattern, f"{value:.0f}"):
        return True
    try:
        return patterns.matches(pattern, json.dumps(value, sort_keys=True))
    except (TypeError, RecursionError):  # no JSON value, which has no text
        return False


@dataclass(frozen=True, slots=True)
class MustCall:
    """At least `least` calls."""

    selector: Selector
    least: int

    def judge(self, recorded: Recorded) -> Outcome:
        """Return whether there are enough."""
        count = sum(1 for _ in self.selector.among(recorded))
        expected = f"at least {self.least} calls of {self.selector}"
        return Outcome(count >= self.least, expected, f"{count} calls")


@dataclass(frozen=True, slots=True)
class MustNotCall:
    """No call at all."""

    selector: Selector

    def judge(self, recorded: Recorded) -> Outcome:
        """Return whether there is none."""
        expected = f"no call of {self.selector}"
        found = next(self.selector.among(recorded), None)
        if found is not None:
            at, call = found
            return Outcome(
                holds=False, expected=expected, observed=f"call {at + 1} is one", anchor=call.anchor
            )
        return Outcome(
            holds=True,
            expected=expected,
            observed="no such call",
            exercised=self._exercised(recorded),
        )

    def _exercised(self, recorded: Recorded) -> bool | None:
        if recorded.offered is None:
            return None
        called = any(call.tool == self.selector.tool for call in recorded.calls)
        return called or self.selector.tool in recorded.offered


@dataclass(frozen=True, slots=True)
class ToolSequence:
    """The tools in this order: with other calls in between, or exactly these calls."""

    tools: tuple[str, ...]
    others: bool
    status: str = "any"

    def judge(self, recorded: Recorded) -> Outcome:
        """Return whether they come so."""
        calls = [call for call in recorded.calls if self.status in {"any", call.status}]
        names = [call.tool for call in calls]
        order = " then ".join(map(shown, self.tools)) or "no tool calls"
        expected = f"{order}, other calls allowed" if self.others else f"exactly {order}"
        if self.others:
            rest = iter(names)
            missing = next((tool for tool in self.tools if tool not in rest), None)
            found = "in order" if missing is None else f"no {shown(missing)} after those before it"
            return Outcome(missing is None, expected, found)
        holds = tuple(names) == self.tools
        return Outcome(holds, expected, listed(names), None if holds else self._first(calls))

    def _first(self, calls: list[Call]) -> str | None:
        """Return the step of the first call that is not the one that is due."""
        for at, call in enumerate(calls):
            if at >= len(self.tools) or call.tool != self.tools[at]:
                return call.anchor
        return None


@dataclass(frozen=True, slots=True)
class MaxSteps:
    """At most so many steps."""

    most: int

    def judge(self, recorded: Recorded) -> Outcome:
        """Return whether there are no more."""
        holds = recorded.steps <= self.most
        exercised = recorded.steps > 0
        return Outcome(
            holds, f"at most {self.most} steps", f"{recorded.steps} steps", exercised=exercised
        )


@dataclass(frozen=True, slots=True)
class Before:
    """Each call of `then` comes after one of `first`."""

    first: Selector
    then: Selector

    def judge(self, recorded: Recorded) -> Outcome:
        """Return whether it does; the first call of `then` decides."""
        expected = f"a call of {self.first} before any of {self.then}"
        seen = False
        for at, call in enumerate(recorded.calls):
            if self.then.selects(call):
                found = "one came before" if seen else f"call {at + 1} has none before it"
                return Outcome(seen, expected, found, None if seen else call.anchor)
            seen = seen or self.first.selects(call)
        return Outcome(
            holds=True, expected=expected, observed=f"no call of {self.then}", exercised=False
        )


@dataclass(frozen=True, slots=True)
class After:
    """After each call of `trigger` comes one of `then`, within so many calls if that is said."""

    trigger: Selector
    then: Selector
    within: int | None = None

    def judge(self, recorded: Recorded) -> Outcome:
        """Return whether it does, read from the end: the next `then` is known at each call."""
        span = "" if self.within is None else f" within {self.within} calls"
        expected = f"a call of {self.then} after each of {self.trigger}{span}"
        following: int | None = None
        broken: tuple[int, Call] | None = None
        triggered = False
        for at in range(len(recorded.calls) - 1, -1, -1):
            call = recorded.calls[at]
            if self.trigger.selects(call):
                triggered = True
                if following is None or (self.within is not None and following - at > self.within):
                    broken = (at, call)
            if self.then.selects(call):
                following = at
        if broken:
            return Outcome(
                holds=False,
                expected=expected,
                observed=f"call {broken[0] + 1} has none",
                anchor=broken[1].anchor,
            )
        found = "each has one" if triggered else f"no call of {self.trigger}"
        return Outcome(holds=True, expected=expected, observed=found, exercised=triggered)


@dataclass(frozen=True, slots=True)
class NeverAfter:
    """After the first call of `trigger` there is none of `forbidden`."""

    trigger: Selector
    forbidden: Selector

    def judge(self, recorded: Recorded) -> Outcome:
        """Return whether there is none."""
        expected = f"no call of {self.forbidden} after one of {self.trigger}"
        triggered = False
        for at, call in enumerate(recorded.calls):
            if triggered and self.forbidden.selects(call):
                return Outcome(
                    holds=False,
                    expected=expected,
                    observed=f"call {at + 1} is one",
                    anchor=call.anchor,
                )
            triggered = triggered or self.trigger.selects(call)
        found = "none came after" if triggered else f"no call of {self.trigger}"
        return Outcome(holds=True, expected=expected, observed=found, exercised=triggered)


@dataclass(frozen=True, slots=True)
class Blocklist:
    """No call of a blocked tool, among `example` or, without one, among the recorded calls."""

    blocked: tuple[str, ...]
    expect: Expect = "pass"
    example: tuple[str, ...] | None = None

    def judge(self, recorded: Recorded) -> Outcome:
        """Return whether the answer is the one that is expected."""
        calls = _calls(self.example, recorded)
        blocked = frozenset(self.blocked)
        found = next((call for call in calls if call.tool in blocked), None)
        said = "no blocked call" if found is None else f"a call of {shown(found.tool)}"
        expected = f"no call of {listed(self.blocked)}"
        exercised = None if self.example is None and not calls else True
        return _answer(
            self.expect,
            expected,
            holds=found is None,
            observed=said,
            anchor=None if found is None else found.anchor,
            exercised=exercised,
        )


@dataclass(frozen=True, slots=True)
class SequenceValid:
    """A pattern is found in the names of the calls, joined by one space."""

    regex: str
    expect: Expect = "pass"
    example: tuple[str, ...] | None = None

    def judge(self, recorded: Recorded) -> Outcome:
        """Return whether the answer is the one that is expected."""
        names = [call.tool for call in _calls(self.example, recorded)]
        found = patterns.finder(self.regex).search(searchable(" ".join(names)))
        expected = f"calls in which {shown(self.regex)} is found"
        return _answer(self.expect, expected, holds=found is not None, observed=listed(names))


@dataclass(frozen=True, slots=True)
class ArgsValid:
    """Arguments satisfy a JSON Schema: those of `example`, or of each recorded call of the tool."""

    tool: str
    schema: Json
    expect: Expect = "pass"
    example: Json | None = None

    def judge(self, recorded: Recorded) -> Outcome:
        """Return whether the answer is the one that is expected."""
        expected = f"arguments of {shown(self.tool)} that satisfy the schema"
        if self.example is not None:
            problems = compiled_schema(self.schema).problems(self.example.value())
            return _answer(
                self.expect, expected, holds=not problems, observed="; ".join(problems) or "they do"
            )
        calls = [call for call in recorded.calls if call.tool == self.tool]
        for call in calls:
            said = self._problem(call)
            if said:
                return _answer(
                    self.expect, expected, holds=False, observed=said, anchor=call.anchor
                )
        return _answer(
            self.expect,
            expected,
            holds=True,
            observed=f"{len(calls)} calls that do",
            exercised=bool(calls),
        )

    def _problem(self, call: Call) -> str:
        """Return what is wrong with a call's arguments, or nothing."""
        try:
            return "; ".join(compiled_schema(self.schema).problems(call.arguments or {}))
        except ValueError:  # only from arguments that nobody parsed from JSON
            return "arguments that no schema can judge"


def listed(names: list[str] | tuple[str, ...]) -> str:
    """Return names for a message; of many, the first ones and how many are left out."""
    if not names:
        return "no calls"
    more = len(names) - SHOWN_CALLS_MAX
    text = ", ".join(map(shown, names[:SHOWN_CALLS_MAX]))
    return f"{text} and {more} more" if more > 0 else text


def _calls(example: tuple[str, ...] | None, recorded: Recorded) -> tuple[Call, ...]:
    return recorded.calls if example is None else tuple(map(Call, example))


def _answer(
    expect: Expect,
    expected: str,
    observed: str,
    anchor: str | None = None,
    *,
    holds: bool,
    exercised: bool | None = True,
) -> Outcome:
    """Return the outcome of a check that is expected to pass, or to fail."""
    if expect == "fail":
        if exercised is False:
            return Outcome(
                holds=True, expected=f"not: {expected}", observed=observed, exercised=False
            )
        return Outcome(not holds, f"not: {expected}", observed, exercised=exercised)
    return Outcome(holds, expected, observed, None if holds else anchor, exercised)
