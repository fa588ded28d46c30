"""Scenario schema 3.0: one authored line, its fields grouped by who may see them.

`stimulus` and `runtime` reach the agent as production would deliver them; `trusted_environment`
shapes the world without being shown; `controls` and `expectations` never leave the control plane.
Everything is strict: an unknown key, a wrong type or an empty criterion is an authoring error.
"""

from __future__ import annotations

from datetime import date
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

NonEmpty = Annotated[str, Field(min_length=1, max_length=20_000)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.:@*-]{0,127}$")]
Slug = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{2,95}$")]
Count = Annotated[int, Field(ge=0, le=10_000_000)]
Positive = Annotated[int, Field(ge=1, le=10_000_000)]
Where = dict[str, JsonValue]


class Strict(BaseModel):
    """Refuses unknown keys and loose types; never changes."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)


class Category(StrEnum):
    """What a scenario is for; its folder must carry the same name."""

    GOLDEN = "golden"
    ALTERNATE = "alternate"
    NEGATIVE = "negative"
    ADVERSARIAL = "adversarial"
    RECOVERY = "recovery"
    CONTROL = "control"
    BOUNDARY = "boundary"
    AMBIGUOUS = "ambiguous"
    MULTITURN = "multiturn"
    LONG_CONTEXT = "long_context"
    CONCURRENCY = "concurrency"
    SOAK = "soak"


Role = Literal["acceptance", "positive_control", "negative_control", "unscored"]
Risk = Literal["low", "medium", "high", "critical"]
Split = Literal["development", "calibration", "regression", "holdout", "adversarial"]


# --- stimulus: reaches the agent as messages -----------------------------------------------------


class UserMessage(Strict):
    """One message of the opening conversation."""

    role: Literal["user", "assistant"] = "user"
    content: NonEmpty
    name: Name | None = None


class UserTurn(Strict):
    """What the simulated user says next, guarded like a model script's rule; `done` hangs up."""

    when: dict[str, JsonValue] = Field(default_factory=dict)
    say: NonEmpty | None = None
    done: bool = False


class GeneratedContext(Strict):
    """Filler messages made from a seed and digested, put into the opening conversation.

    `after` is how many messages of the opening come before the filler: what they say lies far back.
    """

    messages: Annotated[int, Field(ge=1, le=5_000)]
    words_each: Annotated[int, Field(ge=1, le=400)] = 40
    topic: NonEmpty = "routine account questions"
    after: Count = 0


class ActorStimulus(Strict):
    """One acting agent of several: conversation, model script and, if given, identity."""

    actor: Name
    messages: Annotated[list[UserMessage], Field(min_length=1)]
    model_configuration: Name | None = None
    principal: Principal | None = None


class SoakTask(Strict):
    """One of many tasks done in order over one state; `repeat` renders `{n}` in text from 1 up."""

    messages: Annotated[list[UserMessage], Field(min_length=1)]
    repeat: Positive = 1


class Stimulus(Strict):
    """What starts the work: messages, or actors, or soak tasks.

    Turns answer the agent's questions.
    """

    messages: list[UserMessage] = Field(default_factory=list)
    turns: list[UserTurn] = Field(default_factory=list)
    actors: list[ActorStimulus] = Field(default_factory=list)
    soak: list[SoakTask] = Field(default_factory=list)
    context: GeneratedContext | None = None


# --- runtime: what the role has in production ----------------------------------------------------


class DatasetRef(Strict):
    """A collection to seed; a pinned hash that differs from the file's refuses to run."""

    collection: Name
    version: str = "1.0"
    content_hash: Annotated[str, Field(pattern=r"^[0-9a-f]{16,64}$")] | None = None


class SeedChange(Strict):
    """A further revision of a seeded record, written before the run begins."""

    collection: Name
    row: dict[str, JsonValue]


class Runtime(Strict):
    """Tools on offer (all of them named) and the data of the world."""

    available_tools: Annotated[list[Name], Field(min_length=1)]
    dataset_refs: list[DatasetRef] = Field(default_factory=list)
    changes: list[SeedChange] = Field(default_factory=list)
    incident: dict[str, JsonValue] | None = None
    output_contract: dict[str, JsonValue] | None = None


