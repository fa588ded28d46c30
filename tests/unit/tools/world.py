"""A small bank to call tools in.

Registry, policy, approvals, client and store are the real ones, and a test may replace each.
`send` moves money and `balance` reads an account; `ping` writes without naming a key, `tick` may
be repeated. Tenant `north` owns account A-1, tenant `south` owns B-1, and
each has a C-1 of its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

from arh.canonical import Json, JsonValue
from arh.ports.sue import (
    ApprovalService,
    CallContext,
    DecisionPoint,
    StateReader,
    Telemetry,
    ToolClient,
    Tx,
)
from arh.records.authorization import Grant
from arh.records.execution import Tool
from arh.records.identity import SecurityContext
from arh.records.messages import ToolRequest
from arh.records.outcomes import ToolOutcome
from arh.records.setup import SeedRecord
from arh.records.tools import Effect, Milestone, Refused, ResourceArgument, ToolManifest
from arh.security.approvals import GrantStore
from arh.security.decision_point import PolicyDecisionPoint
from arh.security.policy import read_policy
from arh.sim.clock import VirtualClock
from arh.sim.streams import SequentialIds
from arh.state.store import MemoryStore
from arh.tools.attempts import AttemptLog, Entry
from arh.tools.client import TransactionalClient
from arh.tools.gateway import Dependencies, PolicyGateway
from arh.tools.registry import Registry

KEY = b"the approval service's own key"
TIMEOUT_MS = 1000
CLERK = SecurityContext("clerk", "bot", "north", ("read:*", "write:*"))
ACCOUNT: JsonValue = {"type": "string", "minLength": 1, "maxLength": 40}
ID: JsonValue = {"type": "string"}


def schema(properties: dict[str, JsonValue], *optional: str) -> Json:
    """Return the schema of a closed object, all of whose properties are required but for some."""
    return Json.of(
        {
            "type": "object",
            "properties": properties,
            "required": [name for name in properties if name not in optional],
            "additionalProperties": False,
        }
    )


BALANCE = ToolManifest(
    "balance",
    "1.0",
    "Reads an account.",
    Effect.READ,
    schema({"account_id": ACCOUNT}),
    schema({"account_id": ID, "balance": {"type": "integer"}}),
    resources=(ResourceArgument("account_id", "accounts"),),
)
SEND = ToolManifest(
    "send",
    "2.1",
    "Moves money.",
    Effect.TRANSACTIONAL,
    schema(
        {
            "account_id": ACCOUNT,
            "amount": {"type": "integer", "minimum": 1},
            "memo": {"type": "string"},
            "key": {"type": "string", "maxLength": 300},
        },
        "memo",
    ),
    schema({"payment_id": ID, "memo": {"type": "string"}}, "memo"),
    key_argument="key",
    amount_argument="amount",
    resources=(ResourceArgument("account_id", "accounts"),),
    sensitive_fields=("memo",),
)
PING = ToolManifest(
    "ping",
    "1.0",
    "Leaves a note.",
    Effect.TRANSACTIONAL,
    schema({"text": {"type": "string"}}),
    schema({"note_id": ID}),
)
TICK = ToolManifest(
    "tick",
    "1.0",
    "Counts.",
    Effect.TRANSACTIONAL,
    schema({}),
    schema({"note_id": ID}),
    repeatable=True,
)
MILESTONES = (
    Milestone("read", "balance", per_arguments=("account_id",), justified=True),
    Milestone("rich", "balance", when=Json.of({"balance": 5000})),
    Milestone("sent", "send", per_arguments=("account_id", "amount"), per_result=("payment_id",)),
)
GRANT = Grant(
    "approval-1",
    approver="boss",
    subject="clerk",
    tenant="north",
    tool="send",
    scope=Json.of({"account_id": "A-1", "amount": {"max": 5000}}),
)
POLICY: dict[str, JsonValue] = {
    "policy": "bank",
    "version": "1.0",
    "rules": [
        {"id": "read", "tool": "balance", "scope": "read:account"},
        {
            "id": "send",
            "tool": "send",
            "scope": "write:payment",
            "require_approval_above": 1000,
            "amount_max": 10_000,
            "limit": {"name": "daily", "by": "subject", "max": 8000},
        },
        {"id": "ping", "tool": "ping", "scope": "write:note"},
        {"id": "tick", "tool": "tick", "scope": "write:note"},
    ],
}


def balance(arguments: dict[str, JsonValue], tx: Tx, _context: CallContext) -> JsonValue | Refused:
    """Return the account."""
    record = tx.get("accounts", str(arguments["account_id"]))
    return Refused("not_found") if record is None else record.value.value()


def send(arguments: dict[str, JsonValue], tx: Tx, context: CallContext) -> JsonValue | Refused:
    """Pay out."""
    if tx.get("accounts", str(arguments["account_id"])) is None:
        return Refused("not_found")
    if arguments["amount"] == 666:
        return Refused("x-bank:unlucky")
    payment = context.new_id("payment")
    tx.put("payments", payment, {"amount": arguments["amount"], "to": arguments["account_id"]})
    return {"payment_id": payment}


def note(_arguments: dict[str, JsonValue], tx: Tx, context: CallContext) -> JsonValue | Refused:
    """Write a note."""
    name = context.new_id("note")
    tx.put("notes", name, {})
    return {"note_id": name}


TOOLS = (Tool(BALANCE, balance), Tool(SEND, send), Tool(PING, note), Tool(TICK, note))
REGISTRY = Registry(TOOLS, MILESTONES)
SEEDS = (
    SeedRecord("north", "accounts", "A-1", Json.of({"account_id": "A-1", "balance": 5000})),
    SeedRecord("south", "accounts", "B-1", Json.of({"account_id": "B-1", "balance": 70})),
    SeedRecord("north", "accounts", "C-1", Json.of({"account_id": "C-1", "balance": 1})),
    SeedRecord("south", "accounts", "C-1", Json.of({"account_id": "C-1", "balance": 2})),
    SeedRecord("*", "accounts", "S-1", Json.of({"account_id": "S-1", "balance": 1})),
)
COLLECTIONS = ("accounts", "payments", "notes")


@dataclass
class World:
    """One run's gateway with all that it stands on; what a test gives replaces the real part."""

    grants: tuple[Grant, ...] = ()
    forged: tuple[str, ...] = ()
    context: SecurityContext = CLERK
    offered: tuple[str, ...] = ("balance", "send", "ping", "tick")
    policy: dict[str, JsonValue] = field(default_factory=lambda: POLICY)
    point: DecisionPoint | None = None
    approvals: ApprovalService | None = None
    client: ToolClient | None = None
    reader: StateReader | None = None
    telemetry: Telemetry | None = None
    checkpoint: Callable[[str], None] = lambda _: None
    registry: Registry = REGISTRY

    def __post_init__(self) -> None:
        """Compose the run."""
        self.clock = VirtualClock()
        self.ids = SequentialIds()
        self.store = MemoryStore(self.clock)
        self.store.seed(SEEDS, COLLECTIONS)
        self.service = GrantStore(self.grants, KEY, forged=self.forged)
        self.log = AttemptLog()
        self.real_client = TransactionalClient(self.store, self.clock, self.ids)
        self.real_point = PolicyDecisionPoint(read_policy(Json.of(self.policy)))
        self.gateway = self.gateway_of(self.context)

    def gateway_of(self, context: SecurityContext, actor: str = "teller") -> PolicyGateway:
        """Return a gateway over the same dependencies for another identity."""
        dependencies = Dependencies(
            point=self.point or self.real_point,
            approvals=self.approvals or self.service,
            verifier=self.service,
            client=self.client or self.real_client,
            reader=self.reader or self.store.reader(),
            clock=self.clock,
            ids=self.ids,
            telemetry=self.telemetry,
            checkpoint=self.checkpoint,
        )
        return PolicyGateway(self.registry, context, actor, self.offered, self.log, dependencies)

    def call(self, tool: str, /, **arguments: JsonValue) -> ToolOutcome:
        """Call a tool with arguments."""
        return self.text(tool, json.dumps(arguments))

    def text(
        self,
        tool: str,
        text: str,
        *,
        timeout_ms: int = TIMEOUT_MS,
        metadata_key: str | None = None,
    ) -> ToolOutcome:
        """Call a tool with an argument text."""
        request = ToolRequest("asked-1", tool, text)
        return self.gateway.call(request, timeout_ms=timeout_ms, metadata_key=metadata_key)

    def attempt(self) -> dict[str, Any]:
        """Return the only attempt since the last look."""
        entries: tuple[Entry, ...] = self.log.drain()
        assert len(entries) == 1
        return cast("dict[str, Any]", entries[0])

    def payments(self) -> int:
        """Return how many payments the store holds."""
        return len(self.store.reader().records("payments"))


def told(outcome: ToolOutcome) -> tuple[str, str, str, str]:
    """Return what an outcome says of a call: status, reason, commit belief, delivery."""
    return outcome.status, outcome.reason, outcome.commit_belief, outcome.delivery
