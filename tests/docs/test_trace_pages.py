"""The pages on trace rules and policies say what the code does."""

from __future__ import annotations

import json
import re
from pathlib import Path

from markdown_it import MarkdownIt
from ruamel.yaml import YAML

from arh.traces.authoring.assertions import TYPES, assertions_from_dict
from arh.traces.authoring.policy import Policy
from arh.traces.registry import RULES
from tools import trace_controls
from tools.trace_rules import PAGE, page_text

POLICIES = (Path(__file__).resolve().parents[2] / "docs" / "trace-policies.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    """The blocks of the page on policies in a language."""
    tokens = MarkdownIt().parse(POLICIES)
    return [each.content for each in tokens if each.type == "fence" and each.info == language]


def test_the_page_of_rules_has_not_drifted() -> None:
    """After a change to a rule: `python tools/trace_rules.py`."""
    assert page_text() == PAGE.read_text("utf-8")
    assert all(f"{rule} " in page_text() for rule in RULES)


def test_the_page_of_figures_is_what_a_run_gives() -> None:
    """After a change to a rule or a case: `python -m tools.trace_controls`."""
    assert trace_controls.page_text() == trace_controls.PAGE.read_text("utf-8")


def test_every_policy_of_the_page_is_one() -> None:
    """All their patterns can be run; the first uses every section."""
    policies = [Policy.from_dict(json.loads(each)) for each in blocks("json")]
    for policy in policies:
        policy.check_patterns()

    assert len(policies) == 2
    assert len(policies[1].assertions) == 3


def test_every_assertion_of_the_page_is_one() -> None:
    """Of every type."""
    (text,) = blocks("yaml")
    found = assertions_from_dict(YAML(typ="safe", pure=True).load(text))

    assert {each.type for each in found} == set(TYPES)


def test_every_rule_that_the_page_names_exists() -> None:
    """Also in its short form."""
    named = set(re.findall(r"\b((?:SCH|BUD|SAF|GRD|SEQ|FLW|CMP|TRC|ASR)-[0-9]{3})", POLICIES))

    assert {f"ARH-{each}" for each in named} <= RULES.keys()
