"""The guide to profiles names what exists, all of it, and its example is accepted."""

from __future__ import annotations

import re
from pathlib import Path

from arh.decision.catalogue import CATALOGUE
from arh.decision.conformance import CHECKS, IMPLICIT
from arh.decision.profile import read_profile
from arh.harness.vocabulary.rules import RULES

GUIDE = Path(__file__).resolve().parents[2].joinpath("docs", "profiles.md").read_text("utf-8")


def section(title: str) -> str:
    """The text of a section, up to the next title."""
    return re.split(r"^#+ ", GUIDE.split(f"# {title}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]


def test_every_metric_is_listed_once() -> None:
    """In the table of metrics, and none that does not exist."""
    rows = [line for line in section("Metrics").splitlines() if line.startswith("|")]
    named = re.findall(r"`([a-z0-9_]+)`", "\n".join(rows))

    assert sorted(named) == sorted(CATALOGUE)


def test_every_check_is_listed() -> None:
    """In the table of checks, below its head."""
    rows = re.findall(r"^\| `([a-z_]+)` \|", section("`conformance`"), re.MULTILINE)

    assert rows[1:] == list(CHECKS)


def test_every_gate_that_no_profile_can_remove_is_listed() -> None:
    """In the order in which a decision has them."""
    rows = re.findall(r"^\| `([a-z_]+)` \|", section("What no profile can remove"), re.MULTILINE)

    assert rows == list(IMPLICIT)


def test_the_example_is_a_profile() -> None:
    """As a reader copies it."""
    block = GUIDE.split("```yaml\n", 1)[1].split("```", 1)[0]

    profile = read_profile(block.encode(), file="docs/profiles.md", rules=RULES).profile

    assert [gate.type for gate in profile.gates] == [
        "absolute",
        "absolute",
        "conformance",
        "regression",
    ]
