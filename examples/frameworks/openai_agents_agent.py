"""An agent of the OpenAI Agents SDK, over Responses."""

import arh_lines
from agents import Agent, FunctionTool, Runner, set_tracing_disabled
from agents.tool_context import ToolContext

set_tracing_disabled(disabled=True)  # its traces would leave the machine
task = arh_lines.task()


async def invoke(context: ToolContext, arguments: str) -> str:
    """Hand a call of the SDK to the gateway."""
    return arh_lines.call(context.tool_name, arguments, context.tool_call_id)


tools = [
    FunctionTool(
        name=tool["name"],
        description=tool["description"],
        params_json_schema=tool["parameters"],
        on_invoke_tool=invoke,
        strict_json_schema=False,
    )
    for tool in task["tools"]
]
agent = Agent(name="support", instructions=task["system_prompt"], tools=tools, model="any")
done = Runner.run_sync(agent, task["messages"], max_turns=task["budgets"]["steps_max"])
arh_lines.finish(str(done.final_output))