# --- trusted environment: identity, policy, approvals --------------------------------------------


class Principal(Strict):
    """Who calls, for which tenant, with which scopes; `actor_authority` bounds the agent itself."""

    caller: Name
    authority: list[Name]
    tenant: Name = "tenant-a"
    agent: Name = "agent"
    actor_authority: list[Name] = Field(default_factory=lambda: ["*:*"])
    delegation: list[Name] = Field(default_factory=list)


class Approval(Strict):
    """A grant on record before the run. `forged` leaves it unsigned, for tests of the verifier."""

    approval_id: Name
    approver: Name
    principal: Name
    tool: Name
    tenant: Name | None = None
    tool_version: str | None = None
    action_digest: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    scope: dict[str, JsonValue] = Field(default_factory=dict)
    issued_vt_ms: Count = 0
    expires_vt_ms: Count | None = None
    single_use: bool = True
    forged: bool = False


class TrustedEnvironment(Strict):
    """Configuration that a trusted party supplies and no agent can assert."""

    principal: Principal
    authorization_policy_refs: list[Name] = Field(default_factory=list)
    approvals: list[Approval] = Field(default_factory=list)


# --- controls: budgets, faults, schedule ---------------------------------------------------------


class RuntimeBudgets(Strict):
    """Production limits handed to the system under evaluation, in counts, tokens, milliseconds."""

    max_steps: Positive
    max_tool_calls: Positive
    wall_clock_ms: Positive
    max_tokens: Positive | None = None
    max_output_tokens: Positive | None = None
    max_retries: Count = 3


class ProgressLimits(Strict):
    """Non-progress limits handed to the system under evaluation; see `arh.records.tasks`."""

    max_repeats: Positive = 3
    max_cycles: Positive = 2
    max_stall: Positive = 5
    max_rejections: Positive = 3
    max_model_calls: Positive | None = None
    max_tokens: Positive | None = None
    max_elapsed_ms: Positive | None = None
    max_amplification: Positive | None = None
    amplification_stops: bool = False


class Watchdog(Strict):
    """How much later than the budgets the harness itself stops a run."""

    extra_actions: Positive = 8
    extra_ms: Positive = 5_000


class FaultTarget(StrEnum):
    """A dependency that can fail."""

    MODEL = "model"
    TOOL = "tool"
    STATE_STORE = "state_store"
    AUTHORIZATION = "authorization_service"
    APPROVAL = "approval_service"


class FaultPhase(StrEnum):
    """When a fault strikes, by what is then certain about a commit."""

    NOT_DISPATCHED = "not_dispatched"
    BEFORE_COMMIT = "before_commit"
    AFTER_DISPATCH = "after_dispatch"
    AFTER_COMMIT = "after_commit"


class FaultEffect(StrEnum):
    """What the caller of the dependency gets."""

    TIMEOUT = "timeout"
    SLOWDOWN = "slowdown"
    ERROR = "error"
    RATE_LIMIT = "rate_limit"
    PARTIAL = "partial"
    MALFORMED = "malformed"
    STALE = "stale"
    DUPLICATE = "duplicate_delivery"
    TRUNCATED = "truncated_stream"


class FaultParameters(Strict):
    """`ms` is the time the symptom takes; `hidden_outcome` settles what `after_dispatch` hides."""

    ms: Positive | None = None
    retry_after_ms: Positive | None = None
    hidden_outcome: Literal["committed", "not_committed"] | None = None
    raw: Annotated[str, Field(max_length=2_000)] | None = None
    keep_fields: list[Name] | None = None
    revisions_back: Positive | None = None


class Fault(Strict):
    """One scheduled fault. `invocation` is the 1-based call for the trigger `nth`."""

    id: Slug | None = None
    target_type: FaultTarget
    target_name: Name | None = None
    trigger: Literal["first", "nth", "always"] = "first"
    invocation: Positive | None = None
    phase: FaultPhase
    effect: FaultEffect
    parameters: FaultParameters = FaultParameters()


