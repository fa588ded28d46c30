"""The same conduct gets the same verdict, in whatever format it was recorded."""

from __future__ import annotations

import json
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arh.canonical import JsonValue
from arh.traces import Policy, TraceReport, validate_trace
from arh.traces.reading.detection import read_document
from arh.traces.trace import JsonObject
from tests.unit.traces.formats.test_equivalence import TALKS, renamed
from tests.unit.traces.formats.writers import WITH_ERRORS, WRITERS, Call, Talk, Turn

POLICY: Final = Policy.from_dict(
    {
        "policy_id": "desk",
        "allow_unlisted_tools": True,
        "allowed_tools": {
            "get_booking": {"required_arguments": {"id": "str"}, "max_calls": 2},
            "refund": {
                "required_arguments": {"id": {"type": "str", "pattern": "[A-Z][0-9]+"}},
                "side_effect": True,
            },
        },
        "unsafe_patterns": ["password", "[0-9]{12}"],
        "sequence": {
            "required_tools": ["get_booking"],
            "forbidden_tools": ["cancel_booking"],
            "call_order": ["get_booking", "refund"],
        },
        "error_handling": {"require_retry_on_error": True, "max_attempts": 2},
        "completion": {"require_final_response": True, "max_steps": 6},
    }
)

BAD: Final = Talk(
    "Refund B7",
    (
        Turn("", (Call("refund", {"id": "seven"}, "password: hunter2"),)),
        Turn(
            "Once more.",
            (
                Call("refund", {"id": "B7"}, "ok"),
                Call("refund", {"id": "B7"}, "ok"),
                Call("cancel_booking", {}, "gone"),
            ),
        ),
    ),
)
GOOD: Final = Talk(
    "Refund B7",
    (
        Turn("", (Call("get_booking", {"id": "B7"}, "paid"),)),
        Turn("", (Call("refund", {"id": "B7"}, "ok"),)),
        Turn("B7 is refunded."),
    ),
)
UNRETRIED: Final = Talk(
    "Refund B7",
    (
        Turn("", (Call("get_booking", {"id": "B7"}, "paid"),)),
        Turn("", (Call("refund", {"id": "B7"}, "declined", failed=True),)),
        Turn("B7 is refunded."),
    ),
)


@pytest.mark.parametrize("name", WRITERS)
def test_bad_conduct_fails_and_its_twin_passes(name: str) -> None:
    """Order, repetition, a forbidden tool, unsafe text, arguments and the end are all judged."""
    bad, good = judged(WRITERS[name](BAD)), judged(WRITERS[name](GOOD))

    assert not bad.passed
    assert {
        "ARH-SCH-008",
        "ARH-SAF-001",
        "ARH-SEQ-001",
        "ARH-SEQ-002",
        "ARH-FLW-003",
        "ARH-CMP-001",
    } <= {finding.rule_id for finding in bad.findings}
    assert (good.passed, verdict(good)) == (True, (True, good.score, []))


@pytest.mark.parametrize("name", sorted(WITH_ERRORS))
def test_an_error_that_is_not_retried_fails(name: str) -> None:
    """The format's own channel is what the rule about errors judges."""
    report = judged(WRITERS[name](UNRETRIED))

    assert "ARH-FLW-001" in {finding.rule_id for finding in report.findings}


@given(TALKS)
def test_every_format_of_a_conversation_gets_the_same_verdict(talk: Talk) -> None:
    """Pass or fail, score, rules and anchors are equal; steps of `arh` have ids of their own."""
    verdicts = {
        name: verdict(judged(write(talk))) for name, write in WRITERS.items() if name != "arh"
    }
    first = verdicts["openai-chat"]

    assert dict.fromkeys(verdicts, first) == verdicts
    assert verdict(judged(WRITERS["arh"](talk)))[:2] == first[:2]


@given(TALKS, st.sampled_from(sorted(set(WRITERS) - {"arh"})))
def test_a_second_run_has_no_new_findings(talk: Talk, name: str) -> None:
    """Ids that the provider made anew change nothing that findings are compared by."""
    document = WRITERS[name](talk)

    assert verdict(judged(document)) == verdict(judged(renamed(document)))


def test_what_a_call_lacks_is_found_once() -> None:
    """A note at a step of which a rule says the same is no second finding."""
    call: JsonValue = {"id": "c1", "function": {"name": "get_booking", "arguments": '{"id'}}
    report = judged([{"role": "assistant", "content": None, "tool_calls": [call]}])
    found = [f.rule_id for f in report.findings if f.category == "reading"]

    assert found == ["ARH-TRC-002", "ARH-TRC-004"]


def test_evidence_of_a_run_is_judged_like_its_transcripts() -> None:
    """What the gateway recorded and what the providers' formats say of it get one verdict."""
    evidence = evidence_of(BAD)
    (trace,) = read_document(evidence, "part-0000.jsonl")
    expected = verdict(validate_trace(trace, POLICY))

    for name in ("openai-chat", "anthropic-messages", "openai-responses"):
        assert expected == verdict(judged(WRITERS[name](BAD))), name


def judged(document: JsonValue) -> TraceReport:
    """Return the report on the one trace of a document."""
    (trace,) = read_document(document, "talk.json")
    return validate_trace(trace, POLICY)


def verdict(report: TraceReport) -> tuple[bool, object, list[tuple[object, ...]]]:
    """Return what must be equal: the decision, the score, and each finding with its anchor."""
    found: list[tuple[object, ...]] = [
        (finding.rule_id, finding.severity, finding.category, finding.step_id, finding.subject)
        for finding in report.findings
    ]
    return report.passed, report.score, found


def evidence_of(talk: Talk) -> list[JsonValue]:
    """Return the lines of evidence that a gate writes of a conversation, as far as they matter."""
    lines: list[JsonObject] = [{"kind": "run_started", "source": "runner", "scenario": "talk"}]
    for t, turn in enumerate(talk.turns):
        requests: list[JsonValue] = [
            [f"req-{t}-{k}", call.name, json.dumps(call.arguments)]
            for k, call in enumerate(turn.calls)
        ]
        lines.append(
            {"kind": "model_answered", "source": "runner", "text": turn.text, "requests": requests}
        )
        for k, call in enumerate(turn.calls):
            lines.append(_attempt(f"req-{t}-{k}", call))
    return [
        {"seq": seq, "at_ms": 0, **line, "chain": f"{seq:064}"} for seq, line in enumerate(lines, 1)
    ]


def _attempt(requested: str, call: Call) -> JsonObject:
    return {
        "kind": "tool_call",
        "source": "gateway",
        "requested_id": requested,
        "tool": call.name,
        "arguments": call.arguments,
        "status": "executed",
        "delivery": "delivered",
        "result": call.output,
    }
