"""Authorisation policies: who may do what, read strictly from a document that a pack ships.

A rule grants one tool to whoever holds its scope, under its conditions. Of a tool's rules the first
whose `when` holds decides; `deny_when` of any of them denies. What no rule grants is denied, and a
document with an unknown, misspelt or unreachable part is refused as a whole, with every problem.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from arh.canonical import Json, JsonValue, encode
from arh.errors import AuthoringError, Problem, closest
from arh.records.tools import ToolManifest
from arh.security.limits import BY_ARGUMENT, Limit

AMOUNT_ARGUMENT: Final = "amount"
VERSION: Final = "1.0"

_SCOPE: Final = re.compile(r"[a-z][a-z0-9_-]*:[a-z][a-z0-9_-]*")
_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_PRINCIPALS: Final = ("subject", "tenant")
_DOCUMENT_FIELDS: Final = ("policy", "version", "rules")
_LIMIT_FIELDS: Final = ("name", "by", "max")
_RULE_FIELDS: Final = (
    "id",
    "tool",
    "scope",
    "tenant",
    "require_approval",
    "require_approval_above",
    "amount_max",
    "amount_argument",
    "limit",
    "identity_arguments",
    "when",
    "deny_when",
)

Pairs = tuple[tuple[str, JsonValue], ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """One grant with its conditions and obligations; amounts are integers of minor units.

    `when` and `deny_when` are pairs of an argument and the value that it must have. Each pair of
    `identity_arguments` names an argument and the principal that it must not differ from.
    """

    id: str
    tool: str
    scope: str
    any_tenant: bool = False
    require_approval: bool = False
    require_approval_above: int | None = None
    amount_max: int | None = None
    amount_argument: str = AMOUNT_ARGUMENT
    limit: Limit | None = None
    identity_arguments: tuple[tuple[str, str], ...] = ()
    when: Pairs = ()
    deny_when: Pairs = ()
    covering: frozenset[str] = field(init=False, compare=False, repr=False)
    """The scopes that cover the rule's."""
    needs_amount: bool = field(init=False, compare=False, repr=False)
    """True if the rule cannot be decided without knowing the amount."""
    reads_arguments: bool = field(init=False, compare=False, repr=False)
    """True if the rule cannot be decided without reading the arguments."""

    def __post_init__(self) -> None:
        """Work out once what every decision asks of the rule."""
        bounds = (self.require_approval_above, self.amount_max, self.limit)
        amount = any(bound is not None for bound in bounds)
        conditions = (self.identity_arguments, self.when, self.deny_when)
        object.__setattr__(self, "covering", _covering(self.scope))
        object.__setattr__(self, "needs_amount", amount)
        object.__setattr__(self, "reads_arguments", amount or any(conditions))

    def held_by(self, scopes: Iterable[str]) -> bool:
        """Return true if one of the scopes covers the rule's."""
        for scope in scopes:  # noqa: SIM110 - twice for each decision, and `any` costs thrice as much
            if type(scope) is str and scope in self.covering:
                return True
        return False


@dataclass(frozen=True, slots=True)
class PolicySet:
    """A policy that was read in full; `rules` are those of each tool, in the document's order."""

    name: str
    version: str
    digest: str
    rules: Mapping[str, tuple[Rule, ...]]


def read_policy(document: Json, *, file: str = "") -> PolicySet:
    """Return the policy that a document states.

    Raises:
        AuthoringError: A part is missing, unknown, misspelt or can never apply; all are listed.
    """
    reader = _Reader(file)
    rules = reader.rules(document.value())
    if reader.problems:
        raise AuthoringError(*reader.problems)
    return PolicySet(reader.name, VERSION, document.digest, _by_tool(rules))


def check_policy(policy: PolicySet, manifests: Iterable[ToolManifest], *, file: str = "") -> None:
    """Return only if every rule speaks of a tool that exists and of arguments that it has.

    Raises:
        AuthoringError: A rule could never apply, or would read another amount than the tool's.
    """
    known = {manifest.name: manifest for manifest in manifests}
    problems = [
        problem
        for rules in policy.rules.values()
        for rule in rules
        for problem in _misfits(rule, known, file)
    ]
    if problems:
        raise AuthoringError(*problems)


def _covering(needed: str) -> frozenset[str]:
    """Return the scopes that cover a scope; `*` stands for a whole segment."""
    verb, _, resource = needed.partition(":")
    return frozenset((needed, f"{verb}:*", f"*:{resource}", "*:*"))


