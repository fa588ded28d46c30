"""The attempt log: one entry for every call of the gateway, whatever became of it.

It stands outside of every transaction and tells what the caller learned; the store's commit entries
tell what is true. An attempt begins as interrupted, so a call that never comes back has an entry
that says so. Texts of the caller are cut and made encodable; a manifest's sensitive fields are
masked before an entry leaves this module.
"""

from __future__ import annotations

from typing import Final

from arh.canonical import JsonValue
from arh.records.authorization import AuthorizationDecision, Resource
from arh.records.execution import Read
from arh.records.outcomes import Mark

Entry = dict[str, object]

ARGUMENTS_TEXT_CHARS_MAX: Final = 2000
NAME_CHARS_MAX: Final = 256
MASKED: Final = "[masked]"


class Attempt:
    """What is known so far of one call: it begins with what the class says.

    `decision` and `approval` are in the log's own form; `times` tells when others were asked, as
    name, start and end; `stages` how each stage went, as name and result.
    """

    # Not a dataclass: of two dozen fields that each call would set, it changes half.
    version: str = ""
    arguments: dict[str, JsonValue] | None = None
    argument_digest: str = ""
    key: str = ""
    key_source: str = ""
    operation_id: str = ""
    returned_ms: int = 0
    decision: Entry | None = None
    approval: Entry | None = None
    lookup: str = ""
    entered: bool = False
    status: str = "error"
    reason: str = "unresolved"
    cause: str = "interrupted"
    commit_belief: str = "not_applicable"
    delivery: str = "delivered"
    result: JsonValue = None
    reads: tuple[Read, ...] = ()
    marks: tuple[Mark, ...] = ()
    sensitive: tuple[str, ...] = ()

    def __init__(
        self,
        actor: str,
        call_id: str,
        requested_id: str,
        tool: str,
        arguments_text: str,
        requested_ms: int,
    ) -> None:
        """Hold what is known of a call as it enters."""
        self.actor = actor
        self.call_id = call_id
        self.requested_id = requested_id
        self.tool = tool
        self.arguments_text = arguments_text
        self.requested_ms = requested_ms
        self.stages: list[list[str]] = []
        self.times: list[tuple[str, int, int]] = []

    def entry(self) -> Entry:
        """Return the attempt as JSON data that may be persisted."""
        arguments, result = self.arguments, self.result
        if self.sensitive:
            names = frozenset(self.sensitive)
            arguments = masked(arguments, names)  # type: ignore[assignment]  # an object stays one
            result = masked(result, names)
        unread = self.arguments is None and not self.sensitive
        return {
            "actor": self.actor,
            "call_id": self.call_id,
            "requested_id": self.requested_id,
            "tool": self.tool,
            "version": self.version,
            "arguments": arguments,
            "arguments_text": self.arguments_text if unread else "",
            "argument_digest": self.argument_digest,
            "key": self.key,
            "key_source": self.key_source,
            "operation_id": self.operation_id,
            "requested_ms": self.requested_ms,
            "returned_ms": self.returned_ms,
            "decision": self.decision,
            "approval": self.approval,
            "lookup": self.lookup,
            "entered": self.entered,
            "status": self.status,
            "reason": self.reason,
            "cause": self.cause,
            "commit_belief": self.commit_belief,
            "delivery": self.delivery,
            "result": result,
            "reads": [[read.collection, read.key, read.revision] for read in self.reads],
            "marks": [[mark.milestone, mark.target, mark.justified] for mark in self.marks],
            "stages": self.stages,
            "refused_by_budget": False,
        }


class AttemptLog:
    """Holds the finished attempts until the runner takes them; all actors of a run share one."""

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        """Begin empty."""
        self._entries: list[Entry] = []

    def write(self, attempt: Attempt) -> None:
        """Append one finished attempt."""
        self._entries.append(attempt.entry())

    def drain(self) -> tuple[Entry, ...]:
        """Return the attempts finished since the last call, in order."""
        entries = tuple(self._entries)
        self._entries.clear()
        return entries


def decision_entry(
    decision: AuthorizationDecision | None,
    resources: tuple[Resource, ...],
    *,
    status: str,
    reason: str,
    cause: str = "",
) -> Entry:
    """Return a decision in the log's form; `decision` is `None` where no answer counted."""
    entry: Entry = {
        "status": status,
        "reason": reason,
        "decision_id": "",
        "policy": "",
        "policy_digest": "",
        "rule": "",
        "cause": cause,
        "resources": [
            {
                "collection": resource.collection,
                "key": resource.key,
                "tenant": resource.tenant,
                "revision": resource.revision,
            }
            for resource in resources
        ],
    }
    if decision is not None:
        entry["decision_id"] = decision.decision_id
        entry["policy"] = decision.policy
        entry["policy_digest"] = decision.policy_digest
        entry["rule"] = decision.rule
    return entry


def approval_entry(
    result: str, reason: str = "", approval_id: str = "", approver: str = ""
) -> Entry:
    """Return how the approval stage ended, in the log's form."""
    return {
        "result": result,
        "reason": reason,
        "approval_id": approval_id,
        "approver": approver,
    }


def encodable(text: object, chars_max: int) -> str:
    """Return a caller's text, cut and without lone surrogates; anything else is no text."""
    if type(text) is not str:
        return ""
    cut = text[:chars_max]
    return cut if cut.isascii() else cut.encode("utf-8", "backslashreplace").decode()


def masked(value: JsonValue, names: frozenset[str]) -> JsonValue:
    """Return a copy in which every field of those names is masked, at any depth."""
    if isinstance(value, list):
        return [masked(item, names) for item in value]
    if isinstance(value, dict):
        return {
            name: MASKED if name in names else masked(item, names) for name, item in value.items()
        }
    return value
