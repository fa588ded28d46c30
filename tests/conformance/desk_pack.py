"""A pack over the ticket desk: one remote tool, its state read from the desk, and its scenarios."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from arh.bootstrap.packs import configure
from arh.bootstrap.suite import Suite, default_evaluators
from arh.canonical import Json
from arh.harness.authoring.datasets import DatasetCatalogue
from arh.harness.authoring.scenario_loader import LoadedSuite
from arh.http_exchange import HttpRequest, exchange
from arh.model.scripted.reader import read_script
from arh.model.scripted.scripts import Scripts
from arh.records.execution import Handler, Tool
from arh.records.external import Consistency, ExternalState, Reading, Row
from arh.records.packs import CollectionSpec, RemoteService, WorkflowPack
from arh.records.tools import Effect, ToolManifest
from arh.state.sources import http_source
from arh.testing.workbench import Tried, Workbench
from arh.tools.http_tool import HttpTool

# Long enough for a machine that is busy with other tests; a hang costs one such time.
WALL_MS = 800
FILE = HttpTool("POST", "/tickets", wall_ms_max=WALL_MS)
FIND = HttpTool("GET", "/tickets/by-key/{key}", wall_ms_max=WALL_MS)
# What ends a reading that cannot succeed is the number of attempts, which no load changes.
QUICK = Consistency(deadline_ms=10_000, interval_ms=5, attempts_max=20)

MANIFEST = ToolManifest(
    name="file_ticket",
    version="1.0",
    description="File a ticket at the desk.",
    effect=Effect.KEYED_REMOTE,
    parameters=Json.of(
        {
            "type": "object",
            "properties": {"account_id": {"type": "string"}, "ref": {"type": "string"}},
            "required": ["account_id", "ref"],
            "additionalProperties": False,
        }
    ),
    result=Json.of(
        {
            "type": "object",
            "properties": {"ticket_id": {"type": "string"}, "revision": {"type": "integer"}},
            "required": ["ticket_id"],
        }
    ),
    key_argument="ref",
    service="desk",
)
POLICY = {
    "policy": "desk",
    "version": "1.0",
    "rules": [{"id": "allow-file", "tool": "file_ticket", "scope": "write:ticket"}],
}
ARGUMENTS: dict[str, str] = {"account_id": "A-1", "ref": "r-1"}
FAULTY: dict[str, Any] = {"id": "on-the-wire", "target_type": "tool", "target_name": "file_ticket"}


def desk_state(url: str, **changes: Any) -> ExternalState:  # noqa: ANN401 - any field
    """Return the desk as the authority over tickets."""
    plain = ExternalState(
        "desk",
        ("tickets",),
        connect=http_source("/state", reading=shown),
        address=url,
        tools=("file_ticket",),
        prepare=begin_anew,
        watermark_field="revision",
        consistency=QUICK,
    )
    return replace(plain, **changes)


def shown(value: Any) -> Reading:  # noqa: ANN401 - what the desk answers
    """Return the desk's answer as a reading."""
    return Reading(value["revision"], {"tickets": value["tickets"]}, value["watermark"])


def begin_anew(address: str, rows: Mapping[str, Sequence[Row]]) -> None:
    """Let the desk begin with these tickets."""
    body = json.dumps({"tickets": [dict(row) for row in rows["tickets"]]}).encode()
    exchange(HttpRequest("POST", f"{address}/reset", (), body), timeout_ms=1000)


def desk_pack(
    url: str,
    *,
    state: ExternalState | None = None,
    handler: Handler = FILE,
    lookup: Handler | None = FIND,
    manifest: ToolManifest = MANIFEST,
) -> WorkflowPack:
    """Return the pack; `state` replaces how the desk's state is read."""
    return WorkflowPack(
        name="desk",
        version="1.0",
        description="A desk of the team's own.",
        tools=(Tool(manifest, handler, lookup),),
        collections=(
            CollectionSpec(
                "tickets",
                ("ticket_id",),
                seeded=False,
                volatile=("ticket_id",),
                business_key=("account_id",),
            ),
        ),
        policies=(("desk", Json.of(POLICY)),),
        services=(RemoteService("desk", url),),
        external=(desk_state(url) if state is None else state,),
    )


