"""A plain loop over the Anthropic library's messages, streamed."""

import anthropic
import arh_lines

task = arh_lines.task()
client = anthropic.Anthropic()  # base URL and key come from the environment
messages = list(task["messages"])
tools = [
    {
        "name": tool["name"],
        "description": tool["description"],
        "input_schema": tool["parameters"],
    }
    for tool in task["tools"]
]
text = ""
for _ in range(task["budgets"]["steps_max"]):
    with client.messages.stream(
        model="any", max_tokens=4096, system=task["system_prompt"], messages=messages, tools=tools
    ) as stream:
        said = stream.get_final_message()
    text = "".join(block.text for block in said.content if block.type == "text")
    calls = [block for block in said.content if block.type == "tool_use"]
    if not calls:
        break
    results = [
        {
            "type": "tool_result",
            "tool_use_id": call.id,
            "content": arh_lines.call(call.name, call.input, call.id),
        }
        for call in calls
    ]
    messages += [
        {"role": "assistant", "content": [b.model_dump(exclude_none=True) for b in said.content]},
        {"role": "user", "content": results},
    ]
arh_lines.finish(text)
