"""Whatever a client sends the model endpoint is a question or a fault, and streams lose nothing."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arh.canonical import JsonValue, line
from arh.connect.model_endpoint.http import DIALECTS
from arh.connect.model_endpoint.wire import Answer, Fault, Question, Turn, read_body
from arh.records.decisions import Usage
from arh.records.messages import ToolRequest
from tests.conformance.endpoint_client import (
    CHAT,
    MESSAGES,
    PATHS,
    RESPONSES,
    SAID,
    STREAM,
    WHOLE,
    events,
)

FAULT_CHARS_MAX = 2_000
REQUIRED: dict[str, dict[str, object]] = {CHAT: {}, RESPONSES: {}, MESSAGES: {"max_tokens": 9}}

scalars = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20)
values = st.recursive(
    scalars | st.sampled_from(["tool", "user", "text", "function", "assistant", "c-1"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["role", "type", "content", "text", "id", "call_id", "tool_calls", "input", "name"]
            )
            | st.text(max_size=5),
            inner,
            max_size=5,
        )
    ),
    max_leaves=15,
)
texts = st.text(st.characters(codec="utf-8"), max_size=200)
each_path = pytest.mark.parametrize("path", PATHS)


def read(path: str, body: object) -> Question | Fault:
    """Read a body as the endpoint does."""
    value = read_body(json.dumps(body).encode())
    dialect = DIALECTS[path.removeprefix("/v1")]
    return value if isinstance(value, Fault) else dialect.read(value)


@each_path
@given(values)
def test_no_body_breaks_the_reader(path: str, body: JsonValue) -> None:
    """A value of any shape is understood or refused, in a line of bounded length."""
    told = read(path, body)

    assert isinstance(told, (Question, Fault))
    assert not isinstance(told, Fault) or is_one_short_line(told.message)


@each_path
@given(st.data())
def test_no_change_of_a_good_body_breaks_the_reader(path: str, data: st.DataObject) -> None:
    """Any part of a whole conversation may be anything else."""
    body: Any = copy.deepcopy({"model": "any", **REQUIRED[path], **SAID[path]})
    places = list(places_in(body))
    holder, step = data.draw(st.sampled_from(places))
    holder[step] = data.draw(values)

    told = read(path, body)

    assert isinstance(told, (Question, Fault))
    assert not isinstance(told, Fault) or is_one_short_line(told.message)


@each_path
@given(text=texts, arguments=st.dictionaries(texts, texts, max_size=4), count=st.integers(0, 3))
def test_a_stream_is_its_whole_in_pieces(
    path: str, text: str, arguments: dict[str, str], count: int
) -> None:
    """Whatever a turn says, a client that puts the pieces together has exactly that."""
    written = line(dict(arguments)).decode()
    requests = tuple(ToolRequest(f"c-{at}", "tool", written) for at in range(count))
    turn = Turn(text, requests, "calls" if requests else "stop")
    question = Question((), "any", stream=True, stream_usage=True)
    answer = Answer(question, turn, Usage(7, 3, 2), "task-0001-0001", 1_234)
    dialect = DIALECTS[path.removeprefix("/v1")]
    whole, streamed = dialect.whole(answer), dialect.events(answer)

    assert isinstance(whole, dict)
    assert not isinstance(streamed, Fault)
    heard = STREAM[path](events(b"".join(streamed)))
    assert WHOLE[path](whole) == heard
    assert heard.text == text
    assert [call[2] for call in heard.calls] == [arguments] * count


def places_in(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Yield every place of a value: what holds it, and where in that."""
    steps = value.keys() if isinstance(value, dict) else range(len(value))
    for step in list(steps):
        yield value, step
        if isinstance(value[step], (dict, list)):
            yield from places_in(value[step])


def is_one_short_line(text: str) -> bool:
    """Tell whether a text can be shown as it is: printable, on one line, and not long."""
    return text.isprintable() and len(text) <= FAULT_CHARS_MAX
