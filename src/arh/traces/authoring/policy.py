"""Policies, schema version 1: what a trajectory must satisfy, strictly read.

An absent section is not applicable: it finds nothing and is left out of the score. Whatever would
make a check weaker than its author believes is refused: an unknown field, the text "false" for
false, a budget that is no finite number. Patterns of arguments are compiled when a policy is read,
unsafe patterns before anything is scanned.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from arh.errors import AuthoringError
from arh.traces.authoring import patterns
from arh.traces.authoring.arg_specs import ArgSpec
from arh.traces.authoring.forms import Form, PolicyRefused
from arh.traces.trace import shown_type, supported_version

if TYPE_CHECKING:
    from arh.traces.authoring.asserting import Assertion

CALL_ORDER_MAX: Final = 1_000
PATTERNS_MAX: Final = 1_000

TOP_KEYS: Final = (
    "$schema",
    "schema_version",
    "policy_id",
    "description",
    "allow_unlisted_tools",
    "allowed_tools",
    "budgets",
    "unsafe_patterns",
    "trusted_patterns",
    "grounding",
    "sequence",
    "error_handling",
    "completion",
    "assertions",
    "expected",
)
TOOL_KEYS: Final = (
    "required_arguments",
    "optional_arguments",
    "side_effect",
    "max_calls",
    "min_calls",
)
ARGUMENT_KEYS: Final = ("type", "enum", "pattern", "min", "max")
BUDGET_KEYS: Final = (
    "max_step_latency_ms",
    "max_total_latency_ms",
    "max_total_cost_usd",
    "max_total_tokens",
)
GROUNDING_KEYS: Final = (
    "require_citations",
    "min_citation_coverage",
    "require_valid_citation_urls",
)
SEQUENCE_KEYS: Final = ("required_tools", "forbidden_tools", "call_order")
ERROR_KEYS: Final = ("require_retry_on_error", "max_attempts")
COMPLETION_KEYS: Final = ("require_final_response", "max_steps")


@dataclass(frozen=True, slots=True)
class ToolSchema:
    """What calls of one tool have to satisfy."""

    required_arguments: dict[str, ArgSpec] = field(default_factory=dict)
    optional_arguments: dict[str, ArgSpec] = field(default_factory=dict)
    side_effect: bool = False
    max_calls: int | None = None
    min_calls: int | None = None
    # Both sections in one: an argument in both is judged by the optional one.
    declared: dict[str, ArgSpec] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Budgets:
    """Limits over a step or a whole trace; `None` is no limit."""

    max_step_latency_ms: float | None = None
    max_total_latency_ms: float | None = None
    max_total_cost_usd: float | None = None
    max_total_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Grounding:
    """What responses that need grounding have to cite."""

    require_citations: bool = False
    min_citation_coverage: float = 0.0
    require_valid_citation_urls: bool = False


@dataclass(frozen=True, slots=True)
class Sequence:
    """Which tools must, must not, and in which order may be called."""

    required_tools: tuple[str, ...] = ()
    forbidden_tools: tuple[str, ...] = ()
    call_order: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ErrorHandling:
    """What has to happen after a failed call."""

    require_retry_on_error: bool = False
    max_attempts: int | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """How a trace has to end."""

    require_final_response: bool = False
    max_steps: int | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy. `digest` tells two policies of the same id apart."""

    policy_id: str
    schema_version: str = "1"
    allow_unlisted_tools: bool = False
    allowed_tools: dict[str, ToolSchema] = field(default_factory=dict)
    budgets: Budgets = Budgets()
    unsafe_patterns: tuple[str, ...] = ()
    trusted_patterns: bool = False
    grounding: Grounding = Grounding()
    sequence: Sequence = Sequence()
    error_handling: ErrorHandling = ErrorHandling()
    completion: Completion = Completion()
    assertions: tuple[Assertion, ...] = ()
    digest: str = ""

    @classmethod
    def from_dict(cls, data: object) -> Policy:
        """Return the policy that a JSON object states.

        Raises:
            PolicyRefused: It states none; all mistakes are said together, each with its path.
        """
        if not isinstance(data, dict):
            raise PolicyRefused.of(f"a policy must be an object, found {shown_type(data)}")
        form = Form("policy", data)
        version = _version(form)
        if "policy_id" not in data:
            form.note("policy_id", "policy field 'policy_id' is missing", "give the policy a name")
        form.only(*TOP_KEYS)
        trusted = form.flag("trusted_patterns")
        policy = cls(
            policy_id=str(data.get("policy_id")),
            schema_version=version,
            allow_unlisted_tools=form.flag("allow_unlisted_tools"),
            allowed_tools=_tools(form.section("allowed_tools"), trusted=trusted),
            budgets=_budgets(form.section("budgets")),
            unsafe_patterns=_unsafe_patterns(form),
            trusted_patterns=trusted,
            grounding=_grounding(form.section("grounding")),
            sequence=_sequence(form.section("sequence")),
            error_handling=_error_handling(form.section("error_handling")),
            completion=_completion(form.section("completion")),
            assertions=_assertions(form),
            digest=_digest(data),
        )
        form.refuse()
        return policy

    def check_patterns(self) -> None:
        """Return only if every unsafe pattern can be run.

        Raises:
            PolicyRefused: One cannot; says which and why.
        """
        for at, pattern in enumerate(self.unsafe_patterns):
            said = pattern_problem(pattern, full=False, trusted=self.trusted_patterns)
            if said:
                raise PolicyRefused.of(
                    f"policy unsafe_patterns contains an invalid regex: {said}",
                    field=f"unsafe_patterns[{at}]",
                    hint=_pattern_hint(pattern),
                )