class ScheduleStep(Strict):
    """From this actor's `nth` arrival at `point` on, the baton goes to `to`."""

    actor: Name
    point: Literal["model", "gateway", "decided", "before_commit", "after_commit"]
    nth: Positive = 1
    to: Name


class Schedule(Strict):
    """How the actors' threads interleave: explicit steps, or a seeded choice at every point."""

    kind: Literal["explicit", "seeded"] = "seeded"
    steps: list[ScheduleStep] = Field(default_factory=list)


class Controls(Strict):
    """What the harness does to the run."""

    runtime_budgets: RuntimeBudgets
    progress_limits: ProgressLimits = ProgressLimits()
    watchdog: Watchdog = Watchdog()
    faults: list[Fault] = Field(default_factory=list)
    schedule: Schedule | None = None
    seed: Count | None = None


# --- expectations: for evaluators only -----------------------------------------------------------


class Assertion(Strict):
    """One typed predicate over authoritative state.

    `arh.harness.vocabulary.assertions` says what each kind needs.

    count, present, absent, field_match, range, set_equals, set_contains, cross_match, total,
    transition, revision, tenant_isolated, ever_committed, never_committed.
    """

    kind: Literal[
        "count",
        "present",
        "absent",
        "field_match",
        "range",
        "set_equals",
        "set_contains",
        "cross_match",
        "total",
        "transition",
        "revision",
        "tenant_isolated",
        "ever_committed",
        "never_committed",
    ]
    collection: Name
    where: Where = Field(default_factory=dict)
    field: Name | None = None
    expected: JsonValue = None
    minimum: int | None = None
    maximum: int | None = None
    before: JsonValue = None
    other_collection: Name | None = None
    other_field: Name | None = None
    id: Slug | None = None


class OutcomeAlternative(Strict):
    """One acceptable end state: every assertion holds."""

    all_of: Annotated[list[Assertion], Field(min_length=1)]
    terminations: list[Name] | None = None


class ExpectedChange(Strict):
    """A change that is allowed to happen, to so many records; anything else is collateral."""

    collection: Name
    where: Where = Field(default_factory=dict)
    fields: list[Name] | None = None
    at_most: Positive = 1


class FieldEquals(Strict):
    """A top-level field of a result equals a value."""

    field: Name
    expected: JsonValue


class EvidenceRequirement(Strict):
    """A read that must have succeeded, matched and been current before each dependent action.

    `same_arguments` names arguments that source and action must share, so that evidence about one
    account cannot justify an action on another.
    """

    name: Name
    source_tool: Name
    result_predicates: list[FieldEquals] = Field(default_factory=list)
    argument_predicates: list[FieldEquals] = Field(default_factory=list)
    must_precede_tool: Name
    same_arguments: list[Name] = Field(default_factory=list)
    require_success: Literal[True] = True
    fresh: bool = True


class OrderingConstraint(Strict):
    """Before every `after` that took effect, there is a `before` that was executed.

    It is one of the same actor and task, and it is not used up: one `before` covers every `after`
    that follows it. Where an action needs a read of the same thing, or one that is still current,
    say so as an evidence requirement.
    """

    before: Name
    after: Name


class ArgumentPredicate(Strict):
    """A requested argument, judged anew against the situation; exactly one test."""

    tool: Name
    argument: Name
    one_of: list[JsonValue] | None = None
    mentioned_by_user: bool = False
    matches: str | None = None
    minimum: int | None = None
    maximum: int | None = None


class TargetJustification(Strict):
    """Every value of `argument` in calls of `tool` must be among `allowed` or named by the user."""

    tool: Name
    argument: Name
    allowed: list[JsonValue] = Field(default_factory=list)


class Trajectory(Strict):
    """The set of acceptable paths."""

    required_evidence: list[Name] = Field(default_factory=list)
    allowed_tool_requests: list[Name] | None = None
    forbidden_tool_requests: list[Name] = Field(default_factory=list)
    ordering_constraints: list[OrderingConstraint] = Field(default_factory=list)
    evidence_requirements: list[EvidenceRequirement] = Field(default_factory=list)
    argument_predicates: list[ArgumentPredicate] = Field(default_factory=list)
    justified_targets: list[TargetJustification] = Field(default_factory=list)
    max_executed_calls: Positive | None = None
    trace_assertions: list[dict[str, JsonValue]] = Field(default_factory=list)


