"""A whole agent in thirty lines: it asks the model, makes the calls, and says what the model said.

Run it against the suite with: arh gate --agent "python examples/agents/support_agent.py"
"""

import json
import sys


def ask(message: dict) -> dict:
    """Send one message and return the answer to it."""
    print(json.dumps(message), flush=True)
    return json.loads(sys.stdin.readline())


def main() -> dict:
    """Work on the task and return the final message."""
    task = json.loads(sys.stdin.readline())
    messages = [{"role": "system", "content": task["system_prompt"]}, *task["messages"]]
    for step in range(task["budgets"]["steps_max"]):
        reply = ask({"type": "complete", "id": f"m{step}", "messages": messages})
        if reply["decision"] != "calls":
            answer = reply.get("answer", reply.get("message"))
            return {"type": "final", "answer": answer}
        messages.append({"role": "assistant", "content": "", "calls": reply["calls"]})
        for call in reply["calls"]:
            outcome = ask({"type": "call", "id": call["call_id"], **call})
            messages.append({"role": "tool", "content": "", "outcome": outcome})
    return {"type": "final", "answer": None, "termination": "step_budget"}


print(json.dumps(main()), flush=True)
