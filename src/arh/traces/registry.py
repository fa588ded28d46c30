"""Every rule that a finding on a recorded trace can name: id, category, severity and meaning.

Rule ids are public. An id is never reused and never changes its meaning, category or severity; a
test holds this table to a committed copy. The first 31 are the published ones. Those below `NEW`
are ours: they speak where a published verdict alone would mislead, and never touch the score. A
rule of severity `error` fails the trace that it is found in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

Severity: TypeAlias = Literal["error", "warning", "info"]
Category: TypeAlias = Literal[
    "schema",
    "budget",
    "safety",
    "grounding",
    "sequence",
    "flow",
    "completion",
    "reading",
    "assertion",
]

SCORED: Final[tuple[Category, ...]] = (
    "schema",
    "budget",
    "safety",
    "grounding",
    "sequence",
    "flow",
    "completion",
)
# In hundredths, so that their sums are exact.
WEIGHTS: Final[Mapping[Category, int]] = MappingProxyType(
    {
        "schema": 30,
        "budget": 30,
        "safety": 25,
        "grounding": 15,
        "sequence": 25,
        "flow": 20,
        "completion": 10,
    }
)


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: `meaning` is true whenever it is reported, `remedy` is what to do about it.

    `published` rules are those of the public specification; the others are left out under
    `compat="0.2"`. `scored` says whether a finding of the rule takes a check off the score.
    """

    id: str
    category: Category
    severity: Severity
    meaning: str
    remedy: str
    scored: bool = True
    published: bool = True


_TABLE: Final[tuple[Rule, ...]] = (
    Rule(
        "ARH-SCH-001",
        "schema",
        "error",
        "A tool was called that the policy does not list.",
        "Add the tool to `allowed_tools`, or keep the agent from calling it.",
    ),
    Rule(
        "ARH-SCH-002",
        "schema",
        "error",
        "A tool call names no tool.",
        "Let the recorder write `tool_name`; without it no other rule can judge the call.",
    ),
    Rule(
        "ARH-SCH-003",
        "schema",
        "error",
        "A required argument is missing.",
        "Let the agent send the argument, or declare it optional.",
    ),
    Rule(
        "ARH-SCH-004",
        "schema",
        "error",
        "An argument has another type than declared.",
        "Let the agent send the declared type; `true` is no number and null is no value.",
    ),
    Rule(
        "ARH-SCH-005",
        "schema",
        "warning",
        "An argument is not declared.",
        "Declare the argument as required or optional, or keep the agent from sending it.",
        scored=False,
    ),
    Rule(
        "ARH-SCH-006",
        "schema",
        "info",
        "The policy declares a type that does not exist, so the type is not checked.",
        "Use str, int, float, bool, list, dict or any.",
        scored=False,
    ),
    Rule(
        "ARH-SCH-007",
        "schema",
        "error",
        "An argument is none of the values that are allowed.",
        "Let the agent choose one of the `enum`, or extend it.",
    ),
    Rule(
        "ARH-SCH-008",
        "schema",
        "error",
        "The text of an argument does not match its pattern from end to end.",
        "Let the agent send the expected form, or correct the pattern.",
    ),
    Rule(
        "ARH-SCH-009",
        "schema",
        "error",
        "A number is outside its bounds.",
        "Let the agent stay within `min` and `max`, which are both allowed values.",
    ),
    Rule(
        "ARH-SCH-010",
        "schema",
        "warning",
        "Several steps have the same id, so findings cannot name one of them.",
        "Let the recorder write ids that are unique within a trace.",
        scored=False,
    ),
    Rule(
        "ARH-BUD-001",
        "budget",
        "error",
        "A step took longer than a step may.",
        "Make the step faster, or raise `max_step_latency_ms`.",
    ),
    Rule(
        "ARH-BUD-002",
        "budget",
        "error",
        "All steps together took longer than a trace may.",
        "Make the trace faster, or raise `max_total_latency_ms`.",
    ),
    Rule(
        "ARH-BUD-003",
        "budget",
        "error",
        "All steps together cost more than a trace may.",
        "Make the trace cheaper, or raise `max_total_cost_usd`.",
    ),
    Rule(
        "ARH-BUD-004",
        "budget",
        "error",
        "All steps together used more tokens than a trace may.",
        "Use fewer tokens, or raise `max_total_tokens`.",
    ),
    Rule(
        "ARH-BUD-005",
        "budget",
        "warning",
        "A token budget is set, and no step records tokens.",
        "Record `input_tokens` and `output_tokens`, or remove the budget.",
        scored=False,
    ),
    Rule(
        "ARH-BUD-006",
        "budget",
        "warning",
        "A latency budget is set, and no step records its latency.",
        "Record `latency_ms`, or remove the budget.",
        scored=False,
    ),
    Rule(
        "ARH-BUD-007",
        "budget",
        "warning",
        "A cost budget is set, and no step records its cost.",
        "Record `cost_usd`, or remove the budget.",
        scored=False,
    ),
    Rule(
        "ARH-SAF-001",
        "safety",
        "error",
        "An unsafe pattern matches a text, a result, an argument or an error.",
        "Keep the agent from producing or passing on such text.",
    ),
    Rule(
        "ARH-GRD-001",
        "grounding",
        "error",
        "A response that needs grounding cites nothing (a warning unless citations are required).",
        "Let the agent cite its sources in `citations`.",
        scored=False,
    ),
    Rule(
        "ARH-GRD-002",
        "grounding",
        "error",
        "Too few of the responses that need grounding cite anything.",
        "Let the agent cite more, or lower `min_citation_coverage`.",
    ),
    Rule(
        "ARH-GRD-003",
        "grounding",
        "error",
        "A citation has neither a valid http(s) address nor a source.",
        "Give the citation a `url` with scheme and host, or a `source`.",
        scored=False,
    ),
    Rule(
        "ARH-SEQ-001",
        "sequence",
        "error",
        "A required tool was never called.",
        "Let the agent call the tool, or remove it from `required_tools`.",
    ),
    Rule(
        "ARH-SEQ-002",
        "sequence",
        "error",
        "A forbidden tool was called.",
        "Keep the agent from calling the tool.",
    ),
    Rule(
        "ARH-SEQ-003",
        "sequence",
        "error",
        "Two tools were first called in the other order.",
        "Let the agent call the tool that is listed first before the other.",
    ),
    Rule(
        "ARH-SEQ-004",
        "sequence",
        "error",
        "A tool was called more often than it may be.",
        "Let the agent call it less often, or raise `max_calls`.",
    ),
    Rule(
        "ARH-SEQ-005",
        "sequence",
        "error",
        "A tool was called less often than it must be.",
        "Let the agent call it more often, or lower `min_calls`.",
    ),
    Rule(
        "ARH-FLW-001",
        "flow",
        "error",
        "A call failed, and its tool was never called again.",
        "Let the agent try again, or remove `require_retry_on_error`.",
    ),
    Rule(
        "ARH-FLW-002",
        "flow",
        "error",
        "The same call was made more often than attempts are allowed.",
        "Let the agent stop or change the arguments, or raise `max_attempts`.",
    ),
    Rule(
        "ARH-FLW-003",
        "flow",
        "error",
        "A call with a side effect was repeated after it had succeeded.",
        "Let the agent remember what it did, or make the repetition differ.",
    ),
    Rule(
        "ARH-CMP-001",
        "completion",
        "error",
        "The trace does not end with a response that says something.",
        "Let the agent answer last, with text and without an error.",
    ),
    Rule(
        "ARH-CMP-002",
        "completion",
        "error",
        "The trace has more steps than it may.",
        "Let the agent need fewer steps, or raise `max_steps`.",
    ),
)

