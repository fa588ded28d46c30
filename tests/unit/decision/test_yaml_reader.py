"""Profiles are read from a YAML that has one meaning, and every refusal names its line."""

from __future__ import annotations

import pytest

from arh.decision.yaml_reader import BYTES_MAX, DEPTH_MAX, read_yaml
from arh.errors import AuthoringError


def refusal(data: bytes) -> str:
    """What the reader says against it."""
    with pytest.raises(AuthoringError) as caught:
        read_yaml(data, file="p.yaml")
    return str(caught.value)


def test_plain_values_come_back_with_their_lines() -> None:
    """YAML 1.2: only true and false are truth values."""
    document = read_yaml(b"a: 1\nb:\n  - 0.98\n  - yes\n  - true\n  - null\n  - -3\n", file="p")

    assert document.value == {"a": 1, "b": [0.98, "yes", True, None, -3]}
    assert document.line_of(("b", 0)) == 3
    assert document.line_of(("b", 9, "c")) == 2


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"a: 1\na: 2\n", "p.yaml:2: `a`: `a` stands here twice; keep one of them"),
        (b"a:\n  - b: 1\n    b: 2\n", "p.yaml:3: `a[0].b`: `b` stands here twice"),
        (b"a:\n  - b: .nan\n", "p.yaml:2: `a[0].b`: `.nan` is not an exact decimal number"),
        (b"a: &x 1\nb: *x\n", "p.yaml:1: an anchor is not accepted"),
        (b"a: *x\n", "p.yaml:1: an alias is not accepted; write the value out"),
        (
            b"a: !!python/object:os.system 1\n",
            "p.yaml:1: `a`: `1` of the type `python/object:os.system`",
        ),
        (b"a: !own {}\n", "p.yaml:1: `a`: the tag `!own` is not accepted"),
        (b"a: 2020-01-01\n", "p.yaml:1: `a`: `2020-01-01` of the type `timestamp`"),
        (b"--- 1\n--- 2\n", "p.yaml:2: one document a file is accepted"),
        (b"<<: {a: 1}\n", "p.yaml:1: a key is a plain word"),
        (b"1: 2\n", "p.yaml:1: a key is a plain word"),
        (b"? [a]\n: 1\n", "p.yaml:1: a key is a plain word"),
        (b"", "p.yaml: there is nothing in this file"),
        (b"# only a comment\n", "p.yaml: there is nothing in this file"),
        (b"a: [1\n", "p.yaml:2: this is not YAML"),
        (b"a: b: c\n", "p.yaml:1: this is not YAML"),
        (b"\xff\xfe", "p.yaml: this file is not UTF-8 text"),
        (b"\x00", "p.yaml: this is not YAML"),
        (b"x" * (BYTES_MAX + 1), f"p.yaml: this file is larger than {BYTES_MAX} bytes"),
        (b"[" * 100_000, f"p.yaml:1: this is nested more than {DEPTH_MAX} deep"),
        (b"a: [" + b"1," * 30_000 + b"]", "p.yaml:1: there are more than"),
    ],
)
def test_what_has_more_than_one_meaning_is_refused(data: bytes, said: str) -> None:
    """Nothing of it is guessed at, and nothing of it is built first."""
    assert refusal(data).startswith(said)


@pytest.mark.parametrize(
    "text", [".nan", ".inf", "-.inf", "0x10", "0o7", "1_000", ".5", "5.", "012", "1e400", "+.1"]
)
def test_a_number_is_plain_decimal(text: str) -> None:
    """What other readers would take for something else is refused."""
    assert "is not an exact decimal number" in refusal(f"a: {text}\n".encode())


def test_a_number_that_no_double_holds_is_refused() -> None:
    """What is compared is what was written, so a longer decimal must not be rounded in silence."""
    assert "at most 15 digits" in refusal(b"a: 0.1000000000000000055\n")
    assert "at most 15 digits" in refusal(b"a: 12345678901234567890\n")


def test_every_mistake_is_told_at_once() -> None:
    """Two wrong lines are two problems."""
    assert refusal(b"a: .nan\nb: 0x1\n").count("\n") == 1
