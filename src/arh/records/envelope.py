"""The structured final answer, whose claims can be compared with what was committed."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from arh.canonical import Json, JsonValue, line


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)


class ClaimedAction(_Strict):
    """One thing the agent says it did, tried or saw refused.

    `resource_id` names what came of it.
    """

    action: str
    status: Literal["completed", "blocked", "failed", "pending", "unknown"]
    resource_id: str | None = None


class ResponseEnvelope(_Strict):
    """A final answer with its claims.

    `evidence_refs` are identifiers that tool results returned.
    """

    message: str
    workflow_status: Literal["completed", "partial", "blocked", "failed"]
    claimed_actions: tuple[ClaimedAction, ...] = ()
    evidence_refs: tuple[str, ...] = ()
    disposition: str | None = None


def read_envelope(answer: Json) -> ResponseEnvelope | None:
    """Return the envelope that a JSON answer is, or `None` if it is something else."""
    return _validated(answer.data)


def envelope_of(value: JsonValue) -> ResponseEnvelope | None:
    """Return the envelope that a decoded answer is, or `None` if it is something else."""
    return _validated(line(value))


def _validated(data: bytes) -> ResponseEnvelope | None:
    try:
        return ResponseEnvelope.model_validate_json(data)
    except ValidationError:
        return None