def scenario(**changes: Any) -> dict[str, Any]:  # noqa: ANN401 - a test's own fields
    """Return a scenario that wants exactly one ticket; `faults` go where faults are."""
    controls: dict[str, Any] = {
        "runtime_budgets": {"max_steps": 6, "max_tool_calls": 5, "wall_clock_ms": 20_000}
    }
    expectations: dict[str, Any] = {
        "acceptable_outcomes": [
            {
                "all_of": [
                    {
                        "kind": "count",
                        "collection": "tickets",
                        "where": {"account_id": "A-1"},
                        "expected": 1,
                    }
                ]
            }
        ],
        "pass_criteria": {"outcome": "pass"},
    }
    fault = changes.pop("fault", None)
    if fault is not None:
        controls["faults"] = [fault]
        expectations["fault_handling"] = {
            "expected": "recovery",
            "max_retries_per_operation": 3,
        }
    expectations.update(changes)
    return {
        "schema_version": "3.0",
        "id": "desk-001",
        "workflow": "desk@1",
        "description": "A customer wants a ticket.",
        "category": "golden",
        "role": "acceptance",
        "risk_class": "high",
        "split": "regression",
        "owner": "desk",
        "reason": "The least that the desk is for.",
        "source_class": "authored",
        "last_review": "2026-11-01",
        "retirement": "never",
        "stimulus": {"messages": [{"content": "Please file a ticket for A-1."}]},
        "runtime": {"available_tools": ["file_ticket"], "dataset_refs": []},
        "trusted_environment": {"principal": {"caller": "clerk", "authority": ["write:ticket"]}},
        "controls": controls,
        "expectations": expectations,
        "reproducibility": {
            "prompt_version": "1",
            "model_configuration": "scripted:files",
            "tool_version": "tools-1.0",
            "dataset_version": "data-1.0",
        },
    }


def script(arguments: Mapping[str, str] = ARGUMENTS, *, retries: int = 3) -> dict[str, Any]:
    """Return a model that files one ticket, tries again with the same key, and says so."""
    ask = {"kind": "tool_call", "tool": "file_ticket", "arguments": dict(arguments)}
    done = {"kind": "final_answer", "final_answer": "Your ticket is filed."}
    sorry = {"kind": "final_answer", "final_answer": "I could not get a confirmation."}
    again = [
        {
            "when": {"last_status": "error", "attempt": {"in": list(range(1, retries + 1))}},
            "then": ask,
        }
    ]
    return {
        "config_id": "scripted:files",
        "description": "Files one ticket.",
        "rules": [
            {"when": {"step": 0}, "then": ask},
            *(again if retries else []),
            {"when": {"last_status": "executed"}, "then": done},
            {"when": {"last_tool": "file_ticket"}, "then": sorry},
        ],
    }


def suite_of(pack: WorkflowPack, folder: Path, *rows: dict[str, Any]) -> Suite:
    """Return the suite of a pack with these scenarios, checked as any other."""
    (folder / "scenarios").mkdir(exist_ok=True)
    (folder / "datasets").mkdir(exist_ok=True)
    lines = "".join(json.dumps(row) + "\n" for row in rows or (scenario(),))
    (folder / "scenarios" / "desk.jsonl").write_text(lines)
    read = read_script(json.dumps(script()).encode(), file="given")
    assert not isinstance(read, tuple), read
    scripts = Scripts({read.config_id: read})
    catalogue = DatasetCatalogue(folder / "datasets", pack)
    bare = Suite(configure(pack, scripts), catalogue, LoadedSuite((), ""), {}, default_evaluators())
    return bare.reading(folder / "scenarios")


def tried(
    pack: WorkflowPack,
    folder: Path,
    row: dict[str, Any] | None = None,
    *,
    model: Mapping[str, Any] | None = None,
    patch: Callable[[dict[str, Any]], object] | None = None,
) -> Tried:
    """Return how the scenario came out with the pack."""
    suite = suite_of(pack, folder, scenario() if row is None else row)
    return Workbench(suite).run("desk-001", script=model, patch=patch)
