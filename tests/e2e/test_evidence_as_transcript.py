"""What the gate recorded of its runs is judged like transcripts of the same conversations."""

from __future__ import annotations

import json
from itertools import groupby
from typing import Any, Final

import pytest

from arh.traces import Policy, validate_trace
from arh.traces.reading.detection import read_document
from arh.traces.reading.source import read_traces
from arh.traces.trace import Trace
from tests.e2e.conftest import Project
from tests.unit.traces.formats.test_verdicts import verdict
from tests.unit.traces.formats.writers import WRITERS, Call, Talk, Turn, dumped

POLICY: Final = Policy.from_dict(
    {
        "policy_id": "support",
        "allow_unlisted_tools": True,
        "allowed_tools": {
            "create_ticket": {"required_arguments": {"account_id": "str"}, "max_calls": 1},
            "issue_credit": {"required_arguments": {"amount": "int"}, "side_effect": True},
        },
        "unsafe_patterns": ["suspended", "SSO"],
        "sequence": {"required_tools": ["get_account"], "forbidden_tools": ["issue_credit"]},
        "completion": {"require_final_response": True, "max_steps": 6},
    }
)


@pytest.mark.slow
def test_each_run_has_one_verdict_in_every_form(passed: Project) -> None:
    """The evidence and its rendering as OpenAI's and Anthropic's messages are judged alike."""
    (part,) = sorted((passed.folder / "reports" / "latest" / "evidence").glob("part-*.jsonl"))
    data = part.read_bytes()
    traces = read_traces(data, part.name)
    talks = [talk_of(lines) for lines in runs(data)]

    assert len(traces) == len(talks)
    judged = [verdict(validate_trace(trace, POLICY)) for trace in traces]
    for name in ("openai-chat", "anthropic-messages"):
        compared = [index for index, talk in enumerate(talks) if carries(name, talk)]
        assert len(compared) > 40
        rendered = [rendered_trace(name, talks[index]) for index in compared]
        verdicts = [verdict(validate_trace(trace, POLICY)) for trace in rendered]
        assert [judged[index] for index in compared] == verdicts
    assert {passing for passing, _, _ in judged} == {True, False}


def carries(name: str, talk: Talk) -> bool:
    """Say whether a format can tell all of a conversation: OpenAI's has no failed calls."""
    calls = [call for turn in talk.turns for call in turn.calls]
    failed = any(call.failed for call in calls)
    refused = any(not call.output for call in calls)  # before the gateway: no result is recorded
    return bool(talk.turns) and not refused and not (failed and name == "openai-chat")


def rendered_trace(name: str, talk: Talk) -> Trace:
    """Return the trace of a conversation, by way of a format."""
    (trace,) = read_document(WRITERS[name](talk), "talk.json", form=name)
    return trace


def runs(data: bytes) -> list[list[dict[str, Any]]]:
    """Return the lines of each run."""
    lines = [json.loads(line) for line in data.splitlines()]
    starts = 0
    numbered: list[tuple[int, dict[str, Any]]] = []
    for line in lines:
        starts += line["kind"] == "run_started"
        numbered.append((starts, line))
    return [[line for _, line in group] for _, group in groupby(numbered, lambda pair: pair[0])]


def talk_of(lines: list[dict[str, Any]]) -> Talk:
    """Return the conversation of a run, told from its evidence."""
    attempts: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for line in lines:
        if line["kind"] == "tool_call":
            attempts.setdefault((line["actor"], line["requested_id"]), []).append(line)
    turns: list[Turn] = []
    final: object = None
    for line in lines:
        if line["kind"] == "model_answered":
            calls = [
                call_of(line["actor"], request, attempts) for request in line.get("requests", [])
            ]
            answer = line.get("answer")
            final = answer if answer is not None else final
            text = line.get("text") or ("" if answer is None else shown(answer))
            turns.append(Turn(text, tuple(calls)))
        elif line["kind"] == "agent_finished" and line.get("answer") not in (None, final):
            turns.append(Turn(shown(line["answer"])))
    return Talk("q", tuple(turn for turn in turns if turn.text or turn.calls))


def shown(answer: Any) -> str:  # noqa: ANN401 - whatever an agent answered
    """Return an answer as text."""
    return answer if isinstance(answer, str) else dumped(answer)


def call_of(
    actor: str, request: list[str], attempts: dict[tuple[str, str], list[dict[str, Any]]]
) -> Call:
    """Return a call with its result, told from the gateway's line."""
    call_id, name, arguments = request
    waiting = attempts.get((actor, call_id))
    if not waiting:
        return Call(name, json.loads(arguments), "")
    line = waiting.pop(0)  # tasks of an actor count their requests anew
    failed = line["status"] not in ("executed", "replayed") or line["delivery"] != "delivered"
    return Call(name, json.loads(arguments), dumped(line["result"]), failed=failed)
