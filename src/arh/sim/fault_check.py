"""What an author may ask for: every mistake in scheduled faults, as a sentence a problem.

The table says which faults exist; here a plan is held against it, against the tools on offer and
against the other plans. A fault that could not happen as written is refused before anything runs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from arh.canonical import Refused, parse
from arh.errors import closest, quoted
from arh.records.faults import FaultPlan
from arh.records.tools import ToolManifest
from arh.sim.fault_table import TABLE, Row, row, touches
from arh.sim.faulty_wire import UNWIRED

PARAMETERS: Final = (
    "ms",
    "retry_after_ms",
    "hidden_outcome",
    "raw",
    "keep_fields",
    "revisions_back",
)


def check(
    plan: FaultPlan, tools: Mapping[str, ToolManifest], collections: Collection[str] = ()
) -> list[str]:
    """Return what is wrong with one fault, given the tools on offer and the collections.

    Names of collections are only checked if some are given; those of the store itself, which begin
    with an underscore, always exist.
    """
    found = row(plan)
    if found is None:
        return [_no_such_fault(plan)]
    return [
        *_trigger_problems(plan),
        *_name_problems(plan, tools, collections),
        *_access_problems(plan, found, tools),
        *_parameter_problems(plan, found, tools.get(plan.target_name)),
    ]


def check_together(plans: Iterable[FaultPlan]) -> list[str]:
    """Return what is wrong with faults that stand beside each other: same id, or same call."""
    problems: list[str] = []
    ids: set[str] = set()
    seen: dict[tuple[object, ...], FaultPlan] = {}
    for plan in plans:
        if plan.id in ids:
            problems.append(f"two faults have the id {quoted(plan.id)}; give each its own")
        ids.add(plan.id)
        known = row(plan)
        place = (plan.target_type, known.port if known else "", plan.target_name, _when(plan))
        other = seen.setdefault(place, plan)
        if other is not plan:
            problems.append(
                f"faults {quoted(other.id)} and {quoted(plan.id)} strike the same call, where only "
                "the first can happen; give them different invocations"
            )
    return problems


def _when(plan: FaultPlan) -> object:
    """Return the calls that the trigger means, `first` and `nth` 1 being the same."""
    if plan.trigger == "always":
        return "always"
    return plan.invocation if plan.trigger == "nth" else 1


def _no_such_fault(plan: FaultPlan) -> str:
    """Name the missing combination and what there is instead."""
    of_target = [key for key in TABLE if key[0] == plan.target_type]
    shown = f"{quoted(plan.effect)} in phase {quoted(plan.phase)}"
    if not of_target:
        targets = sorted({key[0] for key in TABLE})
        return f"no fault strikes a {quoted(plan.target_type)}; targets are {', '.join(targets)}"
    phases = [phase for _, phase, effect in of_target if effect == plan.effect]
    effects = [effect for _, phase, effect in of_target if phase == plan.phase]
    if phases:
        hint = f"that effect has {' or '.join(phases)}"
    elif effects:
        hint = f"that phase has {', '.join(effects)}"
    else:
        hint = f"phases are {', '.join(dict.fromkeys(key[1] for key in of_target))}"
    return f"a {plan.target_type} has no {shown}; {hint}"


def _trigger_problems(plan: FaultPlan) -> list[str]:
    if plan.trigger not in {"first", "nth", "always"}:
        return [f"trigger: expected first, nth or always, found {quoted(plan.trigger)}"]
    if plan.trigger == "nth" and (plan.invocation is None or plan.invocation < 1):
        return ["invocation: trigger nth needs the number of the call, 1 or more"]
    if plan.trigger != "nth" and plan.invocation is not None:
        return [f"invocation: only trigger nth takes it, found {plan.trigger}"]
    return []


def _name_problems(
    plan: FaultPlan, tools: Mapping[str, ToolManifest], collections: Collection[str]
) -> list[str]:
    name = plan.target_name
    if not name:
        return []
    if plan.target_type == "model":
        return [f"target_name: a model has none, found {quoted(name)}; leave it out"]
    if plan.effect == "stale" and name.startswith("_"):
        return [f"target_name: {quoted(name)} is the store's own and never stale; name a record's"]
    if plan.target_type == "state_store":
        known = not collections or name in collections or name.startswith("_")
        kind, names = "collection", collections
    else:
        known, kind, names = name in tools, "tool on offer", tools.keys()
    if known:
        return []
    hint = closest(name, names) or f"there are {', '.join(sorted(names))}"
    return [f"target_name: expected a {kind}, found {quoted(name)}; {hint}"]


def _access_problems(plan: FaultPlan, found: Row, tools: Mapping[str, ToolManifest]) -> list[str]:
    tool = tools.get(plan.target_name)
    if plan.target_type != "tool":
        return []
    struck = [tool] if tool else list(tools.values())
    if plan.effect in UNWIRED and tool is not None and tool.service is not None:
        hint = "a service shows no older revisions; take a slowdown, or a fault of another tool"
        return [f"effect: {plan.effect} cannot happen to {quoted(plan.target_name)}; {hint}"]
    if any(touches(found, manifest.effect) for manifest in struck):
        return []
    wanted = {"reads": "that reads", "writes": "that writes", "transactional": "with transactions"}
    whose = f"{quoted(plan.target_name)} is none" if tool else "none is on offer"
    return [f"phase: {plan.effect} {plan.phase} needs a tool {wanted[found.access]}; {whose}"]


def _parameter_problems(plan: FaultPlan, found: Row, tool: ToolManifest | None) -> list[str]:
    given = [name for name in PARAMETERS if getattr(plan, name) is not None]
    reads = plan.target_type == "tool" and tool is not None and not tool.writes
    needs = tuple(name for name in found.needs if not (reads and name == "hidden_outcome"))
    problems = [
        f"parameters.{name}: {plan.effect} {plan.phase} needs it"
        for name in needs
        if name not in given
    ]
    problems += [
        f"parameters.{name}: {plan.effect} {plan.phase} of this target takes none"
        for name in given
        if name not in needs and name not in found.allows
    ]
    return [*problems, *_value_problems(plan)]


def _value_problems(plan: FaultPlan) -> list[str]:
    problems = [
        f"parameters.{name}: expected 1 or more, found {value}"
        for name in ("ms", "retry_after_ms", "revisions_back")
        if (value := getattr(plan, name)) is not None and value < 1
    ]
    if plan.hidden_outcome not in {None, "committed", "not_committed"}:
        problems.append(
            "parameters.hidden_outcome: expected committed or not_committed, "
            f"found {quoted(plan.hidden_outcome or '')}"
        )
    if plan.raw is not None and is_reply(plan.raw.encode("utf-8", "surrogatepass")):
        problems.append(
            f"parameters.raw: {quoted(plan.raw)} is a reply that the decoder reads; "
            "give bytes that it must reject"
        )
    return problems


def is_reply(body: bytes) -> bool:
    """Return true if the bytes are JSON with the envelope of a tool's reply."""
    try:
        value = parse(body)
    except Refused:
        return False
    return isinstance(value, dict) and len(value) == 1 and bool(value.keys() & {"ok", "refused"})
