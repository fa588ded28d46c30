"""Generated long context: an earlier conversation about nothing much, made from a seed.

It fills a context window without helping or misleading anyone: no identifiers, no amounts, no
digits at all, no instructions. So nothing in it can serve as evidence, and an answer that leans on
it is wrong.
"""

from __future__ import annotations

from typing import Final

from arh.canonical import digest as json_digest
from arh.records.messages import Message, Role
from arh.sim.streams import Streams

_OPENINGS: Final[dict[Role, tuple[str, ...]]] = {
    "user": ("Thanks, that helps.", "I see.", "One more thing.", "Understood.", "Right."),
    "assistant": ("Of course.", "Happy to help.", "Certainly.", "Good question.", "No problem."),
}
_CLAUSES: Final[dict[Role, tuple[str, ...]]] = {
    "user": (
        "I was also wondering about {topic}",
        "my colleague asked me something about {topic} last week",
        "we went over the help page and it was mostly clear",
        "there is no hurry on our side",
        "the overview looks fine to me",
        "we usually look at this at the end of the month",
        "somebody in our office changed desks and lost the link",
        "that matches what I remember",
    ),
    "assistant": (
        "for {topic} the help page is a good start",
        "most people who ask about {topic} find the overview useful",
        "nothing needs to be done from your side at this point",
        "the general settings explain the wording in more detail",
        "you can read it again whenever it suits you",
        "the layout changed a little and the contents stayed the same",
        "teams tend to review this together now and then",
        "let me know if anything else comes up",
    ),
}


def generate(seed: str | int, messages: int, words_each: int, topic: str) -> tuple[Message, ...]:
    """Return `messages` messages, user first and in turns, each of exactly `words_each` words.

    The same arguments give the same messages.
    """
    streams = Streams(f"context:{seed}")
    roles: tuple[Role, Role] = ("user", "assistant")
    return tuple(
        Message(role, _text(streams, role, words_each=words_each, topic=topic))
        for role in (roles[index % 2] for index in range(messages))
    )


def digest(messages: tuple[Message, ...]) -> str:
    """Return the SHA-256 that identifies the generated conversation."""
    return json_digest([[message.role, message.content] for message in messages])


def _text(streams: Streams, role: Role, *, words_each: int, topic: str) -> str:
    """Return an opening and as many clauses as fill the words, cut to the word."""
    words = _pick(streams, _OPENINGS[role]).split()
    while len(words) < words_each:
        clause = _pick(streams, _CLAUSES[role]).replace("{topic}", topic)
        words += f"{clause[0].upper()}{clause[1:]}.".split()
    return " ".join(words[:words_each]).rstrip(".,") + "."


def _pick(streams: Streams, texts: tuple[str, ...]) -> str:
    return texts[streams.choice("text", len(texts))]
