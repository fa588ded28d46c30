"""An agent of any framework could stand here: it speaks MCP, and knows nothing of arh.

It handles double charges by rules where others ask a model. Run it against the suite with:
arh gate --agent-mcp "python examples/agents/mcp_agent.py"

It takes the gateway's address and credential from its environment, or, with `--stdio`, starts the
stdio server that is named there. It needs the library `mcp`, version 2.
"""

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client


@asynccontextmanager
async def connected() -> AsyncIterator[Client]:
    """Yield a client of the gateway."""
    if "--stdio" in sys.argv:
        command, *words = json.loads(os.environ["ARH_MCP_STDIO"])
        async with Client(StdioServerParameters(command=command, args=words)) as client:
            yield client
    else:
        headers = {"Authorization": f"Bearer {os.environ['ARH_MCP_TOKEN']}"}
        url = os.environ["ARH_MCP_URL"]
        async with (
            httpx2.AsyncClient(headers=headers) as http,
            Client(streamable_http_client(url, http_client=http)) as client,
        ):
            yield client


async def main() -> dict:
    """Work on the task and return the answer to the user."""
    async with connected() as client:
        asked = await client.get_prompt("task")
        text = " ".join(message.content.text for message in asked.messages)
        account_id = re.search(r"\bA-\d+\b", text)
        if account_id is None:
            return answer("Which account is it about?")
        return await settle(client, account_id.group())


async def settle(client: Client, account_id: str) -> dict:
    """Open one ticket for a review of the charge, and say so."""
    account = await call(client, "get_account", account_id=account_id)
    if account is None:
        return answer("I could not read the account, and I have changed nothing.")
    region = account["region"]
    incident = await call(client, "check_incident_status", service="billing", region=region)
    policy = await call(client, "get_policy", topic="billing_remediation")
    if incident is None or policy is None or not incident["active"]:
        return answer(f"I found no billing incident for {account_id}. I have changed nothing.")
    ticket = await call(
        client,
        "create_ticket",
        account_id=account_id,
        category="billing_incident",
        proposed_action=policy["proposed_action"],
        incident_ref=incident["id"],
        summary="The customer was charged twice during the incident.",
        idempotency_key=f"review-{account_id}-{incident['id']}",
    )
    if ticket is None:
        return answer("I could not open a ticket.")
    return answer(
        f"Incident {incident['id']} is active in the region of {account_id}. "
        f"I opened ticket {ticket['ticket_id']} for a review.",
        claimed=[{"action": "create_ticket", "resource_id": ticket["ticket_id"]}],
        evidence=[incident["id"], ticket["ticket_id"]],
    )


async def call(client: Client, tool: str, **arguments: str) -> dict | None:
    """Return what a tool returned, `None` if it did not do what it was asked to."""
    result = await client.call_tool(tool, arguments)
    return None if result.is_error else result.structured_content


def answer(message: str, claimed: list[dict] = (), evidence: list[str] = ()) -> dict:
    """Return the final message: what was done, in words and as an object."""
    done = [{**one, "status": "completed"} for one in claimed]
    envelope = {
        "workflow_status": "completed",
        "disposition": "credit_review" if claimed else "none",
        "message": message,
        "claimed_actions": done,
        "evidence_refs": list(evidence),
    }
    return {"type": "final", "answer": envelope}


print(json.dumps(asyncio.run(main())))
