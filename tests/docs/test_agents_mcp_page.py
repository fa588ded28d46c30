"""docs/agents-mcp.md says what the code does: its names, its limits, its versions."""

from __future__ import annotations

import re
from pathlib import Path

from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from arh.cli import serve
from arh.connect.mcp import agent, server
from arh.connect.mcp.messages import BODY_BYTES_MAX, END_TOOL, KEY_META, MANIFEST_META

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "agents-mcp.md").read_text("utf-8")


def test_every_variable_of_a_command_is_in_the_table() -> None:
    """The table names each of them, and no other."""
    named = set(re.findall(r"^\| `(ARH_\w+)` \|", PAGE, flags=re.MULTILINE))

    assert named == {agent.URL, agent.TOKEN, agent.STDIO, agent.CONFIG}


def test_every_name_of_the_protocol_is_the_codes() -> None:
    """Resource, prompt, tool and metadata."""
    names = (
        server.TASK_URI,
        server.TASK_PROMPT,
        END_TOOL,
        KEY_META,
        MANIFEST_META,
    )

    assert [name for name in names if f"`{name}`" not in PAGE] == []


def test_every_figure_is_the_codes() -> None:
    """Sizes and times."""
    assert f"at most {BODY_BYTES_MAX // 2**20} MiB" in PAGE
    assert f"(default {serve.SECONDS})" in PAGE


def test_the_versions_are_the_librarys_newest() -> None:
    """The current protocol and the one before it; a newer library is to be tried and named."""
    newest = (MODERN_PROTOCOL_VERSIONS[-1], HANDSHAKE_PROTOCOL_VERSIONS[-1])

    assert "MCP {} and {} are spoken".format(*newest) in PAGE
