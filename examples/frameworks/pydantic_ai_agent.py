"""An agent of Pydantic AI, over chat completions."""

import arh_lines
from pydantic_ai import Agent, RunContext, Tool
from pydantic_ai.models.openai import OpenAIChatModel

task = arh_lines.task()


def tool_of(spec: dict) -> Tool:
    """Return a tool of the framework that hands its calls to the gateway."""

    def invoke(context: RunContext, **arguments: object) -> str:
        return arh_lines.call(spec["name"], arguments, context.tool_call_id)

    return Tool.from_schema(
        invoke,
        name=spec["name"],
        description=spec["description"],
        json_schema=spec["parameters"],
        takes_ctx=True,
    )


agent = Agent(
    OpenAIChatModel("any"),
    instructions=task["system_prompt"],
    tools=[tool_of(spec) for spec in task["tools"]],
)
done = agent.run_sync("\n".join(message["content"] for message in task["messages"]))
arh_lines.finish(done.output)
