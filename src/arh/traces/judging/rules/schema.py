"""Rules of category `schema`: each tool call against the schema of its tool, and ids of steps.

A call is one check; it holds unless an error is found on it. What is undeclared, or declared with a
type that does not exist, is said and costs nothing.
"""

from __future__ import annotations

from typing import Final

from arh.canonical import JsonValue
from arh.traces.authoring.arg_specs import FITS, ArgSpec, is_number, nearest_type
from arh.traces.authoring.patterns import matches
from arh.traces.authoring.policy import Policy, ToolSchema
from arh.traces.findings import Judged, shown
from arh.traces.judging.facts import Facts, identity, plain
from arh.traces.judging.regex_worker import Worker
from arh.traces.trace import Step, shown_type


def judge(facts: Facts, policy: Policy, worker: Worker | None = None) -> Judged:
    """Return what is wrong with the calls of a trace."""
    judged = Judged("schema", applicable=bool(facts.calls))
    for step in facts.calls:
        before = judged.errors
        _judge_call(judged, facts, policy, step, worker)
        judged.check(holds=judged.errors == before)
    return judged


def lint(facts: Facts) -> Judged:
    """Return which ids several steps share."""
    judged = Judged("schema")
    steps = facts.trace.steps
    ids = [facts.anchor(step) for step in steps]
    if len(set(ids)) == len(ids):
        return judged
    counts: dict[str, int] = {}
    for each in ids:
        counts[each] = counts.get(each, 0) + 1
    for each, count in counts.items():
        if count > 1:
            judged.add("ARH-SCH-010", f"{count} steps have the id {shown(each)}", each)
    return judged


def _judge_call(
    judged: Judged, facts: Facts, policy: Policy, step: Step, worker: Worker | None
) -> None:
    if not step.tool_name:
        judged.add("ARH-SCH-002", "the call names no tool", facts.anchor(step))
        return
    schema = policy.allowed_tools.get(step.tool_name)
    if schema is not None:
        arguments = step.arguments or {}
        if not _is_surely_right(schema, arguments):
            _Call(judged, facts, step, schema, worker).judge(arguments)
    elif not policy.allow_unlisted_tools:
        judged.add(
            "ARH-SCH-001",
            f"tool {shown(step.tool_name)} is not listed in the policy",
            facts.anchor(step),
            expected="a tool of `allowed_tools`",
            observed=shown(step.tool_name),
            subject=step.tool_name,
        )


def _is_surely_right(schema: ToolSchema, arguments: dict[str, JsonValue]) -> bool:
    """Return whether nothing is wrong with the arguments, at a glance: most calls end here."""
    if not schema.required_arguments.keys() <= arguments.keys():
        return False
    declared = schema.declared
    for name, value in arguments.items():
        spec = declared.get(name)
        if spec is None or not spec.is_surely_right(value):
            return False
    return True


class _Call:
    """One call against the schema of its tool."""

    __slots__ = ("facts", "judged", "schema", "step", "worker")

    def __init__(
        self,
        judged: Judged,
        facts: Facts,
        step: Step,
        schema: ToolSchema,
        worker: Worker | None,
    ) -> None:
        self.judged = judged
        self.facts = facts
        self.step = step
        self.schema = schema
        self.worker = worker

    def judge(self, arguments: dict[str, JsonValue]) -> None:
        """Judge that all required arguments are there, then each that is there."""
        for name in self.schema.required_arguments:
            if name not in arguments:
                self._found("ARH-SCH-003", name, "is missing", "a value", "no value")
        for name, value in arguments.items():
            spec = self.schema.declared.get(name)
            if spec is None:
                self._found("ARH-SCH-005", name, "is not declared")
            elif not spec.is_surely_right(value):
                self._value(name, value, spec)

    def _found(
        self,
        rule: str,
        name: str,
        said: str,
        expected: str | None = None,
        observed: str | None = None,
    ) -> None:
        self.judged.add(
            rule,
            f"argument {shown(name)} of {shown(self.step.tool_name or '')} {said}",
            self.facts.anchor(self.step),
            expected=expected,
            observed=observed,
            subject=name,
        )

    def _value(self, name: str, value: JsonValue, spec: ArgSpec) -> None:
        """Judge the type; then, if it is right, what else is asked of the value."""
        known = FITS.get(spec.type)
        if known is None:
            hint = nearest_type(spec.type)
            said = f"has the declared type {shown(spec.type)}, which does not exist"
            self._found("ARH-SCH-006", name, f"{said}; {hint}" if hint else said)
        elif not known(value):
            found = _python_type(value)
            self._found("ARH-SCH-004", name, f"is {found}, not {spec.type}", spec.type, found)
            return
        if spec.enum is not None and not self._is_member(value, spec.enum):
            options = ", ".join(_value_shown(each) for each in spec.enum[:8])
            self._found("ARH-SCH-007", name, "is none of the allowed values", options, _kind(value))
        if spec.pattern is not None and isinstance(value, str):
            self._text(name, value, spec.pattern)
        self._bounds(name, value, spec)

    def _is_member(self, value: JsonValue, enum: tuple[JsonValue, ...]) -> bool:
        """Return whether a value is one of the allowed ones; true is not 1."""
        if self.facts.compat:
            return value in enum
        return any(_equal(value, each) for each in enum)

    def _text(self, name: str, value: str, pattern: str) -> None:
        if self.worker is not None and self.worker.runs(pattern):
            matched = self.worker.matches(pattern, value)
            if matched is None:
                self.judged.add(
                    "ARH-SAF-003",
                    f"the pattern of argument {shown(name)} came to no end",
                    self.facts.anchor(self.step),
                    subject=name,
                )
        else:
            matched = matches(pattern, value)
        if not matched:
            said = "does not match its pattern"
            self._found("ARH-SCH-008", name, said, f"a match of {shown(pattern)}", _kind(value))

    def _bounds(self, name: str, value: JsonValue, spec: ArgSpec) -> None:
        if type(value) is not int and type(value) is not float:
            return
        below = spec.min is not None and not value >= spec.min
        above = spec.max is not None and not value <= spec.max
        if below or above:
            least = "" if spec.min is None else f">= {plain(spec.min)}"
            most = "" if spec.max is None else f"<= {plain(spec.max)}"
            expected = " and ".join(filter(None, (least, most)))
            observed = _number_shown(value)
            self._found("ARH-SCH-009", name, f"is {observed}", expected, observed)


def _equal(value: JsonValue, other: JsonValue) -> bool:
    """Return whether two values are the same JSON value: 1 and 1.0 are, 1 and true are not."""
    if type(value) is type(other) and not isinstance(value, dict | list):
        return value == other
    if is_number(value) and is_number(other):
        return value == other
    if type(value) is not type(other):
        return False
    try:
        return identity(value) == identity(other)
    except (TypeError, ValueError, RecursionError):  # no JSON value, which is none of the allowed
        return False


BITS_SHOWN_MAX: Final = 128


def _python_type(value: object) -> str:
    """Return the type's name as policies name types."""
    return "null" if value is None else type(value).__name__


def _kind(value: object) -> str:
    """Return what a value is without what it says: it may be a secret, and reports are public."""
    if isinstance(value, str):
        return f"text of {len(value)} characters"
    return _number_shown(value) if is_number(value) else shown_type(value)


def _number_shown(value: object) -> str:
    if isinstance(value, int) and value.bit_length() > BITS_SHOWN_MAX:
        return f"a number of {value.bit_length()} bits"
    return str(value)


def _value_shown(value: JsonValue) -> str:
    """Return an allowed value, which the policy states."""
    return shown(value) if isinstance(value, str) else shown_type(value)
