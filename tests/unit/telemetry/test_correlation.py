"""Tokens join what is equal within a run, and give nothing away."""

from __future__ import annotations

from arh.telemetry.correlation import MASKED, VALUES_MAX, RunMemory, correlate, run_key


def test_a_token_is_the_same_for_the_same_digest() -> None:
    """Attempt, decision and commit are joined by it."""
    run = RunMemory()

    assert [run.token(digest) for digest in ("aa", "bb", "aa", "")] == [
        "opaque-0001",
        "opaque-0002",
        "opaque-0001",
        "",
    ]


def test_a_key_makes_tokens_that_its_owner_can_check() -> None:
    """With the key the token can be computed again from the true digest."""
    key = run_key(b"secret", "run-1")

    assert RunMemory(key).token("aa") == correlate("aa", key)
    assert correlate("aa", key) != correlate("aa", run_key(b"secret", "run-2"))
    assert correlate("aa", key) != correlate("aa", run_key(b"other", "run-1"))


def test_states_are_exchanged_only_once_something_is_hidden_in_them() -> None:
    """The chain of states from the seeded one on stays whole."""
    run = RunMemory()
    before = [run.state(digest) for digest in ("s0", "s1")]
    run.tainted = True

    assert before == ["s0", "s1"]
    assert [run.state(digest) for digest in ("s1", "s2", "s2")] == [
        "s1",
        "opaque-0001",
        "opaque-0001",
    ]


def test_a_learned_value_is_found_again_as_a_word() -> None:
    """Longer values first; never inside another word, as a digest is one."""
    run = RunMemory()
    run.learn({"pin": 480_215, "list": ["4802-15", True, None, "abc", MASKED]})

    text = "is 480215 or 4802-15, not ff480215aa, abc, true"
    assert run.forget(text) == f"is {MASKED} or {MASKED}, not ff480215aa, abc, true"


def test_learning_has_an_end() -> None:
    """No run can make redaction slower and slower."""
    run = RunMemory()
    for number in range(VALUES_MAX + 10):
        run.learn(f"value-{number:06d}")

    assert run.forget(f"value-{VALUES_MAX - 1:06d}") == MASKED
    assert run.forget(f"value-{VALUES_MAX:06d}") == f"value-{VALUES_MAX:06d}"
