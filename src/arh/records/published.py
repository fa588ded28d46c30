"""The published scenario schema 2.0: its keys, its faults in the words of 3.0, its controls' ends.

Tables for `arh.records.upgrade`, which says how they are used.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_ASSERTION: Final = ("kind", "collection", "where", "field", "expected")
_TRUSTED: Final = "trusted_environment"
_TRAJECTORY: Final = "expectations.trajectory"
KEYS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "": (
            "schema_version",
            "id",
            "description",
            "category",
            "tags",
            "stimulus",
            "runtime",
            "trusted_environment",
            "controls",
            "expectations",
            "reproducibility",
        ),
        "stimulus": ("messages",),
        "stimulus.messages": ("role", "content", "name"),
        "runtime": ("available_tools", "dataset_refs", "incident"),
        "runtime.dataset_refs": ("collection", "version", "content_hash"),
        _TRUSTED: ("principal", "authorization_policy_refs", "approvals"),
        f"{_TRUSTED}.principal": ("caller", "authority"),
        f"{_TRUSTED}.approvals": (
            "approval_id",
            "approver",
            "principal",
            "tool",
            "tool_version",
            "action_digest",
            "scope",
            "issued_vt_ms",
            "expires_vt_ms",
            "single_use",
        ),
        "controls": ("runtime_budgets", "watchdog", "faults", "seed"),
        "controls.runtime_budgets": ("max_steps", "max_tool_calls", "max_tokens", "wall_clock_ms"),
        "controls.watchdog": ("extra_actions", "extra_ms"),
        "controls.faults": (
            "target_type",
            "target_name",
            "trigger",
            "invocation",
            "effect",
            "phase",
            "parameters",
        ),
        "controls.faults.parameters": ("ms",),
        "expectations": (
            "trajectory",
            "invariants",
            "acceptable_outcomes",
            "response",
            "pass_criteria",
            "acceptable_terminations",
        ),
        _TRAJECTORY: (
            "required_evidence",
            "allowed_tool_requests",
            "forbidden_tool_requests",
            "ordering_constraints",
            "evidence_requirements",
        ),
        f"{_TRAJECTORY}.ordering_constraints": ("before", "after"),
        f"{_TRAJECTORY}.evidence_requirements": (
            "name",
            "source_tool",
            "result_predicates",
            "must_precede_tool",
            "require_success",
        ),
        f"{_TRAJECTORY}.evidence_requirements.result_predicates": ("field", "expected"),
        "expectations.invariants": _ASSERTION,
        "expectations.acceptable_outcomes": ("all_of",),
        "expectations.acceptable_outcomes.all_of": _ASSERTION,
        "expectations.response": ("deterministic",),
        "expectations.response.deterministic": (
            "must_reference",
            "must_be_valid_json",
            "forbidden_substrings",
        ),
        "reproducibility": (
            "prompt_version",
            "model_configuration",
            "tool_version",
            "dataset_version",
        ),
    }
)
EFFECTS: Final = frozenset(
    {
        "timeout",
        "slowdown",
        "error",
        "rate_limit",
        "partial",
        "stale",
        "malformed_json",
        "duplicate",
        "state_store_failure",
    }
)
_REFUSED_EARLY: Final[Mapping[str, tuple[str, str]]] = {
    "timeout": ("not_dispatched", "timeout"),
    "slowdown": ("not_dispatched", "slowdown"),
    "rate_limit": ("not_dispatched", "rate_limit"),
    "": ("not_dispatched", "error"),
}
_LATE: Final[Mapping[str, tuple[str, str]]] = {
    "slowdown": ("after_dispatch", "slowdown"),
    "malformed_json": ("after_dispatch", "malformed"),
}
# By target and phase: each effect in the words of 3.0; "" stands for every other effect.
FAULTS: Final[Mapping[tuple[str, str], Mapping[str, tuple[str, str]]]] = MappingProxyType(
    {
        ("tool", "before_execution"): _REFUSED_EARLY,
        ("tool", "during_execution"): {
            **_LATE,
            "partial": ("after_dispatch", "partial"),
            "stale": ("after_dispatch", "stale"),
            "duplicate": ("after_dispatch", "duplicate_delivery"),
        },
        ("tool", "after_commit_before_response"): {
            "error": ("after_commit", "error"),
            "": ("after_commit", "timeout"),
        },
        ("authorization_service", "before_execution"): {
            "timeout": ("not_dispatched", "timeout"),
            "rate_limit": ("not_dispatched", "rate_limit"),
            "": ("not_dispatched", "error"),
        },
        ("model", "before_execution"): {**_REFUSED_EARLY, "slowdown": _LATE["slowdown"]},
        ("model", "during_execution"): _LATE,
        ("state_store", "before_execution"): {
            "timeout": ("not_dispatched", "timeout"),
            "slowdown": ("not_dispatched", "slowdown"),
            "": ("not_dispatched", "error"),
        },
        ("state_store", "during_execution"): {
            "stale": ("after_dispatch", "stale"),
            "timeout": ("before_commit", "timeout"),
            "error": ("before_commit", "error"),
            "state_store_failure": ("before_commit", "error"),
        },
    }
)
STOPS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "loop-exact": "loop_exact",
        "oscillation": "loop_cycle",
        "stall": "stall",
        "amplification": "amplification",
        "invariant": "invariant_violation",
        "step-budget": "step_budget",
        "tool-call-budget": "tool_call_budget",
        "token-budget": "token_budget",
        "wallclock-budget": "deadline",
    }
)
BY_DESIGN: Final[Mapping[str, str]] = MappingProxyType(
    {
        "outcome.invariant_violated": "the control breaks an invariant, which must be noticed",
        "non_progress.behaviour": "the control goes in circles, which must be noticed and stopped",
        "trajectory.forbidden_requested": "the forbidden action is asked for, so as to be blocked",
    }
)
