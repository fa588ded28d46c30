"""What must hold of a scenario beyond its schema, one small function a rule.

A rule looks at one scenario and at what exists, and yields problems whose fields are paths in the
line. Nothing that a scenario names may be unknown, nothing that it declares may be unable to
happen. What it expects of the outcome is judged in `expectation_rules`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from arh.errors import Problem, quoted
from arh.harness.authoring.authoring import shown
from arh.harness.authoring.expectation_rules import EXPECTATION_RULES
from arh.harness.authoring.known import Known, Rule, repeated, unknown
from arh.harness.authoring.setup import to_fault_plans
from arh.records.control.scenario import Category, Fault, FaultTarget, Scenario, Stimulus
from arh.records.setup import SeedRecord
from arh.sim.fault_check import check, check_together
from arh.sim.user import check_turns

_BUDGETS: Final = "controls.runtime_budgets"
_DATASETS: Final = "runtime.dataset_refs"


def scenario_problems(scenario: Scenario, known: Known) -> Iterator[Problem]:
    """Yield everything that is wrong with a scenario; if the workflow is, only that."""
    elsewhere = tuple(workflow_exists(scenario, known))
    if elsewhere:
        yield from elsewhere
        return
    for rule in RULES:
        yield from rule(scenario, known)


def workflow_exists(scenario: Scenario, known: Known) -> Iterator[Problem]:
    """The workflow is the one that is loaded, in its major version."""
    if scenario.workflow != known.workflow:
        yield Problem(scenario.workflow, f"the workflow {known.workflow}", field="workflow")


def versions_are_pinned(scenario: Scenario, known: Known) -> Iterator[Problem]:
    """The pinned tool and data versions are those that will run."""
    pins = scenario.reproducibility
    tools, data = f"tools-{known.pack.version}", f"data-{known.catalogue.version}"
    if not f"{tools}.".startswith(f"{pins.tool_version}.") or "." not in pins.tool_version:
        yield Problem(
            pins.tool_version,
            tools,
            field="reproducibility.tool_version",
            hint="the tools changed: review the scenario, then pin their version",
        )
    if pins.dataset_version != data:
        yield Problem(pins.dataset_version, data, field="reproducibility.dataset_version")


def scripts_exist(scenario: Scenario, known: Known) -> Iterator[Problem]:
    """The model configuration of the scenario, and of each actor, exists."""
    yield from unknown(
        "reproducibility.model_configuration",
        scenario.reproducibility.model_configuration,
        "model script",
        known.scripts,
    )
    for at, actor in enumerate(scenario.stimulus.actors):
        if actor.model_configuration is not None:
            field = f"stimulus.actors[{at}].model_configuration"
            yield from unknown(field, actor.model_configuration, "model script", known.scripts)


def tools_exist(scenario: Scenario, known: Known) -> Iterator[Problem]:
    """Every tool on offer exists, and is offered once."""
    field = "runtime.available_tools"
    yield from repeated(field, scenario.runtime.available_tools, "tool")
    for at, name in enumerate(scenario.runtime.available_tools):
        yield from unknown(f"{field}[{at}]", name, "tool", known.tools)


def datasets_verify(scenario: Scenario, known: Known) -> Iterator[Problem]:
    """Every dataset is referred to once and is the one that is pinned.

    Wrong rows are the data's problem and are reported once, with the data.
    """
    refs = scenario.runtime.dataset_refs
    yield from repeated(_DATASETS, (ref.collection for ref in refs), "collection")
    seeded = [spec.name for spec in known.pack.collections if spec.seeded]
    for at, ref in enumerate(refs):
        missing = list(unknown(f"{_DATASETS}[{at}].collection", ref.collection, "dataset", seeded))
        yield from missing
        for problem in () if missing else known.catalogue.pin_problems(ref):
            yield replace(problem, field=f"{_DATASETS}[{at}].{problem.field}")


def changes_are_rows(scenario: Scenario, known: Known) -> Iterator[Problem]:
    """Every change to the data is a row that its collection could hold, of the same tenant."""
    for at, change in enumerate(scenario.runtime.changes):
        record = known.catalogue.seed_record(change.collection, dict(change.row))
        if isinstance(record, Problem):
            inner = record.field if record.field == "collection" else f"row.{record.field}"
            yield replace(record, field=f"runtime.changes[{at}].{inner}")
        else:
            yield from _other_owner(f"runtime.changes[{at}].row", record, known)


def _other_owner(field: str, record: SeedRecord, known: Known) -> Iterator[Problem]:
    """Yield a change that would stand beside the row that it means, for another tenant."""
    found = known.catalogue.load(record.collection)
    rows = () if isinstance(found, tuple) else found.records
    owners = {row.tenant for row in rows if row.key == record.key}
    if owners and record.tenant not in owners:
        expected = f"the tenant of the row, {' or '.join(sorted(owners))}"
        yield Problem(record.tenant, expected, field=field)


def incident_is_in_the_data(scenario: Scenario, known: Known) -> Iterator[Problem]:
    """The incident that a scenario is about is a row that the run will have."""
    incident = scenario.runtime.incident
    if incident is None:
        return
    rows = [dict(change.row) for change in scenario.runtime.changes]
    for ref in scenario.runtime.dataset_refs:
        found = known.catalogue.load(ref.collection)
        rows += [] if isinstance(found, tuple) else [r.value.value() for r in found.records]  # type: ignore[misc]  # a row is an object
    if not any(incident.items() <= row.items() for row in rows):
        yield Problem(
            shown(incident),
            "fields that one of the rows has",
            field="runtime.incident",
            hint="refer to the dataset that holds it, or add it as one of runtime.changes",
        )


def policy_exists(scenario: Scenario, known: Known) -> Iterator[Problem]:
    """At most one authorisation policy is named, and it exists."""
    field = "trusted_environment.authorization_policy_refs"
    refs = scenario.trusted_environment.authorization_policy_refs
    for at, name in enumerate(refs):
        yield from unknown(f"{field}[{at}]", name, "authorisation policy", known.policies)
    if len(refs) > 1:
        yield Problem(f"{len(refs)} names", "one policy, which decides alone", field=field)


def approvals_make_sense(scenario: Scenario, known: Known) -> Iterator[Problem]:
    """Every approval has its own id and names a tool that exists."""
    field = "trusted_environment.approvals"
    approvals = scenario.trusted_environment.approvals
    yield from repeated(field, (a.approval_id for a in approvals), "approval id")
    for at, approval in enumerate(approvals):
        yield from unknown(f"{field}[{at}].tool", approval.tool, "tool", known.tools)


def stimulus_is_one_kind(scenario: Scenario, _known: Known) -> Iterator[Problem]:
    """There are messages, or actors, or soak tasks; turns and context go with messages."""
    stimulus = scenario.stimulus
    given = [kind for kind in ("messages", "actors", "soak") if getattr(stimulus, kind)]
    if len(given) != 1:
        found = " and ".join(given)
        yield Problem(found, "one of messages, actors, soak", field="stimulus")
    for extra in ("turns", "context"):
        if getattr(stimulus, extra) and not stimulus.messages:
            yield Problem("only messages can have this", field=f"stimulus.{extra}")
    context = stimulus.context
    if context is not None and context.after >= len(stimulus.messages) > 0:
        yield Problem(
            str(context.after),
            f"fewer than the {len(stimulus.messages)} messages of the opening",
            field="stimulus.context.after",
            hint="the last message is the one to answer: it comes after the filler",
        )
    for problem in check_turns([turn.model_dump(exclude_none=True) for turn in stimulus.turns]):
        yield replace(problem, field=f"stimulus.{problem.field}")


def actors_differ(scenario: Scenario, _known: Known) -> Iterator[Problem]:
    """Actors have names of their own, and a schedule has actors to order."""
    names = [actor.actor for actor in scenario.stimulus.actors]
    schedule = scenario.controls.schedule
    yield from repeated("stimulus.actors", names, "actor")
    if schedule is None:
        return
    if not names:
        yield Problem("there are no actors to order", field="controls.schedule")
    if (schedule.kind == "explicit") != bool(schedule.steps):
        field = "controls.schedule.steps"
        yield Problem(
            f"{len(schedule.steps)} steps", "steps if, and only if, explicit", field=field
        )
    for at, step in enumerate(schedule.steps if names else ()):
        for part, name in (("actor", step.actor), ("to", step.to)):
            yield from unknown(f"controls.schedule.steps[{at}].{part}", name, "actor", names)


def category_has_its_content(scenario: Scenario, _known: Known) -> Iterator[Problem]:
    """A category that promises a shape has it."""
    needed, holds = _SHAPES.get(scenario.category, ("", _anything))
    if not holds(scenario.stimulus):
        yield Problem(
            f"the category {quoted(scenario.category)} needs {needed}",
            field="stimulus",
            hint="add it, or choose another category",
        )


def faults_can_strike(scenario: Scenario, known: Known) -> Iterator[Problem]:
    """Every fault exists, has a target that the run has, and a trigger that can come."""
    faults = scenario.controls.faults
    plans = to_fault_plans(scenario)
    offered = {n: known.tools[n] for n in scenario.runtime.available_tools if n in known.tools}
    for at, (fault, plan) in enumerate(zip(faults, plans, strict=True)):
        field = f"controls.faults[{at}]"
        for text in check(plan, offered, known.collections):
            yield Problem(text, field=field)
        if fault.target_type is FaultTarget.TOOL:
            yield from _tool_fault(field, fault, scenario)
    for text in check_together(plans):
        yield Problem(text, field="controls.faults")


def _tool_fault(field: str, fault: Fault, scenario: Scenario) -> Iterator[Problem]:
    """Yield a tool fault without a tool, or at a call that the budget does not allow."""
    calls_max = scenario.controls.runtime_budgets.max_tool_calls
    if fault.target_name is None:
        yield Problem("", "the tool that fails", field=f"{field}.target_name")
    late = fault.invocation is not None and fault.invocation > calls_max
    if late and not scenario.stimulus.soak:
        expected = f"at most {_BUDGETS}.max_tool_calls, {calls_max}"
        yield Problem(str(fault.invocation), expected, field=f"{field}.invocation")


def _anything(_stimulus: Stimulus) -> bool:
    return True


def _has_turns(stimulus: Stimulus) -> bool:
    said = [message for message in stimulus.messages if message.role == "user"]
    return len(said) > 1 or len([turn for turn in stimulus.turns if turn.say is not None]) > 1


def _has_actors(stimulus: Stimulus) -> bool:
    return len(stimulus.actors) > 1


_SHAPES: Final[dict[Category, tuple[str, Callable[[Stimulus], bool]]]] = {
    Category.MULTITURN: ("two user turns or more, or two user messages", _has_turns),
    Category.CONCURRENCY: ("two actors or more", _has_actors),
    Category.SOAK: ("soak tasks", lambda stimulus: bool(stimulus.soak)),
    Category.LONG_CONTEXT: ("generated context", lambda stimulus: stimulus.context is not None),
}
RULES: Final[tuple[Rule, ...]] = (
    versions_are_pinned,
    scripts_exist,
    tools_exist,
    datasets_verify,
    changes_are_rows,
    incident_is_in_the_data,
    policy_exists,
    approvals_make_sense,
    stimulus_is_one_kind,
    actors_differ,
    category_has_its_content,
    faults_can_strike,
    *EXPECTATION_RULES,
)
