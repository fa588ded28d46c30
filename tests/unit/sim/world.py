"""A small world for tests of faults: a real gateway and store, two tools, one model, one log.

`look` reads an account that has two revisions; `note` writes one note under a key. Everything
passes through a `FaultInjector` as a composer would pass it, and the evidence is what a run's
would be.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from arh.canonical import Json, JsonValue
from arh.harness.evidence.delivery import deliveries
from arh.harness.evidence.reading import read_call
from arh.records.authorization import (
    ApprovalAnswer,
    ApprovalRequest,
    AuthorizationDecision,
    AuthorizationRequest,
    Grant,
)
from arh.records.control.evidence import CallEvidence, Event, ExchangeEvidence, FaultEvidence
from arh.records.decisions import (
    Calls,
    Decision,
    Malformed,
    ModelReply,
    ModelRequest,
    Truncated,
    Unavailable,
    Usage,
)
from arh.records.execution import Execution, RawReply, Tool
from arh.records.faults import FaultPlan
from arh.records.identity import SecurityContext
from arh.records.messages import Message, ToolRequest
from arh.records.outcomes import ToolOutcome
from arh.records.setup import SeedRecord
from arh.records.state import Operation
from arh.records.tools import Effect, ToolManifest
from arh.records.transactions import CallContext, Tx
from arh.security.approvals import GrantStore
from arh.sim.clock import VirtualClock
from arh.sim.faults import FaultInjector
from arh.sim.streams import SequentialIds
from arh.state.store import MemoryStore
from arh.tools.attempts import AttemptLog
from arh.tools.client import TransactionalClient
from arh.tools.gateway import Dependencies, PolicyGateway
from arh.tools.registry import Registry

TENANT = "tenant-a"
ACTOR = "agent-a"
TIMEOUT_MS = 4_000
OBJECT = Json.of({"type": "object"})
CONTEXT = SecurityContext("alice", ACTOR, TENANT, ("*:*",))

Data = dict[str, object]


def look(arguments: dict[str, JsonValue], tx: Tx, _context: CallContext) -> JsonValue:
    """Return the account's plan and owner."""
    record = tx.get("accounts", str(arguments["account"]))
    found = record.value.value() if record is not None else {}
    return {"plan": None, "owner": None, **found} if isinstance(found, dict) else {}


def note(arguments: dict[str, JsonValue], tx: Tx, context: CallContext) -> JsonValue:
    """Write one note for each execution, which is what makes a second effect visible."""
    tx.get("accounts", "A1")
    identity = context.new_id("note")
    tx.put("notes", identity, {"text": arguments["text"]})
    return {"id": identity, "text": arguments["text"]}


def manifest(name: str, effect: Effect, properties: dict[str, JsonValue]) -> ToolManifest:
    """Return a small manifest, keyed if it writes."""
    parameters: JsonValue = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    return ToolManifest(
        name=name,
        version="1.0.0",
        description=name,
        effect=effect,
        parameters=Json.of(parameters),
        result=OBJECT,
        key_argument="key" if effect is not Effect.READ else None,
    )


TEXT: dict[str, JsonValue] = {"type": "string"}
LOOK = manifest("look", Effect.READ, {"account": TEXT})
NOTE = manifest("note", Effect.TRANSACTIONAL, {"text": TEXT, "key": TEXT})
MANIFESTS = {LOOK.name: LOOK, NOTE.name: NOTE}
REGISTRY = Registry([Tool(LOOK, look), Tool(NOTE, note)])


class Allowing:
    """A decision point that allows everything, writes only with an approval."""

    def decide(self, request: AuthorizationRequest) -> AuthorizationDecision:
        """Allow."""
        return AuthorizationDecision(
            request.request_id,
            request.action_digest,
            "allow",
            "ok",
            decision_id=f"decision-{request.request_id}",
            require_approval=request.tool == "note",
        )


class Talking:
    """A model that always asks for the same two calls."""

    def __init__(self) -> None:
        self.asked = 0

    def complete(self, request: ModelRequest) -> ModelReply:
        """Ask for two calls."""
        self.asked += 1
        calls = (ToolRequest("c1", "look", "{}"), ToolRequest("c2", "look", "{}"))
        return ModelReply(Calls(calls), Usage(10, 5), latency_ms=200, model="talking")


