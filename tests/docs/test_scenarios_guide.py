"""The guide to scenarios tells the truth: its examples load, its tables are those of the code."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from arh.harness.authoring.assertion_rules import KINDS
from arh.harness.authoring.datasets import DatasetCatalogue
from arh.harness.authoring.known import EVALUATORS, NEVER_ACCEPTABLE
from arh.harness.authoring.lint import RULES as LINT_RULES
from arh.harness.authoring.lint import lint
from arh.harness.authoring.scenario_loader import LoadedSuite, load_scenarios
from arh.harness.vocabulary.rules import RULES
from arh.workflows.support.definition import PACK

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "scenarios.md").read_text("utf-8")
BLOCKS = [
    token.content
    for token in MarkdownIt().parse(PAGE)
    if token.type == "fence" and "json" in token.info
]
WHOLE: dict[str, Any] = json.loads(BLOCKS[0])
SCRIPTS = frozenset(
    json.loads(path.read_text("utf-8"))["config_id"]
    for path in ROOT.glob("fixtures/support/model_scripts/*.json")
)


def merged(value: Any, change: Any) -> Any:  # noqa: ANN401 - JSON
    """The value with the keys of a fragment in place of its own, objects merged."""
    if not isinstance(value, dict) or not isinstance(change, dict):
        return change
    return {**value, **{key: merged(value.get(key), item) for key, item in change.items()}}


def loaded(value: dict[str, Any], root: Path) -> LoadedSuite:
    """The suite of one scenario, written as one line where its category belongs."""
    folder = root / "support" / value["category"]
    folder.mkdir(parents=True)
    (folder / "example.jsonl").write_text(json.dumps(value) + "\n", "utf-8")
    return load_scenarios(root, pack=PACK, scripts=SCRIPTS, catalogue=catalogue(), rules=RULES)


def catalogue() -> DatasetCatalogue:
    """The repository's own data."""
    return DatasetCatalogue(ROOT / "datasets", PACK)


@pytest.mark.parametrize("at", range(len(BLOCKS)))
def test_every_example_loads(at: int, tmp_path: Path) -> None:
    """The first block is a whole scenario; each other one, put into it, is one as well."""
    value = merged(WHOLE, json.loads(BLOCKS[at])) if at else WHOLE

    assert len(loaded(value, tmp_path).scenarios) == 1


def test_the_whole_example_has_no_warnings(tmp_path: Path) -> None:
    """What the guide shows first is what it advises."""
    suite = loaded(WHOLE, tmp_path)
    as_of = suite.scenarios[0].scenario.last_review

    assert lint(suite, pack=PACK, catalogue=catalogue(), as_of=as_of) == ()


def test_the_table_of_assertions_is_that_of_the_code() -> None:
    """Kind, fields and meaning stand in the guide as the loader has them."""
    rows = {
        f"| `{kind}` | {', '.join(sorted(rule.fields))} | {rule.meaning} |".replace("|  |", "| |")
        for kind, rule in KINDS.items()
    }

    assert {re.sub(" +", " ", row) for row in rows} <= set(PAGE.splitlines())


def test_every_name_that_an_author_needs_is_there() -> None:
    """Evaluators, lint rules and what is never acceptable are all named."""
    rules = {rule.__name__.replace("_", "-") for rule in LINT_RULES}
    names = {*EVALUATORS, *NEVER_ACCEPTABLE, *rules}

    assert {name for name in names if f"`{name}`" not in PAGE} == set()
