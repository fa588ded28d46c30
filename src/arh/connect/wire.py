"""The messages of the JSON-lines protocol: what they look like, and what answers them.

A request that cannot be understood gets no guess: the reason is returned as a text, and the
conversation ends.
"""

from __future__ import annotations

from typing import Any, cast

from arh.canonical import Json, JsonValue, line
from arh.ports.sue import Session
from arh.records.decisions import (
    AskUser,
    Calls,
    Decision,
    Final,
    Malformed,
    Refusal,
    Truncated,
    Unavailable,
)
from arh.records.messages import Message, ToolReply, ToolRequest
from arh.records.outcomes import ToolOutcome
from arh.records.tasks import AgentReport, Task

PROTOCOL = "arh-agent/1"
ROLES = ("system", "user", "assistant", "tool")
STATUSES = ("executed", "rejected", "error")

Data = dict[str, JsonValue]


def task_message(task: Task) -> Data:
    """Return what an agent is told first."""
    budgets = task.budgets
    return {
        "type": "task",
        "protocol": PROTOCOL,
        "task_id": task.task_id,
        "actor": task.actor,
        "system_prompt": task.system_prompt,
        "messages": [_message_data(m) for m in task.messages],
        "tools": [
            {
                "name": t.name,
                "version": t.version,
                "description": t.description,
                "parameters": t.parameters.value(),
            }
            for t in task.tools
        ],
        "budgets": {
            "steps_max": budgets.steps_max,
            "tool_calls_max": budgets.tool_calls_max,
            "deadline_ms": budgets.deadline_ms,
            "tokens_max": budgets.tokens_max,
        },
    }


def final_report(message: Data) -> AgentReport:
    """Return how the agent says it ended; without an answer it gave none."""
    answer = message.get("answer")
    response = answer if isinstance(answer, str) else None if answer is None else Json.of(answer)
    return AgentReport(str(message.get("termination", "completed")), response)


def answered(message: Data, session: Session, task: Task) -> Data | str:
    """Do what a message asks for and return the answer to it, or what is wrong with it."""
    identity = message.get("id")
    if not isinstance(identity, (int, str)) or isinstance(identity, bool):
        return "a request has no `id`"
    left = max(0, task.budgets.deadline_ms - session.now_ms())
    match message["type"]:
        case "complete":
            answer = _complete(message, session, left)
        case "call":
            answer = _call(message, session, left)
        case "ask":
            answer = _ask(message, session)
        case "wait":
            answer = _wait(message, session)
        case _:
            return "a message has an unknown `type`"
    return answer if isinstance(answer, str) else {**answer, "id": identity}


def _complete(message: Data, session: Session, left: int) -> Data | str:
    raw = message.get("messages")
    if not isinstance(raw, list):
        return "`complete` has no list of `messages`"
    messages = [_read_message(one) for one in raw]
    wrong = next((m for m in messages if isinstance(m, str)), None)
    if wrong is not None:
        return wrong
    reply = session.complete(tuple(cast("list[Message]", messages)), timeout_ms=left)
    usage: Data = {
        "input_tokens": reply.usage.input_tokens,
        "output_tokens": reply.usage.output_tokens,
    }
    return {"type": "completion", **_decision_data(reply.decision), "usage": usage}


def _call(message: Data, session: Session, left: int) -> Data | str:
    tool, arguments = message.get("tool"), message.get("arguments")
    if not isinstance(tool, str) or not isinstance(arguments, (dict, str)):
        return "`call` needs a `tool` and `arguments` (an object, or its text)"
    text = arguments if isinstance(arguments, str) else line(arguments).decode()
    call_id = str(message.get("call_id", message["id"]))
    return _outcome_data(session.call(ToolRequest(call_id, tool, text), timeout_ms=left))


