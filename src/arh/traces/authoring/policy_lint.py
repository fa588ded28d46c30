"""What a trace policy asks for, and what of it can never be found: a lint beside the strict reader.

The reader refuses what is wrong. What is here is right and useless: a rule that another one always
answers first, a bound that no value can miss, an order of tools that nobody may call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from arh.errors import quoted
from arh.traces.authoring.arg_specs import ArgSpec
from arh.traces.authoring.policy import Policy, ToolSchema

_NUMBERS = frozenset({"int", "float", "any"})
_TEXTS = frozenset({"str", "any"})


@dataclass(frozen=True, slots=True)
class Useless:
    """One part of a policy that can never find anything, by its path, and why."""

    field: str
    text: str

    def __str__(self) -> str:
        """Read as one line."""
        return f"{quoted(self.field)}: {self.text}"


def lint_policy(policy: Policy) -> tuple[Useless, ...]:
    """Return every part of the policy that can never find anything."""
    return (*_tools(policy), *_sequence(policy), *_rest(policy))


def asked_rules(policy: Policy) -> tuple[str, ...]:
    """Return the ids of the rules that the policy can find anything by, in order."""
    return tuple(_asked(policy))


def _tools(policy: Policy) -> Iterator[Useless]:
    forbidden = frozenset(policy.sequence.forbidden_tools)
    for name, tool in policy.allowed_tools.items():
        at = f"allowed_tools.{name}"
        if name in forbidden:
            yield Useless(at, "the tool is forbidden, so nothing that is asked of it matters")
        if tool.max_calls == 0 and name in policy.sequence.required_tools:
            yield Useless(f"{at}.max_calls", "the tool is required and may never be called")
        yield from _arguments(tool, at)


def _arguments(tool: ToolSchema, at: str) -> Iterator[Useless]:
    for section, arguments in (
        ("required_arguments", tool.required_arguments),
        ("optional_arguments", tool.optional_arguments),
    ):
        for name, spec in arguments.items():
            yield from _argument(spec, f"{at}.{section}.{name}")
    for name in tool.required_arguments:
        if name in tool.optional_arguments:
            text = "the argument is optional too, and judged by what is said there"
            yield Useless(f"{at}.required_arguments.{name}", text)


def _argument(spec: ArgSpec, at: str) -> Iterator[Useless]:
    if spec.pattern is not None and spec.type not in _TEXTS:
        yield Useless(f"{at}.pattern", f"only a text is matched, and the type is {spec.type}")
    bounded = spec.min is not None or spec.max is not None
    if bounded and spec.type not in _NUMBERS:
        yield Useless(at, f"only a number has bounds, and the type is {spec.type}")
    for value in spec.enum or ():
        if isinstance(value, int | float) and not isinstance(value, bool) and bounded:
            low = spec.min is not None and value < spec.min
            high = spec.max is not None and value > spec.max
            if low or high:
                yield Useless(f"{at}.enum", f"the allowed value {value} is outside the bounds")


def _sequence(policy: Policy) -> Iterator[Useless]:
    sequence = policy.sequence
    listed = frozenset(policy.allowed_tools)
    forbidden = frozenset(sequence.forbidden_tools)
    for at, name in enumerate(sequence.call_order):
        if name in forbidden:
            text = f"the tool {quoted(name)} is forbidden, so its order is never looked at"
            yield Useless(f"sequence.call_order[{at}]", text)
    if len(sequence.call_order) == 1:
        yield Useless("sequence.call_order", "one tool has no order")
    for at, name in enumerate(sequence.required_tools):
        if not policy.allow_unlisted_tools and name not in listed:
            text = f"the tool {quoted(name)} is required and not listed: every trace fails"
            yield Useless(f"sequence.required_tools[{at}]", text)


def _rest(policy: Policy) -> Iterator[Useless]:
    if not any(True for _ in _asked(policy)):
        yield Useless("policy", "nothing is asked for: every trace that has a step passes")
    counts = Counter(policy.unsafe_patterns)
    for pattern in sorted(each for each, count in counts.items() if count > 1):
        yield Useless("unsafe_patterns", f"the pattern {quoted(pattern)} is there twice")


def _asked(policy: Policy) -> Iterator[str]:
    tools = policy.allowed_tools.values()
    specs = [spec for tool in tools for spec in tool.declared.values()]
    grounding, errors, ends = policy.grounding, policy.error_handling, policy.completion
    budgets, sequence = policy.budgets, policy.sequence
    asked = {
        "ARH-SCH-001": not policy.allow_unlisted_tools,
        "ARH-SCH-003": any(tool.required_arguments for tool in tools),
        "ARH-SCH-004": any(spec.type != "any" for spec in specs),
        "ARH-SCH-007": any(spec.enum is not None for spec in specs),
        "ARH-SCH-008": any(spec.pattern is not None for spec in specs),
        "ARH-SCH-009": any(spec.min is not None or spec.max is not None for spec in specs),
        "ARH-BUD-001": budgets.max_step_latency_ms is not None,
        "ARH-BUD-002": budgets.max_total_latency_ms is not None,
        "ARH-BUD-003": budgets.max_total_cost_usd is not None,
        "ARH-BUD-004": budgets.max_total_tokens is not None,
        "ARH-SAF-001": bool(policy.unsafe_patterns),
        "ARH-SAF-002": bool(policy.unsafe_patterns),
        "ARH-SAF-003": bool(policy.unsafe_patterns),
        "ARH-GRD-001": grounding.require_citations,
        "ARH-GRD-002": grounding.min_citation_coverage > 0,
        "ARH-GRD-003": grounding.require_valid_citation_urls,
        "ARH-SEQ-001": bool(sequence.required_tools),
        "ARH-SEQ-002": bool(sequence.forbidden_tools),
        "ARH-SEQ-003": len(sequence.call_order) > 1,
        "ARH-SEQ-004": any(tool.max_calls is not None for tool in tools),
        "ARH-SEQ-005": any(tool.min_calls is not None for tool in tools),
        "ARH-FLW-001": errors.require_retry_on_error,
        "ARH-FLW-002": errors.max_attempts is not None,
        "ARH-FLW-003": any(tool.side_effect for tool in tools),
        "ARH-CMP-001": ends.require_final_response,
        "ARH-CMP-002": ends.max_steps is not None,
        "ARH-ASR-001": bool(policy.assertions),
    }
    yield from (rule for rule, is_asked in asked.items() if is_asked)
