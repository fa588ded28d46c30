"""Writes the JSON Schemas of the files that people author or read, `schemas/<name>.schema.json`.

Run it after a change to a format: `python tools/export_schemas.py`. A test holds the committed
files to what this writes. The schemas say what the fields are; the rules that need more than one
field (a criterion has something to judge, a tool is on offer) are the loader's.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from arh.decision.scorecard import schema as scorecard_schema
from arh.records.control.gate import Profile
from arh.records.control.scenario import Scenario
from arh.records.envelope import ResponseEnvelope
from arh.traces.authoring.published import assertions_schema, policy_schema, trace_schema

FOLDER = Path(__file__).resolve().parents[1] / "schemas"
DIALECT = "https://json-schema.org/draft/2020-12/schema"
FORMATS: dict[str, tuple[Callable[[], dict[str, Any]], str]] = {
    "scenario": (Scenario.model_json_schema, "3.0"),
    "profile": (Profile.model_json_schema, "1.0"),
    "response-envelope": (ResponseEnvelope.model_json_schema, "1.0"),
    "scorecard": (scorecard_schema, "1.0"),
    "trace": (trace_schema, "1.0"),
    "policy": (policy_schema, "1.0"),
    "assertions": (assertions_schema, "1.0"),
}


def main() -> None:
    """Every schema is written anew."""
    FOLDER.mkdir(exist_ok=True)
    for name in FORMATS:
        path = FOLDER / f"{name}.schema.json"
        path.write_text(schema_text(name), encoding="utf-8", newline="\n")
        print(path)


def schema_text(name: str) -> str:
    """The schema of a format as it is written: sorted, so that a change shows as a small one."""
    export, version = FORMATS[name]
    schema = {
        **export(),
        "$schema": DIALECT,
        "$id": f"urn:arh:schema:{name}:{version}",
    }
    return json.dumps(schema, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    main()
