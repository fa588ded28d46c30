"""What is not known of a recorded call is never guessed: the answer names it."""

from __future__ import annotations

from typing import Any

import pytest

from arh.canonical import Json
from arh.security.policy import read_policy
from arh.security.replay import Known, PolicyReplay, Replayed

ALL = Known("ann", "t", ("*:*",), ("*:*",))
RULES: list[dict[str, Any]] = [
    {"id": "look", "tool": "look", "scope": "read:thing", "tenant": "any"},
    {"id": "own", "tool": "own", "scope": "read:thing"},
    {
        "id": "me",
        "tool": "me",
        "scope": "read:thing",
        "tenant": "any",
        "identity_arguments": {"who": "subject"},
    },
    {
        "id": "pay",
        "tool": "pay",
        "scope": "write:pay",
        "tenant": "any",
        "amount_max": 100,
        "require_approval_above": 50,
        "limit": {"name": "day", "by": "subject", "max": 1000},
        "deny_when": {"currency": "XXX"},
    },
]


def ask(tool: str, arguments: dict[str, Any] | None, known: Known = ALL) -> Replayed:
    """Ask the policy about one call."""
    document = Json.of({"policy": "p", "version": "1.0", "rules": RULES})
    return PolicyReplay(read_policy(document), known).ask(tool, arguments)


def test_what_needs_nothing_more_is_allowed() -> None:
    """Everything that the rule depends on is known."""
    assert ask("look", {}) == Replayed("allow", "scope_granted", "look")


@pytest.mark.parametrize(
    ("tool", "arguments", "reason"),
    [
        ("rm", {}, "no_policy_for_tool"),
        ("pay", {"amount": 101}, "amount_over_limit"),
        ("pay", {"amount": 1, "currency": "XXX"}, "denied_by_rule"),
        ("pay", {"amount": "1"}, "malformed_request"),
    ],
)
def test_what_nobody_may_do_is_denied_whoever_acted(
    tool: str, arguments: dict[str, Any], reason: str
) -> None:
    """Also where nothing is known of who it was."""
    found = ask(tool, arguments, Known())

    assert (found.status, found.reason, found.missing) == ("deny", reason, ())


@pytest.mark.parametrize(
    ("known", "reason"),
    [
        (Known("ann", "t", ("read:other",), ("*:*",)), "insufficient_scope"),
        (Known("ann", "t", ("*:*",), ()), "actor_scope"),
    ],
)
def test_what_is_known_denies(known: Known, reason: str) -> None:
    """Its twin, who holds the scopes, is allowed."""
    assert ask("look", {}, known).reason == reason
    assert ask("look", {}).status == "allow"


@pytest.mark.parametrize(
    ("tool", "arguments", "known", "missing"),
    [
        ("look", {}, Known(), ("scopes", "actor_scopes")),
        ("look", None, ALL, ("arguments",)),
        ("own", {}, ALL, ("owner of the records that the call names",)),
        ("me", {"who": "bob"}, Known(None, "t", ("*:*",), ("*:*",)), ("subject",)),
        ("me", {}, Known(None, "t", ("*:*",), ("*:*",)), ()),
        ("pay", {"amount": 50}, ALL, ("what was charged to day before",)),
        ("pay", {"amount": 51}, ALL, ("approval", "what was charged to day before")),
    ],
)
def test_what_is_missing_is_named(
    tool: str, arguments: dict[str, Any] | None, known: Known, missing: tuple[str, ...]
) -> None:
    """With nothing missing the answer is no unknown."""
    found = ask(tool, arguments, known)

    assert (found.status, found.missing) == ("unknown" if missing else "allow", missing)


def test_another_identity_is_denied_where_the_subject_is_known() -> None:
    """And allowed where it is the subject's own."""
    assert ask("me", {"who": "bob"}).reason == "identity_mismatch"
    assert ask("me", {"who": "ann"}).status == "allow"


def test_rules_that_decided_nothing_are_named() -> None:
    """In the policy's order."""
    replay = PolicyReplay(read_policy(Json.of({"policy": "p", "version": "1.0", "rules": RULES})))
    replay.ask("own", {})

    assert replay.never_fired() == ("look", "me", "pay")
