"""A workflow whose one tool is a service of the team's own, which its outcome is read from."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from arh.canonical import Json
from arh.http_exchange import HttpRequest, exchange
from arh.records.execution import Tool
from arh.records.external import ExternalState, Reading, Row
from arh.records.packs import ClaimPattern, CollectionSpec, RemoteService, WorkflowPack
from arh.records.tools import Effect, ToolManifest
from arh.state.sources import http_source
from arh.tools.http_tool import HttpTool

DESK = "http://127.0.0.1:8765"
TEXT = {"type": "string"}

FILE_TICKET = Tool(
    ToolManifest(
        name="file_ticket",
        version="1.0",
        description="File a ticket at the desk. Repeat the same key when you retry.",
        effect=Effect.KEYED_REMOTE,
        parameters=Json.of(
            {
                "type": "object",
                "properties": {"account_id": TEXT, "key": TEXT},
                "required": ["account_id", "key"],
                "additionalProperties": False,
            }
        ),
        result=Json.of(
            {"type": "object", "properties": {"ticket_id": TEXT}, "required": ["ticket_id"]}
        ),
        key_argument="key",
        service="desk",
    ),
    HttpTool("POST", "/tickets", wall_ms_max=1000),
    lookup=HttpTool(
        "GET",
        "/tickets/by-key/{key}",
        result=lambda ticket: {"ticket_id": ticket["ticket_id"]},  # type: ignore[index,call-overload]
        wall_ms_max=1000,
    ),
)


def shown(value: Any) -> Reading:  # noqa: ANN401 - what the desk answers
    """Return what the desk shows as a reading."""
    return Reading(value["revision"], {"tickets": value["tickets"]})


def begin_anew(address: str, rows: Mapping[str, Sequence[Row]]) -> None:
    """Let the desk begin a run with these tickets."""
    body = json.dumps({"tickets": [dict(row) for row in rows["tickets"]]}).encode()
    exchange(HttpRequest("POST", f"{address}/reset", (), body), timeout_ms=1000)


def pack() -> WorkflowPack:
    """Return the workflow; `ARH_SERVICE_DESK` and `ARH_STATE_DESK` say where the desk is."""
    return WorkflowPack(
        name="desk",
        version="1.0",
        description="Tickets at a desk of the team's own.",
        tools=(FILE_TICKET,),
        collections=(
            CollectionSpec(
                "tickets",
                ("ticket_id",),
                seeded=False,
                volatile=("ticket_id",),
                business_key=("account_id",),
                fields=("account_id", "key", "ticket_id"),
            ),
        ),
        policies=(
            (
                "desk",
                Json.of(
                    {
                        "policy": "desk",
                        "version": "1.0",
                        "rules": [
                            {"id": "allow-file", "tool": "file_ticket", "scope": "write:ticket"}
                        ],
                    }
                ),
            ),
        ),
        claims=(
            ClaimPattern(
                "file_ticket",
                r"(?i)\bfiled\b.{0,40}\bticket\b",
                (r"(?i)\b(not|no|whether)\b",),
            ),
        ),
        services=(RemoteService("desk", DESK),),
        external=(
            ExternalState(
                "desk",
                ("tickets",),
                connect=http_source("/state", reading=shown),
                address=DESK,
                tools=("file_ticket",),
                prepare=begin_anew,
                operation_field="key",
            ),
        ),
    )