def _by_tool(rules: Iterable[Rule]) -> dict[str, tuple[Rule, ...]]:
    """Return the rules of each tool, in order."""
    found: dict[str, list[Rule]] = {}
    for rule in rules:
        found.setdefault(rule.tool, []).append(rule)
    return {tool: tuple(its) for tool, its in found.items()}


def _misfits(rule: Rule, known: Mapping[str, ToolManifest], file: str) -> Iterable[Problem]:
    """Return what the rule says of a tool that is not so."""
    field = f"rules[{rule.id}]"
    manifest = known.get(rule.tool)
    if manifest is None:
        hint = closest(rule.tool, known)
        yield Problem(rule.tool, "the name of a tool", file=file, field=f"{field}.tool", hint=hint)
        return
    parameters = manifest.parameters.value()
    properties = parameters.get("properties") if isinstance(parameters, dict) else None
    names = set(properties) if isinstance(properties, dict) else set()
    for name in _arguments(rule):
        if name not in names:
            expected = f"an argument of {rule.tool}"
            yield Problem(name, expected, file=file, field=field, hint=closest(name, names))
    if rule.needs_amount and rule.amount_argument != manifest.amount_argument:
        expected = "the amount argument that the tool's manifest names"
        yield Problem(rule.amount_argument, expected, file=file, field=f"{field}.amount_argument")


def _arguments(rule: Rule) -> Iterable[str]:
    """Return the arguments that the rule reads, the amount apart."""
    pairs = (*rule.identity_arguments, *rule.when, *rule.deny_when)
    yield from dict.fromkeys(name for name, _ in pairs)
    if rule.limit is not None and rule.limit.by.startswith(BY_ARGUMENT):
        yield rule.limit.by.removeprefix(BY_ARGUMENT)


