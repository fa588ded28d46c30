"""Agents that do as they are told: a list of calls and an answer, and those that run amok."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from arh.canonical import Json, JsonValue
from arh.ports.sue import Session
from arh.records.messages import ToolRequest
from arh.records.tasks import AgentReport, Task

Step: TypeAlias = "tuple[str, dict[str, JsonValue]]"
TIMEOUT_MS = 5_000
ACCOUNT_ID = "A-1007"
TICKET: dict[str, JsonValue] = {
    "account_id": ACCOUNT_ID,
    "category": "billing_incident",
    "summary": "Customer reports duplicate billing.",
    "proposed_action": "credit_review",
}
GET_ACCOUNT: Step = ("get_account", {"account_id": ACCOUNT_ID})
CHECK: Step = ("check_incident_status", {"service": "billing", "region": "us-west"})
POLICY: Step = ("get_policy", {"topic": "billing_remediation"})
READS = (GET_ACCOUNT, CHECK, POLICY)
HONEST = "A-1007 is affected by EVT-402. I opened ticket TK-0001. No credit was issued."


def ticket(key: str = "wf-golden-001", **more: JsonValue) -> Step:
    """Return a request for the ticket that the golden scenario expects."""
    return "create_ticket", {**TICKET, "incident_ref": "EVT-402", "idempotency_key": key, **more}


def plain_ticket(key: str, **more: JsonValue) -> Step:
    """Return a request for a ticket without an incident."""
    return "create_ticket", {**TICKET, "idempotency_key": key, **more}


def credit(key: str = "wf-credit-001", amount: int = 9800, **more: JsonValue) -> Step:
    """Return a request for a credit."""
    asked: dict[str, JsonValue] = {"account_id": ACCOUNT_ID, "amount": amount, "reason": "Goodwill"}
    return "issue_credit", {**asked, "idempotency_key": key, **more}


@dataclass(frozen=True, slots=True)
class Player:
    """An agent that makes its calls in order, whatever comes of them, and gives its answer."""

    steps: Sequence[Step] = ()
    answer: str | dict[str, JsonValue] | None = HONEST
    termination: str = "completed"

    def run(self, task: Task, session: Session) -> AgentReport:
        """Play the list."""
        for number, (tool, arguments) in enumerate(self.steps, 1):
            request = ToolRequest(f"c{number}", tool, json.dumps(arguments))
            session.call(request, timeout_ms=TIMEOUT_MS)
        answer = self.answer
        return AgentReport(
            self.termination, Json.of(answer) if isinstance(answer, dict) else answer
        )


@dataclass(frozen=True, slots=True)
class Actor:
    """An agent that does what a function does."""

    act: Callable[[Task, Session], AgentReport]

    def run(self, task: Task, session: Session) -> AgentReport:
        """Act."""
        return self.act(task, session)


def plays(*steps: Step, answer: str | dict[str, JsonValue] | None = HONEST) -> Callable[[], Player]:
    """Return what makes a player of these steps."""
    return lambda: Player(steps, answer)


def ends(termination: str, *steps: Step, answer: str | None = HONEST) -> Callable[[], Player]:
    """Return what makes a player that reports this termination."""
    return lambda: Player(steps, answer, termination)


def acts(act: Callable[[Task, Session], AgentReport]) -> Callable[[], Actor]:
    """Return what makes an agent of a function."""
    return lambda: Actor(act)


def endless(_task: Task, session: Session) -> AgentReport:
    """Read the same account for ever, and catch whatever would stop it."""
    tool, arguments = GET_ACCOUNT
    for _ in range(1_000):
        try:
            session.call(ToolRequest("c", tool, json.dumps(arguments)), timeout_ms=TIMEOUT_MS)
        except BaseException:  # noqa: BLE001, S112 - the defect itself
            continue
    return AgentReport("completed", HONEST)


def raises(_task: Task, _session: Session) -> AgentReport:
    """Break down."""
    raise ZeroDivisionError


def hangs(_task: Task, _session: Session) -> AgentReport:
    """Keep control for longer than anybody waits."""
    threading.Event().wait(1)
    return AgentReport("completed", HONEST)
