"""A model's reply as a recording holds it, and back: exactly, or not at all."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

from arh.canonical import Json
from arh.records.decisions import (
    AskUser,
    Calls,
    Decision,
    Final,
    Malformed,
    ModelReply,
    Refusal,
    Served,
    Truncated,
    Unavailable,
    Usage,
)
from arh.records.messages import ToolRequest

Data = dict[str, Any]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, defer_build=True)


class _Served(_Strict):
    model: str
    fingerprint: str
    reply_id: str
    first_ms: int | None
    trouble: str
    metered: bool


class _Decision(BaseModel):
    model_config = ConfigDict(strict=False, extra="forbid", frozen=True, defer_build=True)

    decision: str
    requests: list[tuple[str, str, str]] = []
    text: str = ""
    answer: Any = None
    structured: bool = False
    retry_after_ms: int | None = None


class Reply(BaseModel):
    """One recorded reply; lists come from JSON, so its parts are read leniently as tuples."""

    model_config = ConfigDict(strict=False, extra="forbid", frozen=True, defer_build=True)

    decision: _Decision
    usage: tuple[int, int, int]
    latency_ms: int
    served: _Served | None


def reply_value(reply: ModelReply) -> Data:
    """Return the reply as JSON."""
    usage, served = reply.usage, reply.served
    return {
        "decision": _decision_value(reply.decision),
        "usage": [usage.input_tokens, usage.output_tokens, usage.cached_tokens],
        "latency_ms": reply.latency_ms,
        "served": None
        if served is None
        else {
            "model": served.model,
            "fingerprint": served.fingerprint,
            "reply_id": served.reply_id,
            "first_ms": served.first_ms,
            "trouble": served.trouble,
            "metered": served.metered,
        },
    }


def read_reply(reply: Reply, model: str) -> ModelReply:
    """Return the reply that was recorded, of the model of this name."""
    served = None if reply.served is None else Served(**reply.served.model_dump())
    decision = _read_decision(reply.decision)
    return ModelReply(decision, Usage(*reply.usage), reply.latency_ms, model, served)


def _decision_value(decision: Decision) -> Data:
    match decision:
        case Calls(requests, text):
            listed = [[r.call_id, r.tool, r.arguments] for r in requests]
            return {"decision": "calls", "requests": listed, "text": text}
        case Final(answer) if isinstance(answer, Json):
            return {"decision": "final", "answer": answer.value(), "structured": True}
        case Final(answer):
            return {"decision": "final", "answer": answer}
        case AskUser(message):
            return {"decision": "ask_user", "text": message}
        case Refusal(message):
            return {"decision": "refusal", "text": message}
        case Truncated(detail):
            return {"decision": "truncated", "text": detail}
        case Malformed(detail):
            return {"decision": "malformed", "text": detail}
        case Unavailable(reason, after):
            return {"decision": "unavailable", "text": reason, "retry_after_ms": after}


def _read_decision(kept: _Decision) -> Decision:
    match kept.decision:
        case "calls":
            return Calls(tuple(ToolRequest(*each) for each in kept.requests), kept.text)
        case "final" if kept.structured:
            return Final(Json.of(kept.answer))
        case "final" if isinstance(kept.answer, str):
            return Final(kept.answer)
        case "ask_user":
            return AskUser(kept.text)
        case "refusal":
            return Refusal(kept.text)
        case "truncated":
            return Truncated(kept.text)
        case "unavailable":
            return Unavailable(kept.text, kept.retry_after_ms)
        case _:
            return Malformed(kept.text)