def pattern_problem(pattern: str, *, full: bool, trusted: bool) -> str:
    """Return why a pattern cannot be run, or nothing."""
    said = patterns.linear_problem(pattern, full=full)
    if said and trusted:
        return patterns.backtracking_problem(pattern)
    return said


def _pattern_hint(pattern: str) -> str:
    if patterns.backtracking_problem(pattern):
        return "correct the pattern"
    return "rewrite it, or set `trusted_patterns` to run such patterns in a process with limits"


def _assertions(form: Form) -> tuple[Assertion, ...]:
    if form.data.get("assertions") is None and form.data.get("expected") is None:
        return ()
    from arh.traces.authoring.assertions import read_assertions

    return read_assertions(form)


def _version(form: Form) -> str:
    try:
        return supported_version(form.data.get("schema_version"), "policy")
    except AuthoringError as error:
        form.note("schema_version", error.problems[0].found, "use `schema_version` 1")
        return "1"


def _digest(data: object) -> str:
    """Return a digest that two policies share only if they say the same."""
    try:
        text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise PolicyRefused.of(f"a policy must be JSON: {type(error).__name__}") from None
    return hashlib.sha256(text.encode()).hexdigest()


def _tools(form: Form | None, *, trusted: bool) -> dict[str, ToolSchema]:
    if form is None:
        return {}
    tools = {}
    for name, value in form.data.items():
        path = form.within(name)
        if isinstance(value, dict):
            tools[name] = _tool(form.at(value, path), name, trusted=trusted)
        else:
            form.note(path, f"policy tool '{name}' must be an object", f"found {shown_type(value)}")
    return tools


def _tool(form: Form, name: str, *, trusted: bool) -> ToolSchema:
    form.only(*TOOL_KEYS)
    required = _arguments(form.section("required_arguments"), name, trusted=trusted)
    optional = _arguments(form.section("optional_arguments"), name, trusted=trusted)
    least, most = form.whole("min_calls", least=0), form.whole("max_calls", least=0)
    if least is not None and most is not None and least > most:
        form.note(
            form.within("min_calls"),
            f"policy tool '{name}': min_calls ({least}) exceeds max_calls ({most})",
        )
    return ToolSchema(
        required_arguments=required,
        optional_arguments=optional,
        side_effect=form.flag("side_effect"),
        max_calls=most,
        min_calls=least,
        declared={**required, **optional},
    )


def _arguments(form: Form | None, tool: str, *, trusted: bool) -> dict[str, ArgSpec]:
    if form is None:
        return {}
    return {
        name: _argument(form, name, f"policy argument '{tool}.{name}'", trusted=trusted)
        for name in form.data
    }


