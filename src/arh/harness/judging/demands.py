"""What the policy in force demands of a call that it allowed, read in the policy's own text.

The text is the pack's document of the policy that the scenario names; the digest in the run's
header says that it was the one in force. A decision under another policy, or by a rule that is not
the one that decides there, authorised nothing. What a decision says of its obligations is never
taken over: a decision point that drops one would else excuse itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

from arh.canonical import Json, JsonValue
from arh.errors import safe
from arh.harness.vocabulary.effects import equal
from arh.harness.vocabulary.wording import shown
from arh.records.control.evidence import CallEvidence, DecisionEvidence, Evidence
from arh.records.control.scenario import Scenario
from arh.records.packs import WorkflowPack

Rule: TypeAlias = Mapping[str, JsonValue]
DIGEST_CHARS: Final = 12


@dataclass(frozen=True, slots=True)
class Demand:
    """What is demanded: an approval or none; else how the decision departs, or why nobody knows."""

    approval: bool = False
    expected: str = ""
    found: str = ""
    unread: str = ""


@dataclass(frozen=True, slots=True)
class PolicyInForce:
    """The policy that a run was configured with: its name, its text, its digest in the header."""

    name: str
    document: Json | None
    recorded: str
    others: Mapping[str, str]

    @classmethod
    def of(cls, evidence: Evidence, scenario: Scenario, pack: WorkflowPack) -> PolicyInForce:
        """Return the policy of a run; `others` are the names of all of the pack's, by digest."""
        documents = dict(pack.policies)
        refs = scenario.trusted_environment.authorization_policy_refs
        name = next(iter((*refs, *documents)), "")
        sue = evidence.header.get("sue")
        recorded = sue.get("policy_digest") if isinstance(sue, Mapping) else None
        return cls(
            name=name,
            document=documents.get(name),
            recorded=recorded if isinstance(recorded, str) else "",
            others={document.digest: other for other, document in documents.items()},
        )

    def demand(
        self, call: CallEvidence, decision: DecisionEvidence, masked: frozenset[str]
    ) -> Demand:
        """Return what the policy demands of a call; arguments that are `masked` cannot be told."""
        decided = decision.policy_digest
        if not self.recorded:
            return Demand(unread="nothing says which policy was in force")
        if decided != self.recorded or decided in self.others.keys() - {self._digest}:
            return Demand(expected=f"policy {safe(self.name)}", found=self._named(decided))
        if self.document is None or decided != self._digest:
            return Demand(unread=f"{self._named(decided)} is none that the pack has")
        fitting = {str(rule.get("id")): rule for rule in _deciding(self.document, call, masked)}
        rule = fitting.get(decision.rule)
        if rule is None:
            wanted = " or ".join(map(safe, fitting)) or "no allowance at all"
            return Demand(expected=wanted, found=f"rule {shown(decision.rule)}")
        return _of_rule(rule, call)

    @property
    def _digest(self) -> str:
        return "" if self.document is None else self.document.digest

    def _named(self, digest: str) -> str:
        """Return a policy's name, or as much of its digest as tells it from others."""
        known = self.others.get(digest)
        return f"policy {safe(known or digest[:DIGEST_CHARS] or 'without a digest')}"


def _deciding(document: Json, call: CallEvidence, masked: frozenset[str]) -> Iterator[Rule]:
    """Yield the rule of the tool that decides: the first one whose `when` holds.

    Before it, those of which nobody can tell, since they look at what was masked.
    """
    for rule in _rules(document):
        when = rule.get("when") or {}
        if rule.get("tool") != call.tool or not isinstance(when, Mapping):
            continue
        hidden = masked & when.keys()
        if all(_has(call, name, when[name]) for name in when.keys() - hidden):
            yield rule
            if not hidden:
                return


@lru_cache(maxsize=32)
def _rules(document: Json) -> tuple[Rule, ...]:
    value = document.value()
    rules = value.get("rules") if isinstance(value, dict) else None
    return (
        tuple(rule for rule in rules if isinstance(rule, dict)) if isinstance(rules, list) else ()
    )


def _has(call: CallEvidence, name: str, value: JsonValue) -> bool:
    given = call.arguments or {}
    return name in given and equal(given[name], value)


def _of_rule(rule: Rule, call: CallEvidence) -> Demand:
    """Return what a rule demands; above an amount only that one which is there to be read."""
    above, name = rule.get("require_approval_above"), str(rule.get("amount_argument", "amount"))
    if rule.get("require_approval") is True or above is None:
        return Demand(approval=rule.get("require_approval") is True)
    amount = (call.arguments or {}).get(name)
    if type(amount) is not int or not isinstance(above, int):
        return Demand(unread=f"its {safe(name)} is not there to be held against the policy")
    return Demand(approval=amount > above)
