"""A whole agent that asks the model over HTTP, as the libraries of the providers do.

Run it with: arh gate --agent "python examples/agents/endpoint_agent.py" --model-endpoint
"""

import json
import os
import sys
import urllib.request

URL = os.environ["ARH_MODEL_BASE_URL"] + "/chat/completions"
HEADERS = {
    "Authorization": f"Bearer {os.environ['ARH_MODEL_API_KEY']}",
    "Content-Type": "application/json",
}


def complete(messages: list[dict]) -> dict:
    """Return what the model says next."""
    body = json.dumps({"model": "any", "messages": messages}).encode()
    with urllib.request.urlopen(urllib.request.Request(URL, body, HEADERS)) as reply:
        return json.load(reply)["choices"][0]["message"]


def call(request: dict) -> dict:
    """Let the gateway make one call, and return the message that shows the model its outcome."""
    function, number = request["function"], request["id"]
    line = {"tool": function["name"], "arguments": function["arguments"], "call_id": number}
    print(json.dumps({"type": "call", "id": number, **line}), flush=True)
    return {"role": "tool", "tool_call_id": number, "content": sys.stdin.readline()}


def main() -> dict:
    """Work on the task and return the final message."""
    task = json.loads(sys.stdin.readline())
    messages = [{"role": "system", "content": task["system_prompt"]}, *task["messages"]]
    for _ in range(task["budgets"]["steps_max"]):
        said = complete(messages)
        if not said.get("tool_calls"):
            return {"type": "final", "answer": answered(said["content"] or said["refusal"])}
        messages += [said, *(call(request) for request in said["tool_calls"])]
    return {"type": "final", "answer": None, "termination": "step_budget"}


def answered(text: str) -> object:
    """Return an envelope as the object that it is, and prose as it is."""
    return json.loads(text) if text.startswith("{") else text


print(json.dumps(main()), flush=True)