class ActionConstraint(Strict):
    """What may not take effect: a tool, narrowed by arguments, identity, amount, scope or a total.

    A call is forbidden if it matches every field given. `amount_above` compares the tool's amount;
    `total_above` the sum of committed amounts in the run, by `total_by` argument if given;
    `count_above` the number of committed effects.
    """

    id: Slug | None = None
    tool: Name
    arguments: Where = Field(default_factory=dict)
    subject: Name | None = None
    resource_tenant_differs: bool = False
    without_scope: Name | None = None
    amount_above: Count | None = None
    total_above: Count | None = None
    total_by: Name | None = None
    count_above: Count | None = None
    why: NonEmpty


class Guardrails(Strict):
    """Actions that controls must prevent; `must_exercise` demands that one was really attempted."""

    action_constraints: list[ActionConstraint] = Field(default_factory=list)
    must_exercise: bool = False


class ResponseRules(Strict):
    """Deterministic checks of the final answer, by whole tokens unless named `substring`."""

    must_reference: str | list[str] = Field(default_factory=list)
    must_be_valid_json: bool = False
    forbidden_substrings: list[str] = Field(default_factory=list)
    forbidden_references: list[str] = Field(default_factory=list)
    json_schema: dict[str, JsonValue] | None = None
    evidence_refs_exist: bool = False


class Response(Strict):
    """Expectations of the final answer."""

    deterministic: ResponseRules = ResponseRules()


class FaultHandling(Strict):
    """How the agent should behave under the declared faults.

    `recovery`: the work is done all the same; `faithful_failure`: it is not done, nothing is
    claimed; `degraded`: `degraded_outcome` holds and the answer claims no more than that.
    """

    expected: Literal["recovery", "faithful_failure", "degraded"]
    max_retries_per_operation: Count | None = None


class ExpectedFinding(Strict):
    """A failure by design: it must be there, and then it counts at no level.

    With a `count`, exactly so many findings of the rule must be there, or none of them is excused.
    """

    rule: Name
    why: NonEmpty
    count: Positive | None = None


class Expectations(Strict):
    """What is right, for evaluators only. `pass_criteria` maps an evaluator to `pass`."""

    invariants: list[Assertion] = Field(default_factory=list)
    acceptable_outcomes: list[OutcomeAlternative] = Field(default_factory=list)
    unchanged_except: list[ExpectedChange] | None = None
    trajectory: Trajectory = Trajectory()
    guardrails: Guardrails = Guardrails()
    response: Response = Response()
    grounding: bool = True
    fault_handling: FaultHandling | None = None
    acceptable_terminations: Annotated[list[Name], Field(min_length=1)] = Field(
        default_factory=lambda: ["completed"]
    )
    expected_findings: list[ExpectedFinding] = Field(default_factory=list)
    pass_criteria: dict[Name, Literal["pass"]] = Field(default_factory=dict)


class Reproducibility(Strict):
    """Versions that the run is pinned to."""

    prompt_version: str
    model_configuration: Name
    tool_version: str
    dataset_version: str


class Scenario(Strict):
    """One authored line."""

    schema_version: Annotated[str, Field(pattern=r"^3\.\d+$")]
    id: Slug
    workflow: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*@\d+$")]
    description: NonEmpty
    category: Category
    role: Role
    risk_class: Risk
    split: Split
    owner: NonEmpty
    reason: NonEmpty
    source_class: Literal["authored", "synthetic", "incident", "published"]
    last_review: Annotated[date, Field(strict=False)]
    retirement: NonEmpty
    tags: list[Slug] = Field(default_factory=list)
    stimulus: Stimulus
    runtime: Runtime
    trusted_environment: TrustedEnvironment
    controls: Controls
    expectations: Expectations
    reproducibility: Reproducibility


ActorStimulus.model_rebuild()
