"""Turns one planned run into everything the runner needs, and nothing that it must not know.

Of a scenario's expectations only the invariants reach the runner, because they are checked while
the run goes on, together with whom the scenario trusts to act and which fields hold money: what
stops a run and what judges it read the same. The rest stays with the evaluators.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from arh.harness.authoring.datasets import DatasetCatalogue
from arh.harness.authoring.setup import soak_tasks, to_fault_plans, to_setup
from arh.harness.running.control import WatchdogLimits
from arh.harness.vocabulary.acceptance import identities
from arh.harness.vocabulary.assertion_kinds import Identities
from arh.records.control.plan import PlannedRun
from arh.records.control.scenario import (
    Assertion,
    Scenario,
    Schedule,
    UserTurn,
)
from arh.records.faults import FaultPlan
from arh.records.messages import Message, ToolSpec
from arh.records.packs import WorkflowPack
from arh.records.setup import ActorSetup, RunSetup
from arh.records.tasks import Task
from arh.sim.context import generate


@dataclass(frozen=True, slots=True)
class Work:
    """One task of one actor; those of its messages whose places are `generated` are filler."""

    task: Task
    generated: range = range(0)


@dataclass(frozen=True, slots=True)
class Composition:
    """One run, ready to be executed.

    `identities` are the (subject, tenant) pairs that may act, `amounts` the fields that hold money.
    """

    run: PlannedRun
    setup: RunSetup
    works: tuple[tuple[str, tuple[Work, ...]], ...]
    turns: tuple[UserTurn, ...]
    faults: tuple[FaultPlan, ...]
    invariants: tuple[Assertion, ...]
    identities: Identities
    amounts: frozenset[str]
    schedule: Schedule | None
    watchdog: WatchdogLimits
    datasets: tuple[tuple[str, str], ...] = ()


def compose(run: PlannedRun, pack: WorkflowPack, catalogue: DatasetCatalogue) -> Composition:
    """Return the composition of a planned run; refuses datasets that differ from their pins."""
    scenario = run.located.scenario
    setup = to_setup(run, pack, catalogue)
    works = tuple((a.actor, _works(scenario, a, setup, pack)) for a in setup.actors)
    refs = scenario.runtime.dataset_refs
    return Composition(
        run=run,
        setup=setup,
        works=works,
        turns=tuple(scenario.stimulus.turns),
        faults=to_fault_plans(scenario),
        invariants=tuple(scenario.expectations.invariants),
        identities=identities(scenario),
        amounts=pack.amounts,
        schedule=_schedule(scenario),
        watchdog=_watchdog(scenario, sum(len(w) for _, w in works)),
        datasets=tuple((r.collection, catalogue.load_verified(r).digest) for r in refs),
    )


def _schedule(scenario: Scenario) -> Schedule | None:
    """Return how actors interleave; several actors without a schedule interleave by the seed."""
    several = len(scenario.stimulus.actors) > 1
    return scenario.controls.schedule or (Schedule() if several else None)


def _watchdog(scenario: Scenario, tasks: int) -> WatchdogLimits:
    """Return limits that are strictly later than every budget of every task together."""
    budgets, extra = scenario.controls.runtime_budgets, scenario.controls.watchdog
    actions = max(budgets.max_steps, budgets.max_tool_calls) * tasks + extra.extra_actions
    deadline = budgets.wall_clock_ms * tasks + extra.extra_ms
    return WatchdogLimits(actions, actions, deadline)


def _works(
    scenario: Scenario, actor: ActorSetup, setup: RunSetup, pack: WorkflowPack
) -> tuple[Work, ...]:
    openings = _openings(scenario, actor)
    filler = _filler(scenario, setup)
    context = scenario.stimulus.context
    early = 0 if context is None else context.after
    places = range(early, early + len(filler))
    return tuple(
        Work(
            _task(
                f"task-{n:04d}",
                (*opening[:early], *filler, *opening[early:]),
                actor,
                setup,
                pack,
            ),
            places,
        )
        for n, opening in enumerate(openings, 1)
    )


def _filler(scenario: Scenario, setup: RunSetup) -> tuple[Message, ...]:
    context = scenario.stimulus.context
    if context is None:
        return ()
    return generate(str(setup.seed), context.messages, context.words_each, context.topic)


def _openings(scenario: Scenario, actor: ActorSetup) -> list[tuple[Message, ...]]:
    return list(soak_tasks(scenario)) if scenario.stimulus.soak else [actor.messages]


def _task(
    task_id: str,
    messages: Sequence[Message],
    actor: ActorSetup,
    setup: RunSetup,
    pack: WorkflowPack,
) -> Task:
    return Task(
        task_id=task_id,
        actor=actor.actor,
        messages=tuple(messages),
        tools=offered(pack, actor),
        budgets=setup.budgets,
        progress=setup.progress,
        system_prompt=pack.system_prompt,
        output_contract=setup.output_contract,
    )


def offered(pack: WorkflowPack, actor: ActorSetup) -> tuple[ToolSpec, ...]:
    """Return the tools on offer to an actor, in the pack's order."""
    names = frozenset(actor.tools)
    return tuple(tool.manifest.spec() for tool in pack.tools if tool.manifest.name in names)