class _Reader:
    """Reads one document and collects what is wrong with it."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.name = ""
        self.problems: list[Problem] = []

    def refuse(self, field: str, expected: str, found: object, hint: str = "") -> None:
        """Note a problem; what was found is shown as JSON, a missing value as nothing."""
        shown = "" if found is _MISSING else encode(found).decode()
        problem = Problem(shown, expected, file=self.file, field=field, hint=hint)
        self.problems.append(problem)

    def rules(self, document: JsonValue) -> list[Rule]:
        """Return the rules of a document, those that could be read."""
        if not isinstance(document, dict):
            self.refuse("", "an object", document)
            return []
        self.known_fields(document, _DOCUMENT_FIELDS, "")
        self.name = self.text(document, "policy", "")
        if document.get("version") != VERSION:
            self.refuse("version", f'"{VERSION}"', document.get("version", _MISSING))
        listed = document.get("rules", _MISSING)
        if not isinstance(listed, list) or not listed:
            self.refuse("rules", "a list of at least one rule", listed)
            return []
        rules = [self.rule(item, f"rules[{at}]") for at, item in enumerate(listed)]
        self.refuse_repeated(rules)
        return rules

    def rule(self, item: JsonValue, at: str) -> Rule:
        """Return one rule."""
        if not isinstance(item, dict):
            self.refuse(at, "an object", item)
            return Rule("", "", "")
        self.known_fields(item, _RULE_FIELDS, f"{at}.")
        return Rule(
            id=self.text(item, "id", f"{at}."),
            tool=self.text(item, "tool", f"{at}."),
            scope=self.scope(item, f"{at}."),
            any_tenant=self.one_of(item, "tenant", ("same", "any"), f"{at}.") == "any",
            require_approval=self.flag(item, "require_approval", f"{at}."),
            require_approval_above=self.minor_units(item, "require_approval_above", f"{at}."),
            amount_max=self.minor_units(item, "amount_max", f"{at}."),
            amount_argument=self.text(item, "amount_argument", f"{at}.", AMOUNT_ARGUMENT),
            limit=self.limit(item, f"{at}."),
            identity_arguments=self.identities(item, f"{at}."),
            when=self.pairs(item, "when", f"{at}."),
            deny_when=self.pairs(item, "deny_when", f"{at}."),
        )

    def refuse_repeated(self, rules: list[Rule]) -> None:
        """Refuse an identifier used twice, and a rule that an earlier one always precedes."""
        seen: set[str] = set()
        decided: dict[str, str] = {}
        for at, rule in enumerate(rules):
            if rule.id and rule.id in seen:
                self.refuse(f"rules[{at}].id", "an id that no other rule has", rule.id)
            seen.add(rule.id)
            earlier = decided.get(rule.tool)
            if rule.tool and earlier is not None and not rule.deny_when:
                hint = f"rule {earlier} decides every call of this tool, put it last"
                self.refuse(f"rules[{at}]", "a rule that can apply", rule.id, hint)
            if not rule.when:
                decided.setdefault(rule.tool, rule.id)

    def known_fields(self, item: Mapping[str, JsonValue], known: tuple[str, ...], at: str) -> None:
        """Refuse every field that does not exist."""
        for name in item:
            if name not in known:
                expected = f"one of the fields {', '.join(known)}"
                self.refuse(f"{at}{name}", expected, name, closest(name, known))

    def text(
        self, item: Mapping[str, JsonValue], name: str, at: str, default: str | None = None
    ) -> str:
        """Return a name."""
        value = item.get(name, _MISSING if default is None else default)
        if isinstance(value, str) and _NAME.fullmatch(value):
            return value
        self.refuse(f"{at}{name}", "a name of letters, digits, `_`, `.` and `-`", value)
        return ""

    def scope(self, item: Mapping[str, JsonValue], at: str) -> str:
        """Return the scope that the rule demands."""
        value = item.get("scope", _MISSING)
        if isinstance(value, str) and _SCOPE.fullmatch(value):
            return value
        self.refuse(f"{at}scope", "a scope as in write:order", value)
        return ""

    def one_of(
        self, item: Mapping[str, JsonValue], name: str, known: tuple[str, ...], at: str
    ) -> str:
        """Return one of the known words, the first by default."""
        value = item.get(name, known[0])
        if isinstance(value, str) and value in known:
            return value
        self.refuse(f"{at}{name}", f"one of {', '.join(known)}", value)
        return known[0]

    def flag(self, item: Mapping[str, JsonValue], name: str, at: str) -> bool:
        """Return true or false."""
        value = item.get(name, False)
        if isinstance(value, bool):
            return value
        self.refuse(f"{at}{name}", "true or false", value)
        return False

    def minor_units(
        self, item: Mapping[str, JsonValue], name: str, at: str, *, required: bool = False
    ) -> int | None:
        """Return an amount, which may be zero."""
        value = item.get(name, _MISSING)
        if value is _MISSING and not required:
            return None
        if type(value) is int and value >= 0:
            return value
        self.refuse(f"{at}{name}", "an integer of minor units, 0 or more", value)
        return None

    def limit(self, item: Mapping[str, JsonValue], at: str) -> Limit | None:
        """Return the cumulative limit."""
        value = item.get("limit")
        if "limit" not in item:
            return None
        if not isinstance(value, dict):
            self.refuse(f"{at}limit", "an object of name, by and max", value)
            return None
        self.known_fields(value, _LIMIT_FIELDS, f"{at}limit.")
        by = value.get("by", _MISSING)
        if not isinstance(by, str) or not _is_holder(by):
            self.refuse(f"{at}limit.by", "subject, tenant or argument:<name>", by)
        name = self.text(value, "name", f"{at}limit.")
        limit_max = self.minor_units(value, "max", f"{at}limit.", required=True)
        return Limit(name, str(by), limit_max or 0)

    def identities(self, item: Mapping[str, JsonValue], at: str) -> tuple[tuple[str, str], ...]:
        """Return which argument must be which principal."""
        found = []
        for name, principal in self.pairs(item, "identity_arguments", at):
            if principal in _PRINCIPALS:
                found.append((name, str(principal)))
            else:
                self.refuse(f"{at}identity_arguments.{name}", "subject or tenant", principal)
        return tuple(found)

    def pairs(self, item: Mapping[str, JsonValue], name: str, at: str) -> Pairs:
        """Return the pairs of a non-empty object."""
        if name not in item:
            return ()
        value = item[name]
        if isinstance(value, dict) and value:
            return tuple(value.items())
        self.refuse(f"{at}{name}", "an object with at least one argument", value)
        return ()


def _is_holder(by: str) -> bool:
    """Return true if a limit can be kept for each value of `by`."""
    name = by.removeprefix(BY_ARGUMENT)
    return by in _PRINCIPALS or (name != by and _NAME.fullmatch(name) is not None)


class _Missing:
    """The value of a field that is not there."""


_MISSING: Final = _Missing()
