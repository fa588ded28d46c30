"""FLOOR: what a run costs when all that must happen is done, in the plainest code that does it.

Five tool calls over dictionaries that are fresh for each run. Each call has its arguments checked
by a model, is carried out, brings the digest of the state up to date by what it changed, and leaves
a record that is hashed together with the one before; the records are appended to a file. There is
no policy, no fault, no budget, no reading back and no verdict: no harness can be as cheap as this.

Records are pydantic models, as in most harnesses. Values are hashed as JSON with their keys in
order, which the values of this module have from the start.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import Any, BinaryIO, Literal

from pydantic import BaseModel, ConfigDict
from pydantic_core import to_json

Row = dict[str, Any]

ACCOUNTS: dict[str, Row] = {
    f"A-{n}": {"account_id": f"A-{n}", "balance": 100 + n, "plan": "gold", "status": "active"}
    for n in range(1001, 1011)
}
INCIDENTS: dict[str, Row] = {
    "billing": {"id": "EVT-1", "service": "billing", "status": "active"},
}
POLICIES: dict[str, Row] = {
    "refunds": {"summary": "a ticket for each refund", "ticket": True, "topic": "refunds"},
}
PLAN: tuple[tuple[str, Row], ...] = (
    ("get_account", {"account_id": "A-1003"}),
    ("get_incident", {"service": "billing"}),
    ("get_policy", {"topic": "refunds"}),
    ("open_ticket", {"account_id": "A-1003", "priority": "high", "title": "charged twice"}),
    ("get_ticket", {"ticket_id": "TK-1"}),
)
START = "0" * 64
ROOT_BITS = 256


class _Frozen(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Account(_Frozen):
    account_id: str


class _Incident(_Frozen):
    service: str


class _Policy(_Frozen):
    topic: str


class _Opening(_Frozen):
    account_id: str
    priority: Literal["low", "normal", "high"]
    title: str


class _Ticket(_Frozen):
    ticket_id: str


class _Record(_Frozen):
    run: int
    step: int
    tool: str
    arguments: Row
    result: Row
    state_before: str
    state_after: str
    previous: str
    at_ms: int


ARGUMENTS: dict[str, type[_Frozen]] = {
    "get_account": _Account,
    "get_incident": _Incident,
    "get_policy": _Policy,
    "open_ticket": _Opening,
    "get_ticket": _Ticket,
}


class World:
    """The state of one run."""

    def __init__(self) -> None:
        """Copy every row: runs share nothing."""
        self.accounts = {key: dict(row) for key, row in ACCOUNTS.items()}
        self.incidents = {key: dict(row) for key, row in INCIDENTS.items()}
        self.policies = {key: dict(row) for key, row in POLICIES.items()}
        self.tickets: dict[str, Row] = {}
        self.root = SEEDED
        self.tools: dict[str, Callable[..., Row]] = {
            "get_account": lambda account_id: self.accounts[account_id],
            "get_incident": lambda service: self.incidents[service],
            "get_policy": lambda topic: self.policies[topic],
            "open_ticket": self.open_ticket,
            "get_ticket": lambda ticket_id: self.tickets[ticket_id],
        }

    def open_ticket(self, account_id: str, priority: str, title: str) -> Row:
        """Add a ticket, and to the state's digest what it adds."""
        key = f"TK-{len(self.tickets) + 1}"
        row = {
            "account_id": account_id,
            "priority": priority,
            "status": "open",
            "ticket_id": key,
            "title": title,
        }
        self.tickets[key] = row
        self.root = (self.root + _leaf(key, row)) % 2**ROOT_BITS
        return row


class Floor:
    """Runs the plan again and again, and appends its records to one file."""

    def __init__(self, file: BinaryIO) -> None:
        """Begin with run 1."""
        self._file = file
        self._run = 0

    def run(self) -> bool:
        """Carry out one run and return whether it made the calls and the ticket of the plan."""
        self._run += 1
        world, lines, made = World(), [], []
        before, previous = f"{world.root:064x}", START
        for step, (tool, arguments) in enumerate(PLAN):
            ARGUMENTS[tool].model_validate(arguments)
            result = world.tools[tool](**arguments)
            after = f"{world.root:064x}"
            record = _Record(
                run=self._run,
                step=step,
                tool=tool,
                arguments=arguments,
                result=result,
                state_before=before,
                state_after=after,
                previous=previous,
                at_ms=step,
            )
            line = record.model_dump_json().encode()
            before, previous = after, sha256(line).hexdigest()
            lines.append(line)
            made.append(tool)
        self._file.write(b"\n".join(lines) + b"\n")
        return made == [tool for tool, _ in PLAN] and "TK-1" in world.tickets


def _leaf(key: str, row: Row) -> int:
    return int.from_bytes(sha256(to_json([key, row])).digest(), "big")


SEEDED = (
    sum(_leaf(*item) for table in (ACCOUNTS, INCIDENTS, POLICIES) for item in table.items())
    % 2**ROOT_BITS
)
