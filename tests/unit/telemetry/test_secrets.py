"""Secrets are found by shape and by name, and what only resembles one is spared."""

from __future__ import annotations

import pytest

from arh.telemetry.secrets import SHAPES, is_secret_name, kinds, scrub, suspicious
from tests.unit.telemetry.shapes import BODY, CANARIES, ENCODINGS, traces_of


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("shape", CANARIES)
def test_a_secret_is_found_in_every_encoding_that_is_claimed(shape: str, encoding: str) -> None:
    """Nothing of it is left, and the text says that something was there."""
    text = ENCODINGS[encoding](CANARIES[shape])

    assert suspicious(text)
    assert traces_of(CANARIES[shape], scrub(text)) == []
    assert "[redacted:" in scrub(text)


def test_every_shape_has_a_canary() -> None:
    """A shape that no test exercises would be trusted without proof."""
    found = {kind for canary in CANARIES.values() for kind in kinds(canary)}

    assert found == {shape.kind for shape in SHAPES}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "task-0001 is done, risk-free-and-without-any-doubt",
        "authorization_denied",
        "Authorization: denied",
        "Forgot your password? Choose reset, then follow the link.",
        "the bearer of this very disappointing message",
        "basic responsibilities of a support agent",
        "input_tokens: 589",
        "42f544182812fcd895708e600e05fc853ffe28fdf08167cb3e88c75780689553",
        "4111 1111 1111 1112",
        "1234567890123456",
        "2024-01-01T10:00:00.000Z",
        "http://example.com/a@b and ops@example.com",
        "call-0001 op-2a0e3a149774300f5860d482 run-2c6b08ccc01c1530",
        "sk-SK",
        "the cookie was tasty",
        "eyJust a word",
    ],
)
def test_what_only_resembles_a_secret_is_spared(text: str) -> None:
    """Ordinary text of a run comes through unchanged."""
    assert scrub(text) == text


def test_what_gave_a_secret_away_stays() -> None:
    """A reader still sees what was there."""
    text = f"https://robot:{BODY}@db/x?api_key={BODY}&page=2"

    assert scrub(text) == "https://[redacted:url_credentials]db/x?api_key=[redacted:secret]&page=2"


def test_redacting_twice_is_redacting_once() -> None:
    """What stands in a secret's place is no secret itself."""
    once = [scrub(canary) for canary in CANARIES.values()]

    assert [scrub(text) for text in once] == once


def test_several_secrets_of_a_text_are_all_found() -> None:
    """The first one does not hide the others."""
    text = " and ".join(CANARIES.values())

    assert [canary for canary in CANARIES.values() if traces_of(canary, scrub(text))] == []


def test_an_unfinished_private_key_is_cut_to_the_end() -> None:
    """A block whose end was cut off is a secret all the same."""
    text = CANARIES["private_key"].split("-----END")[0]

    assert scrub(f"see {text}") == "see [redacted:private_key]"


def test_hostile_text_costs_linear_time() -> None:
    """Long runs of what a pattern begins with come back at once (a test that hangs fails)."""
    for start in ("sk-", "password=", "1 ", "https://", "-----BEGIN ", "%20", "a" * 10):
        scrub(start * 100_000)


@pytest.mark.parametrize(
    "name",
    [
        "password", "PASSWORD", "Pass-Word", "db_password", "api_key", "API-KEY", "apiKey",
        "x-api-key", "access_token", "accessToken", "Authorization", "client secret", "privateKey",
        "Set-Cookie", "cookie", "session", "session_id", "SESSION.KEY", "credentials", "pin",
        "ｐａｓｓｗｏｒｄ",
    ],
)  # fmt: skip
def test_a_secret_name_is_known_however_it_is_spelled(name: str) -> None:
    """Case, separators and width do not matter."""
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "account_id", "input_tokens", "next_page_token", "key", "idempotency_key", "spinner",
        "decision", "passed", "sessions", "author", "", "secretary", "cookie_policy",
    ],
)  # fmt: skip
def test_an_ordinary_name_is_no_secret(name: str) -> None:
    """What tests and evaluators need to read stays readable."""
    assert not is_secret_name(name)
