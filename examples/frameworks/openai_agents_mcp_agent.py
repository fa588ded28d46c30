"""An agent of the OpenAI Agents SDK with the gateway as its MCP server: nothing in it knows arh.

Run it with: arh gate --agent-mcp "python examples/frameworks/openai_agents_mcp_agent.py" \
--model-endpoint
"""

import asyncio
import json
import os
import sys

from agents import Agent, Runner
from agents.mcp import MCPServerStreamableHttp


async def main() -> str:
    """Let the SDK work on the task, and return its answer."""
    task = json.loads(sys.stdin.readline())
    headers = {"Authorization": f"Bearer {os.environ['ARH_MCP_TOKEN']}"}
    place = {"url": os.environ["ARH_MCP_URL"], "headers": headers}
    async with MCPServerStreamableHttp(params=place) as tools:
        agent = Agent(
            name="support", instructions=task["system_prompt"], mcp_servers=[tools], model="any"
        )
        steps = task["budgets"]["steps_max"]
        done = await Runner.run(agent, task["messages"], max_turns=steps)
    return str(done.final_output)


print(asyncio.run(main()))
