"""What an agent is handed: a task and its budgets, frozen; and what it hands back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from arh.canonical import Json
from arh.records.messages import Message, ToolRequest, ToolSpec

Budget = Literal["step_budget", "tool_call_budget", "token_budget", "deadline", "retry_budget"]
NonProgress = Literal[
    "loop_exact",
    "loop_cycle",
    "stall",
    "no_progress_meter",
    "repeated_rejection",
    "amplification",
]
AgentEnd = Literal[
    "completed",
    "clarification_requested",
    "safely_refused",
    "authorization_denied",
    "approval_pending",
    "dependency_unavailable",
    Budget,
    NonProgress,
]
Termination = Literal[
    AgentEnd,
    "invariant_violation",
    "fixture_mismatch",
    "agent_error",
    "watchdog",
    "hung",
    "harness_error",
    "live_budget",
    "live_outage",
]
BUDGETS: tuple[Budget, ...] = get_args(Budget)
NON_PROGRESS: tuple[NonProgress, ...] = get_args(NonProgress)
# The ends that an agent may name in its report; it is believed in no other.
AGENT_ENDS: tuple[AgentEnd, ...] = get_args(AgentEnd)
# The ends that are the harness's own trouble, and say nothing about an agent.
HARNESS_ENDS: tuple[Termination, ...] = (
    "fixture_mismatch",
    "harness_error",
    "live_budget",
    "live_outage",
)


@dataclass(frozen=True, slots=True)
class Budgets:
    """Production limits that the system under evaluation enforces on itself.

    `None` is unlimited.
    """

    steps_max: int
    tool_calls_max: int
    deadline_ms: int
    tokens_max: int | None = None
    output_tokens_max: int | None = None
    retries_max: int = 3


@dataclass(frozen=True, slots=True)
class ProgressLimits:
    """When work counts as non-progress; counts of transitions, calls, tokens, milliseconds.

    `amplification_max` is executed calls for each milestone; it warns unless `amplification_stops`.
    """

    repeats_max: int = 3
    cycles_max: int = 2
    stall_max: int = 5
    rejections_max: int = 3
    model_calls_max: int | None = None
    tokens_max: int | None = None
    elapsed_ms_max: int | None = None
    amplification_max: int | None = None
    amplification_stops: bool = False


@dataclass(frozen=True, slots=True)
class Task:
    """One piece of work for one agent: the conversation so far, the tools on offer, the limits.

    `system_prompt` is the deployed configuration's, `output_contract` the JSON Schema of the final
    answer, if one is demanded.
    """

    task_id: str
    actor: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]
    budgets: Budgets
    progress: ProgressLimits = ProgressLimits()
    system_prompt: str = ""
    output_contract: Json | None = None


@dataclass(frozen=True, slots=True)
class AgentReport:
    """How an agent says it ended; `response` is its final answer, `None` where it gave none."""

    termination: str
    response: str | Json | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class BudgetRefused:
    """The agent's own supervisor refused a call or stopped before a budget was exceeded."""

    budget: str
    limit: int
    needed: int
    request: ToolRequest | None = None
    overrun: bool = False


@dataclass(frozen=True, slots=True)
class ProgressStopped:
    """The agent's own supervisor saw non-progress; `stops` is false for a warning."""

    pattern: str
    detail: str
    stops: bool = True


Note = BudgetRefused | ProgressStopped