def _ask(message: Data, session: Session) -> Data | str:
    question = message.get("message")
    if not isinstance(question, str):
        return "`ask` has no `message`"
    reply = session.ask(question)
    return {"type": "answer", "message": None if reply is None else reply.content}


def _wait(message: Data, session: Session) -> Data | str:
    ms = message.get("ms")
    if not isinstance(ms, int) or isinstance(ms, bool) or ms < 0:
        return "`wait` needs `ms`, a whole number"
    session.wait(ms)
    return {"type": "waited", "now_ms": session.now_ms()}


def _outcome_data(outcome: ToolOutcome) -> Data:
    return {
        "type": "outcome",
        "call_id": outcome.call_id,
        "tool": outcome.tool,
        "status": outcome.status,
        "reason": outcome.reason,
        "result": None if outcome.result is None else outcome.result.value(),
        "retry_after_ms": outcome.retry_after_ms,
    }


def _decision_data(decision: Decision) -> Data:
    match decision:
        case Calls():
            calls: list[JsonValue] = [
                {"call_id": r.call_id, "tool": r.tool, "arguments": r.arguments}
                for r in decision.requests
            ]
            return {"decision": "calls", "calls": calls, "text": decision.text}
        case Final():
            answer = decision.answer
            return {
                "decision": "final",
                "answer": answer if isinstance(answer, str) else answer.value(),
            }
        case AskUser() | Refusal():
            kind = "ask_user" if isinstance(decision, AskUser) else "refusal"
            return {"decision": kind, "message": decision.message}
        case Unavailable():
            return {
                "decision": "unavailable",
                "reason": decision.reason,
                "retry_after_ms": decision.retry_after_ms,
            }
        case Truncated() | Malformed():
            kind = "truncated" if isinstance(decision, Truncated) else "malformed"
            return {"decision": kind}


def _message_data(message: Message) -> Data:
    data: Data = {"role": message.role, "content": message.content}
    if message.requests:
        data["calls"] = [
            {"call_id": r.call_id, "tool": r.tool, "arguments": r.arguments}
            for r in message.requests
        ]
    if message.reply is not None:
        data["outcome"] = _reply_data(message.reply)
    return data


def _reply_data(reply: ToolReply) -> Data:
    return {
        "call_id": reply.call_id,
        "tool": reply.tool,
        "status": reply.status,
        "reason": reply.reason,
        "result": None if reply.result is None else reply.result.value(),
    }


def _read_message(raw: JsonValue) -> Message | str:
    if not isinstance(raw, dict) or raw.get("role") not in ROLES:
        return "a message has no known `role`"
    content = raw.get("content", "")
    if not isinstance(content, str):
        return "a message's `content` is no text"
    requests = _read_requests(raw.get("calls", []))
    reply = _read_reply(raw.get("outcome"))
    if isinstance(requests, str):
        return requests
    if isinstance(reply, str):
        return reply
    return Message(cast("Any", raw["role"]), content, requests, reply)


def _read_requests(raw: JsonValue) -> tuple[ToolRequest, ...] | str:
    if not isinstance(raw, list):
        return "a message's `calls` are no list"
    requests = []
    for one in raw:
        if not isinstance(one, dict) or not isinstance(one.get("tool"), str):
            return "a call in a message has no `tool`"
        arguments = one.get("arguments", "{}")
        text = arguments if isinstance(arguments, str) else line(arguments).decode()
        requests.append(ToolRequest(str(one.get("call_id", "")), str(one["tool"]), text))
    return tuple(requests)


def _read_reply(raw: JsonValue) -> ToolReply | str | None:
    if raw is None:
        return None
    if not isinstance(raw, dict) or raw.get("status") not in STATUSES:
        return "a message's `outcome` has no known `status`"
    result = raw.get("result")
    return ToolReply(
        str(raw.get("call_id", "")),
        str(raw.get("tool", "")),
        cast("Any", raw["status"]),
        str(raw.get("reason", "")),
        None if result is None else Json.of(result),
    )
