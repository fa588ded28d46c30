"""Tool credentials stay with the gateway."""

from __future__ import annotations

import base64
import json

import pytest

from arh.errors import AuthoringError
from arh.security.credentials import CredentialVault, assert_unexposed

SECRET = 'k-live/5"f0+9c7'
VAULT = CredentialVault({"payments": SECRET, "mail": "another-secret-1"})


def test_a_configuration_without_credentials_in_sight_starts() -> None:
    """Texts that merely name a credential expose nothing."""
    assert_unexposed(VAULT, ["You are a clerk.", '{"type": "object"}', "PAYMENTS_KEY=", "payments"])


@pytest.mark.parametrize(
    "text",
    [
        f"Use the key {SECRET} for payments.",
        json.dumps({"default": SECRET}),
        "https://bank.example/?key=k-live%2F5%22f0%2B9c7",
        base64.b64encode(SECRET.encode()).decode(),
        SECRET.encode().hex(),
    ],
)
def test_a_configuration_that_exposes_a_credential_does_not_start(text: str) -> None:
    """Plain or encoded, a credential in what an agent can read is refused and never repeated."""
    with pytest.raises(AuthoringError) as refused:
        assert_unexposed(VAULT, ["harmless", text])

    assert [problem.field for problem in refused.value.problems] == ["payments"]
    assert SECRET not in str(refused.value)


def test_every_exposed_credential_is_named_once() -> None:
    """All exposures are told together, however often they occur."""
    with pytest.raises(AuthoringError) as refused:
        assert_unexposed(VAULT, [f"{SECRET} another-secret-1", SECRET])

    assert [problem.field for problem in refused.value.problems] == ["mail", "payments"]


def test_a_short_credential_is_refused() -> None:
    """A value that could occur anywhere cannot be looked for."""
    with pytest.raises(AuthoringError, match="at least 8 characters"):
        CredentialVault({"pin": "1234"})


def test_a_vault_does_not_show_what_it_holds() -> None:
    """Neither its text nor its iteration shows a value; who knows the name gets it."""
    assert repr(VAULT) == "<CredentialVault of 2>"
    assert VAULT.get("payments") == SECRET
    assert VAULT.get("none") is None
