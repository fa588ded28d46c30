"""Turns a planned run into what a composer and the environment need: setup, fault plans, tasks.

Pure conversion. What leaves here for the system under evaluation says what the run has, never what
is expected of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from arh.canonical import Json
from arh.errors import AuthoringError, Problem
from arh.harness.authoring.datasets import DatasetCatalogue
from arh.records.authorization import Grant
from arh.records.control.plan import PlannedRun
from arh.records.control.scenario import (
    ActorStimulus,
    Approval,
    Fault,
    Principal,
    ProgressLimits,
    RuntimeBudgets,
    Scenario,
    UserMessage,
)
from arh.records.faults import FaultPlan
from arh.records.identity import SecurityContext
from arh.records.messages import Message
from arh.records.packs import WorkflowPack
from arh.records.setup import ActorSetup, RunSetup, SeedRecord
from arh.records.tasks import Budgets
from arh.records.tasks import ProgressLimits as Progress

FORGED: Final = "forged"
_NUMBER: Final = "{n}"


def to_setup(run: PlannedRun, pack: WorkflowPack, catalogue: DatasetCatalogue) -> RunSetup:
    """Return the composition of a run.

    Raises:
        AuthoringError: A dataset is not what the scenario pins.
    """
    scenario = run.located.scenario
    trusted = scenario.trusted_environment
    versions = {tool.manifest.name: tool.manifest.version for tool in pack.tools}
    contract = scenario.runtime.output_contract
    return RunSetup(
        run_id=run.run_id,
        seed=run.seed,
        workflow=scenario.workflow,
        policy=next(iter(trusted.authorization_policy_refs), pack.policies[0][0]),
        actors=to_actors(scenario),
        grants=tuple(_grant(approval, trusted.principal) for approval in trusted.approvals),
        budgets=to_budgets(scenario.controls.runtime_budgets),
        progress=to_progress(scenario.controls.progress_limits),
        seeds=to_seeds(scenario, catalogue),
        tool_versions=tuple((name, versions[name]) for name in scenario.runtime.available_tools),
        output_contract=None if contract is None else Json.of(dict(contract)),
    )


def to_fault_plans(scenario: Scenario) -> tuple[FaultPlan, ...]:
    """Return the scheduled faults in order; one without an id is `fault-<n>`, counted from 1."""
    return tuple(_fault(fault, at) for at, fault in enumerate(scenario.controls.faults, start=1))


def to_actors(scenario: Scenario) -> tuple[ActorSetup, ...]:
    """Return the acting agents: those of the scenario, else the one that the principal names.

    With soak tasks, its opening conversation is empty: see `soak_tasks`.
    """
    stimulus, principal = scenario.stimulus, scenario.trusted_environment.principal
    if stimulus.actors:
        return tuple(_own(actor, scenario) for actor in stimulus.actors)
    return (_actor(principal.agent, stimulus.messages, scenario),)


def soak_tasks(scenario: Scenario) -> Iterator[tuple[Message, ...]]:
    """Yield the opening conversation of each soak task; `{n}` counts a task's repeats from 1."""
    for task in scenario.stimulus.soak:
        for number in range(1, task.repeat + 1):
            yield tuple(to_message(message, number=number) for message in task.messages)


def to_message(message: UserMessage, *, number: int | None = None) -> Message:
    """Return an authored message as the agent gets it."""
    text = message.content
    if number is not None:
        text = text.replace(_NUMBER, str(number))
    return Message(message.role, text, name=message.name)


def to_seeds(scenario: Scenario, catalogue: DatasetCatalogue) -> tuple[SeedRecord, ...]:
    """Return the rows of all datasets, then the scenario's own changes to them.

    Raises:
        AuthoringError: A dataset is not what the scenario pins, or a change is no row.
    """
    seeds: list[SeedRecord] = []
    for ref in scenario.runtime.dataset_refs:
        seeds += catalogue.load_verified(ref).records
    for change in scenario.runtime.changes:
        record = catalogue.seed_record(change.collection, dict(change.row))
        if isinstance(record, Problem):
            raise AuthoringError(record)
        seeds.append(record)
    return tuple(seeds)


def to_budgets(budgets: RuntimeBudgets) -> Budgets:
    """Return the production limits in the names that the agent's supervisor uses."""
    return Budgets(
        steps_max=budgets.max_steps,
        tool_calls_max=budgets.max_tool_calls,
        deadline_ms=budgets.wall_clock_ms,
        tokens_max=budgets.max_tokens,
        output_tokens_max=budgets.max_output_tokens,
        retries_max=budgets.max_retries,
    )


def to_progress(limits: ProgressLimits) -> Progress:
    """Return the non-progress limits in the names that the agent's supervisor uses."""
    return Progress(
        repeats_max=limits.max_repeats,
        cycles_max=limits.max_cycles,
        stall_max=limits.max_stall,
        rejections_max=limits.max_rejections,
        model_calls_max=limits.max_model_calls,
        tokens_max=limits.max_tokens,
        elapsed_ms_max=limits.max_elapsed_ms,
        amplification_max=limits.max_amplification,
        amplification_stops=limits.amplification_stops,
    )


def _own(actor: ActorStimulus, scenario: Scenario) -> ActorSetup:
    """Return an actor with what it has of its own in place of the scenario's."""
    setup = _actor(actor.actor, actor.messages, scenario)
    return replace(
        setup,
        context=setup.context if actor.principal is None else _context(actor.principal),
        model_configuration=actor.model_configuration or setup.model_configuration,
    )


def _actor(name: str, messages: Sequence[UserMessage], scenario: Scenario) -> ActorSetup:
    return ActorSetup(
        actor=name,
        context=_context(scenario.trusted_environment.principal),
        tools=tuple(scenario.runtime.available_tools),
        messages=tuple(map(to_message, messages)),
        model_configuration=scenario.reproducibility.model_configuration,
    )


def _context(principal: Principal) -> SecurityContext:
    return SecurityContext(
        subject=principal.caller,
        actor=principal.agent,
        tenant=principal.tenant,
        scopes=tuple(principal.authority),
        actor_scopes=tuple(principal.actor_authority),
        delegation=tuple(principal.delegation),
    )


def _grant(approval: Approval, principal: Principal) -> Grant:
    """Return a grant to be signed; a forged one keeps a signature that does not verify."""
    return Grant(
        approval_id=approval.approval_id,
        approver=approval.approver,
        subject=approval.principal,
        tenant=approval.tenant or principal.tenant,
        tool=approval.tool,
        tool_version=approval.tool_version,
        action_digest=approval.action_digest,
        scope=Json.of(dict(approval.scope)),
        issued_at_ms=approval.issued_vt_ms,
        expires_at_ms=approval.expires_vt_ms,
        single_use=approval.single_use,
        signature=FORGED if approval.forged else "",
    )


def _fault(fault: Fault, number: int) -> FaultPlan:
    parameters = fault.parameters
    keep = parameters.keep_fields
    return FaultPlan(
        id=fault.id or f"fault-{number}",
        target_type=str(fault.target_type),
        phase=str(fault.phase),
        effect=str(fault.effect),
        target_name=fault.target_name or "",
        trigger=fault.trigger,
        invocation=fault.invocation,
        ms=parameters.ms,
        retry_after_ms=parameters.retry_after_ms,
        hidden_outcome=parameters.hidden_outcome,
        raw=parameters.raw,
        keep_fields=None if keep is None else tuple(keep),
        revisions_back=parameters.revisions_back,
    )
