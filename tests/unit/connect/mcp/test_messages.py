"""MCP's messages at the border: the envelope is strict, and arguments stay as they were written."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arh.canonical import JsonValue
from arh.connect.mcp import messages
from arh.connect.mcp.messages import KEY_META, Faulty, Taken, take
from arh.tools.arguments import read_arguments


def call(arguments: str, *, meta: str = "") -> bytes:
    """Return the bytes of a call with these arguments."""
    beside = f',"_meta":{meta}' if meta else ""
    return (
        '{"jsonrpc":"2.0","id":1,"method":"tools/call",'
        f'"params":{{"name":"get_account","arguments":{arguments}{beside}}}}}'
    ).encode()


def carried(body: bytes) -> dict[str, object]:
    """Return what a call carries in place of its arguments."""
    taken = take(body)
    assert isinstance(taken, Taken), taken
    params = taken.message["params"]
    assert isinstance(params, dict)
    arguments = params["arguments"]
    assert isinstance(arguments, dict)
    return dict(arguments)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ('{"account_id":"A-1","account_id":"A-2"}', "duplicate key"),
        ('{"amount":{"of":1,"of":2}}', "duplicate key"),
        ('{"amount":NaN}', "malformed"),
        ('{"amount":-Infinity}', "malformed"),
        ('{"amount":9007199254740993}', "number beyond 2^53 - 1"),
        ('{"amount":123456789012345678901234567890}', "number beyond 2^53 - 1"),
        ('{"amount":100.0}', "integral float"),
        ('{"amount":1e2}', "integral float"),
        ('{"account_id":"\\ud800"}', "lone surrogate"),
        (f'{{"deep":{"[" * 80}{"]" * 80}}}', "too deep"),
        ("[]", "not an object"),
        ("null", "not an object"),
        ('"A-1007"', "not an object"),
    ],
)
def test_what_is_wrong_in_arguments_reaches_the_gateway(arguments: str, reason: str) -> None:
    """Nothing is repaired on the way: the gateway sees the fault, and names it."""
    assert read_arguments(carried(call(arguments))["text"]) == reason


def test_good_arguments_reach_the_gateway() -> None:
    """The twin of the above: what is right stays right, and means what it meant."""
    arguments: JsonValue = {
        "account_id": "A-1007",
        "text": 'Zoë 🦊 "x"\n',
        "n": [1, -2, 0.5, True, None, {}],
    }

    read = read_arguments(carried(call(json.dumps(arguments)))["text"])

    assert not isinstance(read, str)
    assert arguments == read[0]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(arguments=st.dictionaries(st.text(), JSON))
def test_arguments_are_carried_without_loss(arguments: dict[str, object]) -> None:
    """Whatever the arguments are, the text that is carried states the same value."""
    for written in (json.dumps(arguments), json.dumps(arguments, ensure_ascii=False)):
        if any("\ud800" <= char <= "\udfff" for char in written):
            continue

        assert arguments == json.loads(str(carried(call(written))["text"]))


@given(body=st.binary(max_size=200))
def test_no_bytes_are_too_strange(body: bytes) -> None:
    """Any bytes are a message or an error with a code and a reason."""
    taken = take(body)

    assert isinstance(taken, Taken) or (taken.code < 0 and taken.reason)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "no JSON: malformed"),
        (b"\xff\xfe", "no JSON: invalid UTF-8"),
        (b'"just text"', "a message is one object; batches are not taken"),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', "batches are not taken"),
        (b"[" * 200_000, "no JSON: too deep"),
        (call("[" * 500 + "]" * 500), "no JSON: too deep"),
        (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', "duplicate key"),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":NaN}}', "no strict JSON"),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":1e400}}', "no strict JSON"),
        (b'{"jsonrpc":"2.0","id":1}', "a message has no `method`"),
        (b'{"jsonrpc":"2.0","id":1,"method":["tools/call"]}', "a message has no `method`"),
        (b'{"jsonrpc":"2.0","method":"tools/call","params":{"name":"x"}}', "a call has no `id`"),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}', "a call has no `params`"),
        (
            b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{}}}',
            "a call needs the `name` of a tool",
        ),
        (call('{"a":1},"arguments":{"a":2}'), "duplicate key"),
        (call("{}", meta=f'{{"{KEY_META}":7}}'), f"`{KEY_META}` in `_meta` is no text"),
        (call("{}", meta=f'{{"{KEY_META}":"a","{KEY_META}":"b"}}'), "duplicate key"),
    ],
)
def test_an_envelope_that_is_not_strict_goes_nowhere(body: bytes, reason: str) -> None:
    """What two readers could understand differently is answered with an error."""
    taken = take(body)

    assert isinstance(taken, Faulty)
    assert reason in taken.reason


def test_two_params_are_not_one_call() -> None:
    """A call whose `params` are there twice is refused, whichever of them would be read."""
    body = call("{}").replace(b'"jsonrpc"', b'"params":{"name":"issue_credit"},"jsonrpc"')

    assert isinstance(take(body), Faulty)


def test_a_message_has_a_greatest_length(monkeypatch: pytest.MonkeyPatch) -> None:
    """A longer one is refused before it is read; one that just fits is taken."""
    body = call('{"account_id":"A-1007"}')
    monkeypatch.setattr(messages, "BODY_BYTES_MAX", len(body))

    assert isinstance(take(body), Taken)
    assert take(body + b" ") == Faulty(
        messages.INVALID_REQUEST, "a message is longer than the gateway takes"
    )


def test_depth_makes_no_token_dearer() -> None:
    """What is read is read in the server's one loop: nobody's nesting may hold up the others."""
    flat, deep = (call(f'{{"a":{"[" * n}{"1," * 150_000}1{"]" * n}}}') for n in (1, 100))

    assert seconds(deep) < 4 * seconds(flat)


def seconds(body: bytes) -> float:
    """Return the least processor time that three readings of a message took."""
    taken = []
    for _ in range(3):
        began = time.process_time()
        carried(body)
        taken.append(time.process_time() - began)
    return min(taken)


def test_the_idempotency_key_travels_beside_the_arguments() -> None:
    """A key in the request's metadata is carried; a call without one carries none."""
    with_key = carried(call("{}", meta=f'{{"{KEY_META}":"try-1"}}'))

    assert with_key == {"text": "{}", KEY_META: "try-1"}
    assert carried(call("{}")) == {"text": "{}"}


def test_a_call_without_arguments_has_none() -> None:
    """They are an empty object, as the protocol has it."""
    body = b'{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"get_account"}}'

    assert carried(body) == {"text": "{}"}


def test_an_error_is_addressed_to_whoever_asked() -> None:
    """The answer has the request's id where it could be read."""
    taken = take(b'{"jsonrpc":"2.0","id":7,"method":"tools/call"}')

    assert isinstance(taken, Faulty)
    assert taken.answer() == {
        "jsonrpc": "2.0",
        "id": 7,
        "error": {"code": messages.INVALID_PARAMS, "message": "a call has no `params`"},
    }
