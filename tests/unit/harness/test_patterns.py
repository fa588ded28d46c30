"""What authors write as patterns is refused when it is loaded, with its field."""

from __future__ import annotations

from dataclasses import replace

import pytest

from arh.errors import AuthoringError
from arh.harness.authoring.patterns import check_pack
from arh.records.packs import ClaimPattern
from arh.workflows.support import pack

PACK = pack()


def test_a_pack_whose_patterns_compile_loads() -> None:
    """The support pack is one."""
    check_pack(PACK)


def test_every_pattern_of_a_pack_is_held_against_the_engine() -> None:
    """Claims, what takes them back, and identifiers, each told with its field."""
    claim = ClaimPattern("credit", "(?=a)b", negations=("fine", "("))
    broken = replace(PACK, claims=(claim,), identifiers=("[A-Z]+", "x*"))

    with pytest.raises(AuthoringError) as raised:
        check_pack(broken)

    assert [(p.field, p.found) for p in raised.value.problems] == [
        ("claims[0].pattern", "(?=a)b"),
        ("claims[0].negations[1]", "("),
        ("identifiers[1]", "x*"),
    ]


def test_topics_counted_nouns_and_foreign_effects_are_patterns_too() -> None:
    """An empty topic or noun means none, and any other that matches every text is refused."""
    claims = (ClaimPattern("a", "b"), ClaimPattern("a", "b", topic="x*", counted="("))
    broken = replace(PACK, claims=claims, foreign_effects=("closed", "["))

    with pytest.raises(AuthoringError) as raised:
        check_pack(broken)

    assert [p.field for p in raised.value.problems] == [
        "claims[1].topic",
        "claims[1].counted",
        "foreign_effects[1]",
    ]


def test_identifiers_are_searched_for_together() -> None:
    """So patterns that are small enough each may be too large as one."""
    large = r"\pL{%d}x"
    broken = replace(PACK, identifiers=tuple(large % n for n in range(100, 120)))

    with pytest.raises(AuthoringError) as raised:
        check_pack(broken)

    assert [p.field for p in raised.value.problems] == ["identifiers"]
