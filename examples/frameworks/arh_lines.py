"""Task, calls and final answer over JSON lines, for an agent whose framework asks the model itself.

Copy this file beside your agent. It needs the standard library only.
"""

import itertools
import json
import sys
import threading

_lock = threading.Lock()
_numbers = itertools.count(1)


def task() -> dict:
    """Return the task: system_prompt, messages, tools, budgets."""
    return json.loads(sys.stdin.readline())


def call(tool: str, arguments: dict | str, call_id: str | None = None) -> str:
    """Let the gateway run a tool and return the outcome as text, to be shown to the model as it is.

    Pass the id that the model gave the call, where the framework tells it: it joins what the model
    asked to what was done.
    """
    with _lock:  # frameworks run tools in threads; one request is answered at a time
        request = {"type": "call", "id": next(_numbers), "tool": tool, "arguments": arguments}
        if call_id is not None:
            request["call_id"] = call_id
        print(json.dumps(request), flush=True)
        outcome = json.loads(sys.stdin.readline())
    return json.dumps({name: outcome[name] for name in ("status", "reason", "result")})


def finish(answer: str) -> None:
    """Send the final answer: as an object, if its text is one, since an envelope is an object."""
    try:
        read = json.loads(answer)
    except ValueError:
        read = answer
    answer = read if isinstance(read, dict) else answer
    print(json.dumps({"type": "final", "answer": answer}), flush=True)