class Asked:
    """An approval service that counts how often it was asked."""

    def __init__(self, inner: GrantStore) -> None:
        self.inner = inner
        self.asked = 0

    def grants(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Pass the question on."""
        self.asked += 1
        return self.inner.grants(request)


@dataclass
class World:
    """One run's world. `events` are its evidence so far."""

    plans: tuple[FaultPlan, ...] = ()
    armed: bool = True
    clock: VirtualClock = field(default_factory=VirtualClock)
    events: list[Event] = field(default_factory=list)
    calls: list[CallEvidence] = field(default_factory=list)
    exchanges: list[ExchangeEvidence] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.store = MemoryStore(self.clock)
        rows = ({"plan": "free", "owner": "al"}, {"plan": "pro", "owner": "alice"})
        seeds = [SeedRecord(TENANT, "accounts", "A1", Json.of(row)) for row in rows]
        seeds.append(SeedRecord(TENANT, "accounts", "A2", Json.of({"plan": "free", "owner": "bo"})))
        self.store.seed(seeds, ("notes",))
        self.model = Talking()
        grant = Grant(
            "approval-1",
            "boss",
            "alice",
            TENANT,
            "note",
            scope=Json.of({"text": "hi"}),
            single_use=False,
        )
        self.grants = GrantStore([grant], b"k" * 32)
        self.approvals = Asked(self.grants)
        self.injector = FaultInjector(self.plans, self.clock, self)
        self._wire()

    def record(self, kind: str, source: str, data: Data) -> int:
        """Append an event as the recorder does."""
        seq = len(self.events) + 1
        event = Event(f"run#{seq}", seq, kind, source, self.clock.now_ms(), ACTOR, dict(data))
        self.events.append(event)
        return seq

    def call(self, tool: str, arguments: JsonValue, *, timeout_ms: int = TIMEOUT_MS) -> ToolOutcome:
        """Call a tool through the gateway, and file the attempt."""
        text = Json.of(arguments).data.decode()
        outcome = self.gateway.call(ToolRequest("r", tool, text), timeout_ms=timeout_ms)
        for entry in self.log.drain():
            self.record("tool_call", "gateway", entry)
            self.calls.append(read_call(self.events[-1], index=len(self.calls)))
        return outcome

    def write(self, key: str = "k1", text: str = "hi") -> ToolOutcome:
        """Write a note."""
        return self.call("note", {"text": text, "key": key})

    def read(self, account: str = "A1") -> ToolOutcome:
        """Read an account."""
        return self.call("look", {"account": account})

    def ask(self) -> ModelReply:
        """Ask the model, and file the exchange as a session does."""
        began = self.clock.now_ms()
        question = ModelRequest((Message("user", "go"),), (), TIMEOUT_MS)
        reply = self.proxied.complete(question)
        self.clock.advance(max(0, began + reply.latency_ms - self.clock.now_ms()))
        seq = self.record("model_answered", "runner", {})
        usage = reply.usage
        self.exchanges.append(
            ExchangeEvidence(
                event_id=f"run#{seq}",
                seq=seq,
                actor=ACTOR,
                asked_ms=began,
                answered_ms=self.clock.now_ms(),
                message_count=1,
                new_messages=(),
                decision=_named(reply.decision),
                requests=(),
                text="",
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
                cached_tokens=0,
                latency_ms=reply.latency_ms,
                model=reply.model,
            )
        )
        return reply

    def notes(self) -> int:
        """Return how many notes the store really holds."""
        return len(self.store.reader().records("notes"))

    def deliveries(self) -> tuple[FaultEvidence, ...]:
        """Return how far each fault is proven."""
        return deliveries(self.plans, self.events, self.calls, self.exchanges)

    def states(self) -> list[str]:
        """Return the state of each fault."""
        return [fault.state for fault in self.deliveries()]

    def of(self, kind: str) -> list[Any]:
        """Return the data of the fault proxies' events of a kind."""
        return [dict(event.data) for event in self.events if event.kind == kind]

    def _wire(self) -> None:
        ids = SequentialIds()
        store = self.injector.wrap_store(self.store)
        self.raw_client = TransactionalClient(store, self.clock, ids)
        self.client = self.injector.wrap_tools(self.raw_client)
        self.proxied = self.injector.wrap_model(self.model, ACTOR)
        self.point = self.injector.wrap_decisions(Allowing())
        self.log = AttemptLog()
        dependencies = Dependencies(
            point=self.point,
            approvals=self.injector.wrap_approvals(self.approvals),
            verifier=self.grants,
            client=self.client,
            reader=store.reader(),
            clock=self.clock,
            ids=ids,
        )
        offered: Iterable[str] = ("look", "note")
        self.gateway = PolicyGateway(REGISTRY, CONTEXT, ACTOR, offered, self.log, dependencies)
        if self.armed:
            self.injector.arm()


def operation(call_id: str = "call-0001", tool: str = "note") -> Operation:
    """Return an operation to open a transaction with."""
    return Operation("op-1", "k1", tool, "1.0.0", "d", "alice", ACTOR, TENANT, call_id)


def _named(decision: Decision) -> str:
    if isinstance(decision, Unavailable):
        return "unavailable"
    if isinstance(decision, Malformed):
        return "malformed"
    return "truncated" if isinstance(decision, Truncated) else "calls"


def tool(phase: str, effect: str, **parameters: object) -> FaultPlan:
    """Return a fault of the writing tool, unless another is named."""
    given: dict[str, object] = {"target_name": "note", **parameters}
    return FaultPlan("f1", "tool", phase, effect, **given)  # type: ignore[arg-type]


def of(target: str, phase: str, effect: str, **parameters: object) -> FaultPlan:
    """Return a fault of another target."""
    return FaultPlan("f1", target, phase, effect, **parameters)  # type: ignore[arg-type]


def seen(outcome: ToolOutcome) -> tuple[str, str, str, str]:
    """Return what the caller was told."""
    return outcome.status, outcome.reason, outcome.delivery, outcome.commit_belief


def capture(world: World) -> list[RawReply]:
    """Return the list that the raw replies of the faulty client will be put on."""
    replies: list[RawReply] = []
    client = world.client
    execute = client.execute

    class Watching:
        """Passes everything on and keeps the replies."""

        def execute(self, execution: Execution) -> RawReply:
            reply = execute(execution)
            replies.append(reply)
            return reply

        def look_up(self, tenant: str, tool: str, key: str) -> object:
            return client.look_up(tenant, tool, key)

    watching = Watching()
    world.client = watching  # type: ignore[assignment]
    object.__setattr__(world.gateway._on, "client", watching)
    return replies
