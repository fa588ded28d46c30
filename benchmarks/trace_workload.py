"""Traces for measuring, as text: clean ones, failing ones, and ones in which nothing is said twice.

A step has some 700 characters of arguments, results and texts, which is the mean of the steps in
sixty-four recordings of real agents; a brief one a hundred, so that very many fit into a file.

Standard library only, since the public tool's environment runs it too.
"""

from __future__ import annotations

import json
from typing import Any

POLICY: dict[str, Any] = {
    "policy_id": "bench",
    "allow_unlisted_tools": False,
    "allowed_tools": {
        "lookup": {
            "required_arguments": {"id": {"type": "str", "pattern": "ORD-[0-9]+"}},
            "optional_arguments": {
                "n": {"type": "int", "min": 0, "max": 100},
                "k": {"enum": ["a", "b"]},
            },
        },
        "pay": {
            "required_arguments": {"id": "str", "amount": "float"},
            "side_effect": True,
            "max_calls": 10**7,
        },
    },
    "budgets": {
        "max_step_latency_ms": 1000,
        "max_total_latency_ms": 10**9,
        "max_total_cost_usd": 10**6,
        "max_total_tokens": 10**9,
    },
    "unsafe_patterns": [
        "password\\s*[:=]",
        "api[_-]?key\\s*[:=]",
        "\\bwire\\s+transfer\\b.*\\burgent\\b",
        "ssn: [0-9]+",
        "-----BEGIN [A-Z ]*PRIVATE KEY-----",
        "\\b4[0-9]{12}(?:[0-9]{3})?\\b",
        "ignore (?:all )?previous instructions",
        "\\bbearer\\s+[a-z0-9._-]{20,}",
    ],
    "grounding": {
        "require_citations": True,
        "min_citation_coverage": 0.5,
        "require_valid_citation_urls": True,
    },
    "sequence": {
        "required_tools": ["lookup"],
        "forbidden_tools": ["rm"],
        "call_order": ["lookup", "pay"],
    },
    "error_handling": {"require_retry_on_error": True, "max_attempts": 50},
    "completion": {"require_final_response": True, "max_steps": 10**7},
}
TEXT = (
    "I looked order {0} up. It was paid in full on the day it was placed, and the parcel left the"
    " warehouse the next morning. The carrier has scanned it twice since: in the sorting centre,"
    " and on the van that is out for delivery today. If it has not arrived by this evening, the"
    " refund rules of your plan apply, and I can open a case for you that names order {0}, its"
    " two scans and the promised day. Nothing else is open on your account, nothing was changed."
)
NOTE = (
    "Packed by hand, handed to the carrier with a signature, insured up to its value. The customer"
    " asked for a quiet delivery: no bell, it goes to the neighbour on the ground floor, who"
    " knows. A first attempt failed because the house number was missing on the label; the"
    " label was printed anew, and the old one was destroyed. Two earlier orders went to the same"
    " address without trouble. The lamp is fragile, so the box has a double wall and a tilt mark."
)
ROW = {"status": "paid", "items": ["lamp", "shade", "bulb"], "address": "12 Long Street, Newtown"}


def trace(name: str, steps: int, kind: str = "clean", *, brief: bool = False) -> str:
    """Return a trace of so many steps as JSON text; `kind` is clean, failing or distinct."""
    made = [_step(n, kind, brief=brief) for n in range(steps)]
    document = {"trace_id": name, "agent_name": "agent", "workflow": "orders", "steps": made}
    return json.dumps(document)


def _step(n: int, kind: str, *, brief: bool) -> dict[str, Any]:
    step: dict[str, Any] = {
        "step_id": f"s{n}",
        "latency_ms": 12.5,
        "cost_usd": 0.001,
        "input_tokens": 100,
        "output_tokens": 20,
    }
    if n % 4 == 3:
        citation = {"url": f"https://orders.example/{n}"}
        text = f"Order {n} was paid." if brief else f"{TEXT.format(n)} {TEXT.format(n + 1)}"
        return {
            **step,
            "type": "model_response",
            "text": text,
            "requires_grounding": True,
            "citations": [citation],
        }
    name = {"clean": "pay" if n % 4 == 2 else "lookup", "failing": "rm", "distinct": f"tool{n}"}
    arguments: dict[str, Any] = {"id": f"ORD-{n}"}
    arguments |= {"amount": 12.5} if n % 4 == 2 else {"n": 5, "k": "a"}
    status = {} if kind == "clean" else {"status": "error", "error": f"failed with ssn: {n}"}
    call = {"type": "tool_call", "tool_name": name[kind], "arguments": arguments, **status}
    output = {"status": "paid"} if brief else {**ROW, "note": NOTE}
    return {**step, **call, "output": {**output, "ref": f"R{n}"}}
