"""Calls that every tool of a pack must stand: without authority, twice, and for nothing.

A probe takes a call that one of the pack's own scenarios made, so its arguments are right, and
makes it again in the same world with one thing otherwise. It returns what is wrong, nothing, or
`None` where the pack gives it nothing to try: then the check lists the tool as left out.
"""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from arh.canonical import JsonValue, encode
from arh.records.control.evidence import CallEvidence, StateRow
from arh.records.outcomes import Reason, ToolOutcome
from arh.records.tasks import HARNESS_ENDS
from arh.records.tools import ToolManifest
from arh.schema import compiled
from arh.testing.pack_bench import (
    STRANGER,
    Change,
    PackBench,
    Prober,
    Ran,
    Request,
    as_somebody,
    asked,
    unhindered,
)

BROKEN: Final = frozenset(
    {
        Reason.TOOL_ERROR,
        Reason.MALFORMED_RESULT,
        Reason.ARGUMENTS_INVALID,
        Reason.UNKNOWN_TOOL,
        *HARNESS_ENDS,
        "hung",
        "agent_error",
    }
)


@dataclass(frozen=True, slots=True)
class Example:
    """An executed call of a tool, with the run that it is from and the calls before it."""

    ran: Ran
    before: tuple[Request, ...]
    call: CallEvidence


def denials(bench: PackBench, tool: str) -> str | None:
    """Return how the tool serves somebody that it must not serve."""
    example = _example(bench, tool)
    if example is None:
        return None
    powerless = as_somebody(lambda who: replace(who, scopes=()))
    outcome, after = _tried(bench, example, [asked(example.call)], powerless)
    if outcome.reason != Reason.AUTHORIZATION_DENIED:
        return f"without any scope it ends as {outcome.reason}"
    if after.output.evidence.commits:
        return "without any scope something was committed"
    return _served_to_a_stranger(bench, example)


def _served_to_a_stranger(bench: PackBench, example: Example) -> str:
    """Return that another tenant got at a record of a collection whose records have owners."""
    owned = {spec.name for spec in bench.pack.collections if spec.tenant_field}
    manifest = bench.pack.manifests[example.call.tool]
    if not any(each.collection in owned for each in manifest.resources):
        return ""
    strange = as_somebody(lambda who: replace(who, tenant=STRANGER))
    outcome, _ = _tried(bench, example, [asked(example.call)], strange)
    return "another tenant was served with it" if outcome.status == "executed" else ""


def duplicates(bench: PackBench, tool: str) -> str | None:
    """Return how the same call a second time has another effect, or another answer."""
    example = _example(bench, tool)
    if example is None:
        return None
    once = [*example.before, asked(example.call)]
    first, single = _tried(bench, example, once, unhindered)
    if first.status != "executed":
        return None
    second, double = _tried(bench, example, [*once, once[-1]], unhindered)
    if bench.pack.manifests[tool].repeatable:
        return _same_business(bench, double)
    if (second.status, second.result) != (first.status, first.result):
        return f"a second time it ends as {second.reason}, with another answer"
    again = len(double.output.evidence.commits) > len(single.output.evidence.commits)
    return "a second time it took effect again" if again else ""


def _same_business(bench: PackBench, after: Ran) -> str:
    """Return that two records of one state have the same business key."""
    final = after.output.evidence.final
    for spec in bench.pack.collections:
        rows = () if final is None else final.rows(spec.name) or ()
        named = Counter(_business(row, spec.business_key) for row in rows)
        if spec.business_key and any(count > 1 for count in named.values()):
            return f"it is repeatable, and a second time made another row of {spec.name}"
    return ""


def _business(row: StateRow, fields: Sequence[str]) -> str:
    return encode([row.tenant, *(row.value.get(name) for name in fields)]).decode()


def not_found(bench: PackBench, tool: str) -> str | None:
    """Return how the tool takes the name of a record that does not exist."""
    example = _example(bench, tool)
    request = None if example is None else _astray(bench, example)
    if example is None or request is None:
        return None
    outcome, after = _tried(bench, example, [*example.before, request], unhindered)
    if outcome.status == "executed":
        return "it was executed for a record that does not exist"
    if outcome.reason in BROKEN:
        return f"for a record that does not exist it ends as {outcome.reason}"
    written = any(c.operation_id == outcome.operation_id for c in after.output.evidence.commits)
    return "it wrote for a record that does not exist" if written else ""


# --- how a call is made again --------------------------------------------------------------------


def _example(bench: PackBench, tool: str) -> Example | None:
    """Return an executed call of the tool, from the plainest run that has one."""
    found = [
        Example(one, _before(one, call), call)
        for one in sorted(bench.accepted(), key=_oddity)
        for call in one.output.evidence.calls
        if call.tool == tool and call.executed and call.commit_belief != "replayed"
    ]
    return next(iter(found), None)


def _oddity(one: Ran) -> tuple[bool, bool, int]:
    """Return how far a run is from a plain one: of one actor, without faults and approvals."""
    scenario = one.run.located.scenario
    odd = scenario.controls.faults or scenario.stimulus.actors or scenario.stimulus.soak
    approved = bool(scenario.trusted_environment.approvals)
    return bool(odd), approved, len(one.output.evidence.calls)


def _before(one: Ran, call: CallEvidence) -> tuple[Request, ...]:
    calls = one.output.evidence.calls
    return tuple(asked(c) for c in calls if c.seq < call.seq and c.actor == call.actor)


def _tried(
    bench: PackBench, example: Example, requests: Sequence[Request], change: Change
) -> tuple[ToolOutcome, Ran]:
    """Make the calls in the example's world and return the last one's outcome.

    Where the run ended before it, as by a handler that never comes back, the outcome says how.
    """
    prober = Prober(requests)
    after = bench.ran(example.ran.run, agent=prober, change=change)
    if len(prober.outcomes) == len(requests):
        return prober.outcomes[-1], after
    ended = after.output.evidence.termination
    return ToolOutcome("", example.call.tool, example.call.version, "error", ended), after


# --- the name of nothing -------------------------------------------------------------------------


def _astray(bench: PackBench, example: Example) -> Request | None:
    """Return the call with the name of a record that is not there, if one fits the schema."""
    tool, arguments = asked(example.call)
    manifest = bench.pack.manifests[tool]
    taken = _keys(example.ran)
    for name in _naming(manifest, arguments, taken):
        for other in _others(str(arguments[name])):
            astray = {**arguments, name: other}
            if other not in taken and _fits(manifest, astray):
                return tool, astray
    return None


def _naming(
    manifest: ToolManifest, arguments: Mapping[str, JsonValue], taken: Collection[str]
) -> Iterator[str]:
    """Yield the arguments that name a record: those declared, then those that hold a key."""
    declared = [each.argument for each in manifest.resources]
    yield from (name for name in declared if isinstance(arguments.get(name), str))
    for name, value in arguments.items():
        if name not in declared and isinstance(value, str) and value in taken:
            yield name


def _fits(manifest: ToolManifest, arguments: dict[str, JsonValue]) -> bool:
    return compiled(manifest.parameters).fits(arguments)


def _keys(one: Ran) -> frozenset[str]:
    states = (one.output.evidence.initial, one.output.evidence.final)
    rows = (row for state in states if state for rows in state.collections.values() for row in rows)
    return frozenset(row.key for row in rows)


def _others(name: str) -> Iterator[str]:
    """Yield names of the same form: other digits, another last letter."""
    for digit in string.digits:
        yield "".join(digit if char in string.digits else char for char in name)
        yield f"{name[:-1]}{digit}"
    for letter in string.ascii_letters:
        yield f"{name[:-1]}{letter}"
