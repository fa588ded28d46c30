"""Cases and outputs for tests, as files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from arh.decision.profile import load_profile
from arh.records.control.gate import Profile

PROFILE = Path(__file__).parents[4] / "profiles" / "cases.yaml"

Row = dict[str, Any]


def case(case_id: str, **changes: Any) -> Row:  # noqa: ANN401 - JSON values
    """Return a case that expects one refund; `changes` are fields of it or of `expected`."""
    row: Row = {
        "case_id": case_id,
        "title": f"Case {case_id}",
        "severity": "minor",
        "input": {},
        "expected": {
            "decision": "refund",
            "tool_name": "create_refund",
            "required_args": {"order_id": case_id},
            "required_citations": ["refunds 2.1"],
            "forbidden_tools": ["open_review"],
        },
    }
    return changed(row, changes)


def output(case_id: str, **changes: Any) -> Row:  # noqa: ANN401 - JSON values
    """Return the right output for that case."""
    row: Row = {
        "case_id": case_id,
        "decision": "refund",
        "tool_calls": [{"name": "create_refund", "arguments": {"order_id": case_id}}],
        "citations": ["refunds 2.1"],
        "latency_ms": 1000,
        "cost_usd": 0.01,
    }
    return {**row, **changes}


def written(path: Path, rows: Iterable[Mapping[str, Any] | str]) -> Path:
    """Write rows as JSON lines; a text is written as it is."""
    texts = (row if isinstance(row, str) else json.dumps(row) for row in rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return path


def profile() -> Profile:
    """Return the profile that comes with arh."""
    return load_profile(PROFILE, rules=()).profile


def changed(row: Row, changes: Mapping[str, Any]) -> Row:
    """Set fields of a case, or else of what it expects."""
    for name, value in changes.items():
        (row if name in row else row["expected"])[name] = value
    return row
