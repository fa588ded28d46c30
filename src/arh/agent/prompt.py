"""Turns a task and tool outcomes into messages: all that the model ever gets to see.

A tool's reply shows status, reason and result, and nothing else that the agent knows of the call.
"""

from __future__ import annotations

from json.encoder import encode_basestring_ascii as quoted

from arh.records.messages import Message, ToolReply, ToolRequest
from arh.records.outcomes import ToolOutcome
from arh.records.tasks import Task

# What a conversation is made by: a change here is a change of the configuration under test.
CONTEXT_RULES = (
    "system: the system text, then the contract and its schema, in one message",
    "history: whole, in order, nothing shortened",
    "tool reply: status, reason and result as one JSON object, under the request's own id",
)
CONTRACT = "Give your final answer as one JSON object that is valid under this JSON Schema:"


def opening(task: Task) -> tuple[Message, ...]:
    """Return the system message, if there is anything to say in it, and the conversation so far."""
    parts = [task.system_prompt] if task.system_prompt else []
    if task.output_contract is not None:
        parts.append(f"{CONTRACT}\n{task.output_contract.data.decode()}")
    if not parts:
        return task.messages
    return (Message("system", "\n\n".join(parts)), *task.messages)


def tool_message(request: ToolRequest, outcome: ToolOutcome) -> Message:
    """Return the message that shows the model how its request ended, under the request's own id."""
    result = "null" if outcome.result is None else outcome.result.data.decode()
    status, reason = quoted(outcome.status), quoted(outcome.reason)
    content = f'{{"status":{status},"reason":{reason},"result":{result}}}'
    reply = ToolReply(request.call_id, request.tool, outcome.status, outcome.reason, outcome.result)
    return Message("tool", content, reply=reply)


def characters(message: Message) -> int:
    """Return how many characters of the message a model has to read."""
    count = len(message.content)
    for request in message.requests:
        count += len(request.tool) + len(request.arguments)
    return count