def _argument(form: Form, name: str, who: str, *, trusted: bool) -> ArgSpec:
    """Return what an argument has to be, in the short form or the long one."""
    value, path = form.data[name], form.within(name)
    if isinstance(value, str):
        return ArgSpec(type=value)
    if not isinstance(value, dict):
        form.note(path, f"{who} must be a type name or an object", f"found {shown_type(value)}")
        return ArgSpec()
    inner = form.at(value, path)
    inner.only(*ARGUMENT_KEYS)
    enum, pattern = value.get("enum"), value.get("pattern")
    if enum is not None and not isinstance(enum, list):
        form.note(
            inner.within("enum"), f"{who}: 'enum' must be a list", f"found {shown_type(enum)}"
        )
        enum = None
    least, most = inner.number("min"), inner.number("max")
    if least is not None and most is not None and least > most:
        form.note(path, f"{who}: 'min' ({least}) exceeds 'max' ({most})")
    kind = value.get("type")
    return ArgSpec(
        type="any" if "type" not in value else str(kind),
        enum=None if enum is None else tuple(enum),
        pattern=_argument_pattern(inner, pattern, who, trusted=trusted),
        min=least,
        max=most,
    )


def _argument_pattern(form: Form, pattern: object, who: str, *, trusted: bool) -> str | None:
    if pattern is None:
        return None
    if not isinstance(pattern, str):
        found = f"found {shown_type(pattern)}"
        form.note(form.within("pattern"), f"{who}: 'pattern' must be a string", found)
        return None
    said = pattern_problem(pattern, full=True, trusted=trusted)
    if said:
        said = f"{who}: 'pattern' is an invalid regex: {said}"
        form.note(form.within("pattern"), said, _pattern_hint(pattern))
    return pattern


def _budgets(form: Form | None) -> Budgets:
    if form is None:
        return Budgets()
    form.only(*BUDGET_KEYS)
    return Budgets(
        max_step_latency_ms=form.number("max_step_latency_ms", least=0),
        max_total_latency_ms=form.number("max_total_latency_ms", least=0),
        max_total_cost_usd=form.number("max_total_cost_usd", least=0),
        max_total_tokens=form.whole("max_total_tokens", least=0),
    )


def _unsafe_patterns(form: Form) -> tuple[str, ...]:
    found = form.texts("unsafe_patterns")
    if len(found) > PATTERNS_MAX:
        said = f"policy unsafe_patterns has {len(found)} patterns"
        form.note("unsafe_patterns", said, f"at most {PATTERNS_MAX} are run")
        return ()
    return found


def _grounding(form: Form | None) -> Grounding:
    if form is None:
        return Grounding()
    form.only(*GROUNDING_KEYS)
    coverage = form.number("min_citation_coverage", least=0)
    if coverage is not None and coverage > 1:
        form.wrong("min_citation_coverage", "a fraction from 0 to 1")
    return Grounding(
        require_citations=form.flag("require_citations"),
        min_citation_coverage=coverage or 0.0,
        require_valid_citation_urls=form.flag("require_valid_citation_urls"),
    )


def _sequence(form: Form | None) -> Sequence:
    if form is None:
        return Sequence()
    form.only(*SEQUENCE_KEYS)
    required, forbidden, order = (form.texts(name) for name in SEQUENCE_KEYS)
    both = sorted(set(required) & set(forbidden))
    if both:
        said = f"policy sequence requires and forbids the same tools: {', '.join(both)}"
        form.note(form.within("forbidden_tools"), said)
    for name in _repeated(order):
        path = form.within("call_order")
        form.note(path, f"policy sequence.call_order lists '{name}' more than once")
    if len(order) > CALL_ORDER_MAX:
        path = form.within("call_order")
        form.note(path, f"policy sequence.call_order lists {len(order)} tools", "at most 1000")
    return Sequence(required, forbidden, order)


def _repeated(names: tuple[str, ...]) -> list[str]:
    """Return each name that is there more than once."""
    ordered = sorted(names)
    return sorted({one for one, other in pairwise(ordered) if one == other})


def _error_handling(form: Form | None) -> ErrorHandling:
    if form is None:
        return ErrorHandling()
    form.only(*ERROR_KEYS)
    return ErrorHandling(
        require_retry_on_error=form.flag("require_retry_on_error"),
        max_attempts=form.whole("max_attempts", least=1),
    )


def _completion(form: Form | None) -> Completion:
    if form is None:
        return Completion()
    form.only(*COMPLETION_KEYS)
    return Completion(
        require_final_response=form.flag("require_final_response"),
        max_steps=form.whole("max_steps", least=1),
    )
