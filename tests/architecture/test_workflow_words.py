"""The core knows no workflow: no name, identifier or noun of a shipped pack stands in it.

The core is everything below `src/arh` but the packs themselves and the planted defects, which have
the packaged suite as their data. What is forbidden is read off the packs, so that a third one is
covered on the day that it is there. The exceptions are named, each with its reason, and one that is
no longer needed is a failure too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from arh import bootstrap
from arh.records.packs import WorkflowPack

SOURCE: Final = Path(__file__).resolve().parents[2] / "src" / "arh"
NOT_THE_CORE: Final = ("workflows", "testing/defects")
# What the workflows are about. What is also the harness's own word is left out: a store gives a
# receipt for a commit, an answer makes a claim, and a rule is a policy's.
NOUNS: Final[Mapping[str, tuple[str, ...]]] = {
    "support": ("ticket", "credit", "refund", "incident"),
    "expense": ("expense", "reimbursement", "payout", "claimant", "employee"),
}
THE_FORMAT: Final = "the published format of scenarios has a field of this name"
TEST_DATA: Final = "a kit's own data: a run, a pack or scenarios to try an implementation on"
EXCEPTIONS: Final[Mapping[str, tuple[frozenset[str], str]]] = {
    "bootstrap/suite.py": (frozenset({"support"}), "the workflow that is meant if none is named"),
    "harness/vocabulary/texts.py": (frozenset({"credit", "refund"}), "words of money, as fee is"),
    "records/published.py": (frozenset({"incident"}), THE_FORMAT),
    "records/control/scenario.py": (frozenset({"incident"}), THE_FORMAT),
    "telemetry/authored.py": (frozenset({"incident"}), THE_FORMAT),
    "harness/authoring/scenario_rules.py": (frozenset({"incident"}), THE_FORMAT),
    "testing/decision_kit.py": (frozenset({"credit", "incident"}), TEST_DATA),
    "testing/evidence_builder.py": (
        frozenset({"credit", "create_ticket", "incident", "support", "ticket"}),
        TEST_DATA,
    ),
    "testing/examples.py": (
        frozenset(
            {
                *("A-", "TK-", "create_ticket", "credit", "get_account", "incident"),
                *("issue_credit", "read:account", "support", "ticket", "write:credit"),
                "write:ticket",
            }
        ),
        TEST_DATA,
    ),
}
HUMP: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
PREFIX: Final = re.compile(r"\\b([A-Z]{1,4}-)\[0-9\]")


def names_of(pack: WorkflowPack) -> frozenset[str]:
    """The names that a pack makes: tools, milestones, policies, scopes."""
    documents = (str(document.value()) for _, document in pack.policies)
    scopes = {scope for text in documents for scope in re.findall(r"'scope': '([^']+)'", text)}
    made = {*pack.manifests, *(m.id for m in pack.milestones), *(name for name, _ in pack.policies)}
    return frozenset({*made, *scopes})


def prefixes_of(pack: WorkflowPack) -> frozenset[str]:
    """How a pack's identifiers begin."""
    return frozenset(p for pattern in pack.identifiers for p in PREFIX.findall(pattern))


@cache
def pattern_of(name: str) -> re.Pattern[str]:
    """What finds any word of a pack: names and prefixes as they are, nouns and its name loosely."""
    pack = bootstrap.load_pack(name)
    names, prefixes, nouns = (
        "|".join(sorted(map(re.escape, words), key=len, reverse=True))
        for words in (names_of(pack), prefixes_of(pack), NOUNS[name])
    )
    return re.compile(
        rf"(?<![\w:])(?P<name>{names})(?![\w:])"
        rf"|\b(?P<prefix>{prefixes})(?:[0-9]|\[0-9)"
        rf"|(?<![a-zA-Z])(?P<noun>(?i:{nouns}))(?:s|ed)?(?![a-z])"
        rf"|(?:[\"'`/]|--\w+[ =])(?P<pack>{name})(?:[\"'`/@]|-[a-z])"
    )


def words_in(text: str) -> frozenset[str]:
    """The words of all workflows that a source text holds; of a compound name, each part."""
    parted = f"{text}\n{HUMP.sub(' ', text)}\n{text.replace('_', ' ')}"
    return frozenset(
        found.groupdict()[str(found.lastgroup)].lower()
        if found.lastgroup in {"noun", "pack"}
        else found.groupdict()[str(found.lastgroup)]
        for name in NOUNS
        for found in pattern_of(name).finditer(parted)
    )


def core() -> list[str]:
    """The files of the core, as paths below `src/arh`."""
    files = (path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py"))
    return sorted(file for file in files if not file.startswith(NOT_THE_CORE))


def test_the_core_holds_no_word_of_a_workflow() -> None:
    """Neither in code, nor in a message, nor as an example in a docstring."""
    found = {file: words_in((SOURCE / file).read_text("utf-8")) for file in core()}
    allowed = {file: words for file, (words, _) in EXCEPTIONS.items()}

    assert {f: sorted(w) for f, w in found.items() if w - allowed.get(f, frozenset())} == {}
    assert {f: sorted(words - found[f]) for f, words in allowed.items() if words - found[f]} == {}


def test_every_shipped_workflow_is_looked_for() -> None:
    """A pack without nouns here would be half covered; and each noun is one that its pack uses."""
    shipped = {p.name for p in (SOURCE / "workflows").iterdir() if (p / "__init__.py").is_file()}

    assert shipped == set(NOUNS)
    for name, nouns in NOUNS.items():
        files = (SOURCE / "workflows" / name).rglob("*.py")
        text = "\n".join(file.read_text("utf-8") for file in files).lower()
        assert [noun for noun in nouns if noun not in text] == []


@pytest.mark.parametrize(
    ("planted", "word"),
    [
        ('if tool == "issue_credit":', "issue_credit"),
        ('"""As in create_reimbursement."""', "create_reimbursement"),
        ("SCOPE = 'write:review'", "write:review"),
        ('hint = "name it, as in TK-0042"', "TK-"),
        ('pattern = r"CLM-[0-9]+"', "CLM-"),
        ("open_tickets = 1", "ticket"),
        ("class ExpenseRules:", "expense"),
        ("# a Refunded one", "refund"),
        ('default="support"', "support"),
        ('hint="try --workflow support"', "support"),
        ('"expense@1"', "expense"),
        ('"support-agent"', "support"),
        ("`scenarios/expense/golden`", "expense"),
    ],
)
def test_a_planted_word_is_found(planted: str, word: str) -> None:
    """Each kind of word, wherever it stands."""
    assert word in words_in(planted)


@pytest.mark.parametrize(
    "harmless",
    [
        "this is supported, and supports that",
        "a receipt of the commit",
        "what an answer claims",
        "the policy's rules",
        "creditor",
        "UTC-8 and ISO-8601",
    ],
)
def test_a_word_of_the_harness_is_none_of_a_workflow(harmless: str) -> None:
    """The twins that are left alone."""
    assert words_in(harmless) == frozenset()
