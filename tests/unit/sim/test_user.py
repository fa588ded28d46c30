"""The scripted user says the first unused turn that matches, and fails as itself when none does."""

from __future__ import annotations

import pytest

from arh.canonical import JsonValue
from arh.errors import AuthoringError
from arh.ports.environment import UserReply
from arh.records.messages import Message, ToolReply
from arh.sim.user import ScriptedUser, check_turns

Turn = dict[str, JsonValue]


def say(text: str, **when: JsonValue) -> Turn:
    """Return a turn."""
    return {"when": dict(when), "say": text, "done": False}


def agent(*texts: str) -> tuple[Message, ...]:
    """Return a conversation in which the agent says these things."""
    return (Message("user", "help"), *(Message("assistant", text) for text in texts))


def said(user: ScriptedUser, *texts: str) -> list[str]:
    """Return what the user answers to each of these in turn, `-` for a hang-up, `!` for failure."""
    out = []
    for text in texts:
        reply = user.reply(agent(text))
        out.append("!" if reply.error else reply.message.content if reply.message else "-")
    return out


def test_turns_without_guards_are_said_in_order_and_then_the_user_hangs_up() -> None:
    """Each is used once."""
    user = ScriptedUser([say("one"), say("two")])

    assert said(user, "a", "b", "c", "d") == ["one", "two", "-", "-"]


def test_guards_pick_the_turn() -> None:
    """The number of the answer, a part of the agent's message in any case, a pattern."""
    turns = [
        say("A-1", agent_contains="which ACCOUNT"),
        say("third", turn=3),
        say("yes", agent_matches=r"\bconfirm(ed)?\b"),
    ]
    user = ScriptedUser(turns)

    answers = said(user, "Please confirm.", "Which account is it?", "So?")

    assert answers == ["yes", "A-1", "third"]


def test_every_guard_of_a_turn_must_hold() -> None:
    """A turn for the second answer about accounts is not said to the first."""
    user = ScriptedUser([say("x", turn=2, agent_contains="account"), say("y")])

    assert said(user, "account", "account") == ["y", "x"]


def test_a_user_without_a_matching_turn_has_failed() -> None:
    """With turns left and none that matches, the failure is the user's and says so."""
    user = ScriptedUser([say("x", agent_contains="account")])

    reply = user.reply(agent("hello"))

    assert reply == UserReply(error="no turn matches")


def test_a_turn_may_end_the_conversation() -> None:
    """With or without a last word."""
    user = ScriptedUser([{"say": "bye", "done": True}, {"when": {}, "say": None, "done": True}])

    assert user.reply(agent("x")) == UserReply(Message("user", "bye"), done=True)
    assert user.reply(agent("x")) == UserReply(None, done=True)


def test_only_the_agents_last_visible_message_counts() -> None:
    """Neither its earlier messages nor tool traffic nor the system prompt are heard."""
    user = ScriptedUser([say("x", agent_contains="secret")])
    conversation = (
        Message("system", "secret"),
        Message("assistant", "secret"),
        Message("assistant", "hello"),
        Message("tool", "secret", reply=ToolReply("c", "t", "executed", "ok")),
        Message("assistant", ""),
        Message("user", "secret"),
    )

    assert user.reply(conversation).error == "no turn matches"


def test_a_pattern_is_linear_in_the_agents_text() -> None:
    """A pattern that would explode elsewhere does not here, and a hostile text is only text."""
    user = ScriptedUser([say("x", agent_matches=r"^(a+)+$"), say("y")])

    assert said(user, "a" * 5_000 + "!") == ["y"]


@pytest.mark.parametrize(
    ("turn", "problem"),
    [
        ({"say": ""}, "`turns[0]`: a turn says something or is `done`"),
        ({"say": "x", "wen": {}}, "`turns[0]`: unknown field `wen`; did you mean `when`?"),
        (
            say("x", agent_contain="y"),
            "`turns[0].when.agent_contain`: an unknown guard; did you mean `agent_contains`?",
        ),
        (say("x", turn=0), "`turns[0].when.turn`: expected a count from 1, found `0`"),
        (say("x", turn=True), "`turns[0].when.turn`: expected a count from 1, found `True`"),
        (
            say("x", agent_contains=""),
            "`turns[0].when.agent_contains`: expected a text that is not empty, found nothing",
        ),
        (
            say("x", agent_matches="(?<=a)b"),
            (
                "`turns[0].when.agent_matches`: expected an RE2 pattern, found `(?<=a)b`; "
                "RE2 has no look-around: (?<="
            ),
        ),
        ({"say": "x", "when": [1]}, "`turns[0].when`: expected an object of guards, found `[1]`"),
    ],
)
def test_a_turn_that_cannot_be_meant_is_refused(turn: Turn, problem: str) -> None:
    """Every mistake names its field, and a user with one is not made."""
    assert list(map(str, check_turns([turn]))) == [problem]
    with pytest.raises(AuthoringError):
        ScriptedUser([turn])
