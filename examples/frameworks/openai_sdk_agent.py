"""A plain loop over the OpenAI library's chat completions."""

import arh_lines
from openai import OpenAI

task = arh_lines.task()
client = OpenAI()  # base URL and key come from the environment
messages = [{"role": "system", "content": task["system_prompt"]}, *task["messages"]]
tools = [
    {
        "type": "function",
        "function": {name: tool[name] for name in ("name", "description", "parameters")},
    }
    for tool in task["tools"]
]
said = None
for _ in range(task["budgets"]["steps_max"]):
    reply = client.chat.completions.create(model="any", messages=messages, tools=tools)
    said = reply.choices[0].message
    if not said.tool_calls:
        break
    messages.append(said.model_dump(exclude_none=True))
    for call in said.tool_calls:
        outcome = arh_lines.call(call.function.name, call.function.arguments, call.id)
        messages.append({"role": "tool", "tool_call_id": call.id, "content": outcome})
arh_lines.finish(said.content or said.refusal or "")