NEW: Final[tuple[Rule, ...]] = tuple(
    Rule(*each, scored=False, published=False)
    for each in (
        (
            "ARH-BUD-008",
            "budget",
            "info",
            "A budget was checked over only a part of the steps, since the others record nothing.",
            "Record the figure on every step; what is not recorded counts as nothing.",
        ),
        (
            "ARH-SAF-002",
            "safety",
            "error",
            "An unsafe pattern matches a name, a key, a citation, unread or disguised text.",
            "Keep the agent from producing or passing on such text.",
        ),
        (
            "ARH-SAF-003",
            "safety",
            "error",
            "A trusted pattern came to no end within its limits, so the text is not judged.",
            "Rewrite the pattern so that it needs no backtracking.",
        ),
        (
            "ARH-TRC-001",
            "reading",
            "error",
            "The trace has no steps, so nothing was judged.",
            "Record what the agent did, or remove the trace.",
        ),
        (
            "ARH-TRC-002",
            "reading",
            "error",
            "The arguments of a call are no JSON object, so what was asked for is not known.",
            "Find out why the agent sent them so; the text was scanned for unsafe patterns.",
        ),
        (
            "ARH-TRC-003",
            "reading",
            "warning",
            "The recording holds something that the format's reader could not map.",
            "Look at the place; if it matters, the verdict does not cover it.",
        ),
        (
            "ARH-TRC-004",
            "reading",
            "warning",
            "No result of a call was recorded, so whether it succeeded is not known.",
            "Record the result; until then the call may have taken effect.",
        ),
        (
            "ARH-ASR-001",
            "assertion",
            "error",
            "An inline assertion does not hold.",
            "Look at what was expected and found, then at the step.",
        ),
        (
            "ARH-ASR-002",
            "assertion",
            "info",
            "An inline assertion holds, but the trace had no occasion to break it.",
            "Record what tools were on offer, or assert something that can fail.",
        ),
    )
)

RULES: Final[Mapping[str, Rule]] = MappingProxyType({rule.id: rule for rule in (*_TABLE, *NEW)})
