"""Whether calls were asked the right thing: arguments judged anew, whatever the gateway thought.

The gateway is under test itself, so its word that arguments are valid proves nothing. Schemas come
from the pack's manifests; what fits the schema can still be wrong for the situation, which the
scenario's predicates and justified targets say. What the user said is what was said for this task
before the call.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Final

from arh import regex, schema
from arh.canonical import Json, JsonValue
from arh.errors import safe
from arh.harness.judging.precedence import Fault, Path
from arh.harness.judging.segments import Segment
from arh.harness.vocabulary.effects import equal
from arh.harness.vocabulary.rules import finding
from arh.harness.vocabulary.texts import (
    amounts,
    holds_token,
    minor_units,
    numbers,
    numbers_of,
    plain,
    texts_of,
)
from arh.harness.vocabulary.wording import listed, shown
from arh.records.control.evidence import CallEvidence
from arh.records.control.scenario import ArgumentPredicate, TargetJustification
from arh.records.tools import ToolManifest

MASKED: Final = "[masked]"
REDACTED: Final = "[redacted:"
_ABSENT: Final = object()


def schema_faults(
    calls: Iterable[CallEvidence], manifests: Mapping[str, ToolManifest], path: Path
) -> Iterator[Fault]:
    """Yield each call that was let through though its arguments cannot be read or do not fit."""
    for call in calls:
        if not path.let_through(call):
            continue
        manifest = manifests.get(call.tool)
        problem, rule = "", "trajectory.argument_schema"
        if manifest is None:
            problem = "is no tool of the workflow"
        elif call.version != manifest.version:
            rule = "trajectory.unreadable"
            problem = f"ran as version {safe(call.version)}, which the workflow does not describe"
        elif call.arguments is None:
            problem = "ran with arguments that nobody can read"
        elif not _is_masked(call.arguments, manifest):
            problem = _schema_problem(manifest.parameters, call.arguments)
            if problem and any(REDACTED in text for text in texts_of(call.arguments)):
                rule, problem = "trajectory.unreadable", "had a secret among its arguments"
        if problem:
            yield _fault(rule, f"{safe(call.tool)} {problem}", "arguments that fit", problem, call)


def predicate_faults(
    predicates: Sequence[ArgumentPredicate],
    manifests: Mapping[str, ToolManifest],
    segment: Segment,
    path: Path,
) -> Iterator[Fault]:
    """Yield each requested argument of a task that is wrong for the situation."""
    for predicate in predicates:
        manifest = manifests.get(predicate.tool)
        for call in segment.calls:
            if call.tool != predicate.tool or call.arguments is None:
                continue
            value = call.arguments.get(predicate.argument, _ABSENT)
            if value is _ABSENT and not path.acted(call):
                continue
            said = _said(segment, call) if predicate.mentioned_by_user else ""
            expected = _expected(predicate, value, said, manifest)
            if expected:
                yield _wrong("trajectory.argument_predicate", predicate, value, expected, call)


def target_faults(targets: Sequence[TargetJustification], segment: Segment) -> Iterator[Fault]:
    """Yield each target of a task that is neither allowed nor named by the user."""
    for target in targets:
        for call in segment.calls:
            if call.tool != target.tool or target.argument not in (call.arguments or {}):
                continue
            value = (call.arguments or {})[target.argument]
            for each in value if isinstance(value, list) else (value,):
                if any(equal(each, allowed) for allowed in target.allowed):
                    continue
                if not _is_mentioned(each, _said(segment, call), is_amount=False):
                    expected = "what the user named"
                    if target.allowed:
                        expected += f", or {listed(map(shown, target.allowed))}"
                    yield _wrong("trajectory.unjustified_target", target, each, expected, call)


def _expected(
    predicate: ArgumentPredicate, value: object, said: str, manifest: ToolManifest | None
) -> str:
    """Return what the predicate wants instead of a value, or nothing if the value is right.

    An absent argument is only wrong where one of several values must be there.
    """
    if predicate.one_of is not None:
        given = None if value is _ABSENT else value
        right = any(equal(given, each) for each in predicate.one_of)  # type: ignore[arg-type]  # JSON, or `None`
        return "" if right else listed(map(shown, predicate.one_of))
    if value is _ABSENT:
        return ""
    if predicate.mentioned_by_user:
        is_amount = manifest is not None and predicate.argument == manifest.amount_argument
        return "" if _is_mentioned(value, said, is_amount=is_amount) else "what the user named"
    if predicate.matches is not None:
        fits = isinstance(value, str) and regex.compiled(predicate.matches).search(plain(value))
        return "" if fits else f"a match of {shown(predicate.matches)}"
    return _out_of_range(predicate, value)


def _out_of_range(predicate: ArgumentPredicate, value: object) -> str:
    low, high = predicate.minimum, predicate.maximum
    number = value if isinstance(value, (int, float)) and not isinstance(value, bool) else None
    if number is not None and (low is None or number >= low) and (high is None or number <= high):
        return ""
    bounds = (
        *((f"at least {low}",) if low is not None else ()),
        *((f"at most {high}",) if high is not None else ()),
    )
    return " and ".join(bounds)


def _is_mentioned(value: object, said: str, *, is_amount: bool) -> bool:
    """Return whether the user named every text and number of the value."""
    if is_amount and isinstance(value, int):
        named = {reading for amount in amounts(said) for reading in amount.readings}
        return value in named | {n for each in numbers(said) for n in minor_units(each)}
    parts = [*texts_of(value), *(str(n) for _, n in numbers_of(value))]  # type: ignore[arg-type]  # an argument is JSON
    return bool(parts) and all(holds_token(said, plain(part)) for part in parts)


def _said(segment: Segment, call: CallEvidence) -> str:
    """Return what the user had said for the task when the call was made."""
    turns = (t.text for t in segment.turns if t.seq < call.seq and not t.generated)
    return plain("\n".join(turns))


def _is_masked(arguments: Mapping[str, JsonValue], manifest: ToolManifest) -> bool:
    if not manifest.sensitive_fields:
        return False
    return any(text == MASKED for text in texts_of(arguments))


def fits(
    call: CallEvidence, manifests: Mapping[str, ToolManifest], offered: Container[str]
) -> bool:
    """Return true if a call, judged anew, has a form that the gateway had to let through."""
    manifest = manifests.get(call.tool)
    if manifest is None or call.tool not in offered or call.arguments is None:
        return False
    return not _schema_problem(manifest.parameters, call.arguments)


def _schema_problem(document: Json, arguments: Mapping[str, JsonValue]) -> str:
    """Return why arguments do not fit a schema, or nothing."""
    told = schema.compiled(document).problems(dict(arguments))
    return f"ran with arguments that its schema refuses: {'; '.join(told)}" if told else ""


def _wrong(
    rule: str,
    about: ArgumentPredicate | TargetJustification,
    value: object,
    expected: str,
    call: CallEvidence,
) -> Fault:
    found = "absent" if value is _ABSENT else shown(value)  # type: ignore[arg-type]  # an argument is JSON
    message = f"{safe(about.tool)} {safe(about.argument)} is {found}, not {expected}"
    return _fault(rule, message, expected, found, call)


def _fault(rule: str, message: str, expected: str, found: str, call: CallEvidence) -> Fault:
    made = finding(rule, message, expected=expected, found=found, events=(call.event_id,))
    return made, call.call_id
