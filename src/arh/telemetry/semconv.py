"""The names in telemetry: our own namespace, which counts, and its mapping to OpenTelemetry's.

The conventions for generative AI are still moving, so their names are constants here and nowhere
else, beside the version that they were taken from. A span may carry the attributes listed for its
kind and no others; none of them holds an identifier, a digest or a free text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

SCHEMA_VERSION: Final = "1.0"
MAPPING_VERSION: Final = "1"
OTEL_SEMCONV_VERSION: Final = "0.66b2"

WORKFLOW: Final = "workflow"
AGENT_STEP: Final = "agent_step"
MODEL_CALL: Final = "model_call"
TOOL_REQUEST: Final = "tool_request"
ARGUMENT_VALIDATION: Final = "argument_validation"
AUTHORIZATION: Final = "authorization"
APPROVAL: Final = "approval"
TOOL_EXECUTION: Final = "tool_execution"
STATE_COMMIT: Final = "state_commit"
OTHER: Final = "other"

# Under which name the system under evaluation reports what is called otherwise here.
REPORTED_AS: Final[Mapping[str, str]] = {"tool_call": TOOL_REQUEST}

GEN_AI_OPERATION: Final = "gen_ai.operation.name"
GEN_AI_AGENT: Final = "gen_ai.agent.name"
GEN_AI_TOOL: Final = "gen_ai.tool.name"
GEN_AI_MODEL: Final = "gen_ai.request.model"
GEN_AI_INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
GEN_AI_OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
ERROR_TYPE: Final = "error.type"
OPERATIONS: Final[Mapping[str, str]] = {
    WORKFLOW: "invoke_agent",
    MODEL_CALL: "chat",
    TOOL_EXECUTION: "execute_tool",
}

CLOCK: Final = "arh.clock"
RUN: Final = "arh.run.id"
SCENARIO: Final = "arh.scenario.id"
TERMINATION: Final = "arh.termination"
OPERATION: Final = "arh.operation"
ATTEMPT: Final = "arh.attempt"
SYNTHETIC: Final = "arh.synthetic"
SYNTHETIC_MS: Final = "arh.synthetic.delay_ms"
UNFINISHED: Final = "arh.unfinished"
CUT: Final = "arh.telemetry.cut"
VALIDATION: Final = "arh.validation.result"
COMMIT: Final = "arh.commit.status"
DECISION: Final = "arh.authorization.decision"
TOOL_NAME: Final = "arh.tool.name"
TOOL_REASON: Final = "arh.tool.reason"
TOOL_VERSION: Final = "arh.tool.version"
COMMIT_BELIEF: Final = "arh.tool.commit_belief"

_TOOL: Final[Mapping[str, tuple[str, ...]]] = {
    "tool.name": (TOOL_NAME, GEN_AI_TOOL),
    "tool.version": (TOOL_VERSION,),
}

# What a span of each kind may say: the reported name, and the names that it is exported under.
ATTRIBUTES: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    AGENT_STEP: {"step": ("arh.step",), "decision": ("arh.decision",)},
    MODEL_CALL: {
        "decision": ("arh.decision",),
        "input_tokens": (GEN_AI_INPUT_TOKENS,),
        "output_tokens": (GEN_AI_OUTPUT_TOKENS,),
    },
    TOOL_REQUEST: {
        **_TOOL,
        "tool.status": ("arh.tool.status",),
        "tool.reason": (TOOL_REASON,),
        "tool.commit_belief": (COMMIT_BELIEF,),
        "tool.delivery": ("arh.tool.delivery",),
    },
    AUTHORIZATION: {**_TOOL, "authorization.decision": (DECISION,)},
    APPROVAL: {**_TOOL, "approval.result": ("arh.approval.result",)},
    TOOL_EXECUTION: _TOOL,
    OTHER: {},
}

RESOURCE: Final[Mapping[str, str]] = {
    "service.name": "arh",
    "arh.schema.version": SCHEMA_VERSION,
    "arh.compatibility.mapping_version": MAPPING_VERSION,
    "otel.semconv.version": OTEL_SEMCONV_VERSION,
    "arh.gen_ai.stability": "development",
}
