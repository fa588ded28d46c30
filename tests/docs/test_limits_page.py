"""docs/limits.md says what the code does, and leads to the pages that say more."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from arh import canonical, http_exchange
from arh.connect import json_lines
from arh.connect.mcp import exchange, messages
from arh.connect.model_endpoint import wire
from arh.harness.authoring import authoring, files
from arh.harness.running import runner
from arh.model.live import providers, replies
from arh.state import external

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "limits.md").read_text("utf-8")
MIB = 2**20

ROWS = {
    "a JSON document": f"{canonical.SIZE_MAX // MIB} MiB, {canonical.DEPTH_MAX} levels",
    "an authored file, one line of it": (
        f"{files.FILE_BYTES_MAX // MIB} MiB, {files.LINE_BYTES_MAX // MIB} MiB"
    ),
    "files below a folder of scenarios or data": f"{files.FILES_MAX:,}",
    "mistakes that are listed at once": f"{authoring.PROBLEMS_MAX}",
    "a line of an agent's process": f"{json_lines.LINE_BYTES_MAX // MIB} MiB",
    "a message over MCP, a request to the model endpoint": f"{messages.BODY_BYTES_MAX // MIB} MiB",
    "calls over MCP under way in a task": f"{exchange.UNDER_WAY_MAX}",
    "an agent's final answer": f"{runner.ANSWER_CHARS_MAX:,} characters",
    "a provider's reply": f"{providers.BODY_BYTES_MAX // MIB} MiB, {replies.CALLS_MAX} calls",
    "a reply of a remote tool's service": (
        f"{http_exchange.SIZE_MAX:,} bytes, or the tool's `size_max`"
    ),
    "a reading of your own state": f"{external.ROWS_MAX:,} rows, {external.BYTES_MAX:,} bytes",
}


@pytest.mark.parametrize("what", ROWS)
def test_every_figure_is_the_codes(what: str) -> None:
    """Who raises a limit has to say so here."""
    assert f"| {what} | {ROWS[what]} |" in PAGE


def test_both_roads_of_a_message_have_one_limit() -> None:
    """The page has one row for the two."""
    assert messages.BODY_BYTES_MAX == wire.BODY_BYTES_MAX


def test_a_whole_number_has_the_limit_of_the_readers() -> None:
    """Beyond it two readers could differ."""
    assert canonical.SAFE_INTEGER == 2**53 - 1
    assert "| a whole number in JSON | 2^53 - 1, on either side of zero |" in PAGE


def test_every_link_leads_to_a_heading() -> None:
    """Each claim is told in full somewhere."""
    links = re.findall(r"\]\(([\w-]+\.md)#([\w-]+)\)", PAGE)

    assert len(links) == 9
    assert [link for link in links if link[1] not in _anchors(link[0])] == []


def _anchors(page: str) -> set[str]:
    """Return the anchors of a page's headings, as they are made on the hosting site."""
    headings = re.findall(r"^#+ (.+)$", (DOCS / page).read_text("utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
