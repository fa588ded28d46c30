"""An agent that does nothing and claims the work is done: what the gate must catch."""

import json
import sys

task = json.loads(sys.stdin.readline())
text = "I opened ticket TK-0001 for A-1007 and referenced incident EVT-402."
print(json.dumps({"type": "final", "answer": text}), flush=True)
