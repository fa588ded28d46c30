"""Commands are shown without their secrets."""

from __future__ import annotations

import pytest

from arh.telemetry.commands import shown_command
from tests.unit.telemetry.shapes import CANARIES

KEY = CANARIES["api_key"]


@pytest.mark.parametrize(
    "command",
    [
        "python examples/agents/support_agent.py",
        "python  -c 'print(1)'   --model gpt",
        "agent --max-tokens 100 --monkey patch",
        "agent --token",
        "",
    ],
)
def test_a_command_without_a_secret_is_shown_as_it_is(command: str) -> None:
    """To the blank."""
    assert shown_command(command) == command


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (f"agent --key {KEY} x", "agent --key '[redacted:secret]' x"),
        ("agent --api-key hunter2", "agent --api-key '[redacted:secret]'"),
        ("agent --api-key=hunter2", "agent '--api-key=[redacted:secret]'"),
        ("agent --token --verbose", "agent --token --verbose"),
        ("agent -password hunter2", "agent -password '[redacted:secret]'"),
        (f"agent {KEY}", "agent '[redacted:api_key]'"),
        ("env API_KEY=hunter2hunter2 agent", "env 'API_KEY=[redacted:secret]' agent"),
        ("agent 'unclosed password=hunter2", "agent 'unclosed password=[redacted:secret]"),
    ],
)
def test_a_secret_in_a_command_is_not_shown(command: str, shown: str) -> None:
    """By shape, and as the value of an option that is called like a secret."""
    assert shown_command(command) == shown


@pytest.mark.parametrize("command", [*CANARIES.values(), "agent --secret x", f"a --key={KEY}"])
def test_what_is_shown_stays(command: str) -> None:
    """To show it twice changes nothing."""
    once = shown_command(command)

    assert shown_command(once) == once
