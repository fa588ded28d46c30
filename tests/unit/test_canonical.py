"""Strict JSON in, RFC 8785 bytes out: each refusal with its reason, each vector with its bytes."""

from __future__ import annotations

import copy
import json
import pickle
import struct
from collections import OrderedDict
from collections.abc import Callable
from enum import IntEnum, StrEnum

import pytest
import rfc8785

from arh.canonical import (
    CONTAINERS_MAX,
    DEPTH_MAX,
    EMPTY,
    SAFE_INTEGER,
    SIZE_MAX,
    Json,
    JsonValue,
    Reason,
    Refused,
    check,
    digest,
    encode,
    line,
    parse,
)


class Colour(StrEnum):
    """A string that is more than a string."""

    RED = "red"


class Level(IntEnum):
    """An integer that is more than an integer."""

    HIGH = 1


def nested(depth: int) -> JsonValue:
    """Lists within lists, so many containers deep."""
    value: JsonValue = []
    for _ in range(depth - 1):
        value = [value]
    return value


def name(value: object) -> str | None:
    """A short name for a text in a test's id."""
    return repr(value[:30]) if isinstance(value, bytes) else None


def refusal(f: Callable[[], object]) -> Refused:
    """What the call is refused with."""
    with pytest.raises(Refused) as raised:
        f()
    return raised.value


HOSTILE: list[tuple[bytes, Reason]] = [
    (b'{"a":1,"a":2}', "duplicate key"),
    (b'{"a":1,"\\u0061":2}', "duplicate key"),
    (b'{"x":{"a":1,"b":2,"a":1}}', "duplicate key"),
    (b"NaN", "malformed"),
    (b"[-Infinity]", "malformed"),
    (b'{"a":Infinity}', "malformed"),
    (b"1e400", "not finite"),
    (b"-1e400", "not finite"),
    (b"9" * 400 + b".5", "not finite"),
    (b"9007199254740992", "number beyond 2^53 - 1"),
    (b"-9007199254740992", "number beyond 2^53 - 1"),
    (b"9007199254740993", "number beyond 2^53 - 1"),
    (b"9007199254740992.0", "number beyond 2^53 - 1"),
    (b"70e17", "number beyond 2^53 - 1"),
    (b"-1e16", "number beyond 2^53 - 1"),
    (b"9" * 4_000, "number beyond 2^53 - 1"),
    (b"9" * 5_000, "number beyond 2^53 - 1"),
    (b"-" + b"9" * 5_000, "number beyond 2^53 - 1"),
    (b'"\\ud800"', "lone surrogate"),
    (b'"\\udc00"', "lone surrogate"),
    (b'"\\ud83d\\ud83d"', "lone surrogate"),
    (b'"\\ud800\\n"', "lone surrogate"),
    (b'{"\\ud800":1}', "lone surrogate"),
    (b'"\xed\xa0\x80"', "invalid UTF-8"),
    (b'"\xff"', "invalid UTF-8"),
    (b'"\xc0\x80"', "invalid UTF-8"),
    (b'"\xf4\x90\x80\x80"', "invalid UTF-8"),
    (b'"\xe2\x82"', "invalid UTF-8"),
    (b'{"\xff":1}', "invalid UTF-8"),
    (b"\xef\xbb\xbf1", "byte order mark"),
    (b"\xef\xbb\xbf", "byte order mark"),
    (b"\xfe\xff\x001", "malformed"),
    (b'"\x00"', "control character in a string"),
    (b'"\n"', "control character in a string"),
    (b'"\x1f"', "control character in a string"),
    (b"1 2", "trailing text"),
    (b"{}\x00", "trailing text"),
    (b"1\x0c", "trailing text"),
    (b"nulll", "trailing text"),
    (b"0x10", "trailing text"),
    (b"1_0", "trailing text"),
    (b"{}//", "trailing text"),
    (b"", "cut short"),
    (b" \n", "cut short"),
    (b"[1", "cut short"),
    (b'{"a":', "cut short"),
    (b'"abc', "cut short"),
    (b"tru", "cut short"),
    (b"1.", "cut short"),
    (b"1e+", "cut short"),
    (b"-", "cut short"),
    (b"\x00", "malformed"),
    (b"01", "malformed"),
    (b"-01", "malformed"),
    (b".5", "malformed"),
    (b"+1", "malformed"),
    (b"[1,]", "malformed"),
    (b'{"a":1,}', "malformed"),
    (b"[1 2]", "malformed"),
    (b"{a:1}", "malformed"),
    (b"{1:2}", "malformed"),
    (b"{'a':1}", "malformed"),
    (b'"\\x41"', "malformed"),
    (b"/**/1", "malformed"),
    (b"\xc2\xa01", "malformed"),
    (b"[" * 65 + b"]" * 65, "too deep"),
    (b'{"a":' * 65 + b"1" + b"}" * 65, "too deep"),
    (b"[" * 199 + b"]" * 199, "too deep"),
    (b"[" * 100_000, "too deep"),
    (b'{"a":' * 100_000, "too deep"),
]


@pytest.mark.parametrize(("text", "reason"), HOSTILE, ids=name)
def test_a_hostile_text_is_refused_for_its_reason(text: bytes, reason: Reason) -> None:
    """Each text of the corpus is refused, by parsing and by reading alike."""
    assert refusal(lambda: parse(text)).reason == reason
    assert refusal(lambda: Json.read(text)).reason == reason


@pytest.mark.parametrize("text", ["\ud800", '"\udfff"', '{"\ud800":1}'])
def test_a_string_that_utf8_cannot_hold_is_refused(text: str) -> None:
    """A lone surrogate in a text given as `str` is one in the value."""
    assert refusal(lambda: parse(text)).reason == "lone surrogate"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"null", None),
        (b" [true, false] \r\n", [True, False]),
        (b"-0", 0),
        (b"9007199254740991", SAFE_INTEGER),
        (b"-9007199254740991.0", -float(SAFE_INTEGER)),
        (b"1e-400", 0.0),
        (b'"\\u0000\\u007f/\\/"', "\x00\x7f//"),
        (b'"\\ud83d\\ude00"', "😀"),
        ('{"é":"é"}', {"é": "é"}),
        ('{"é":1,"e\u0301":2}', {"é": 1, "e\u0301": 2}),
        (b'{"":{"":[]}}', {"": {"": []}}),
        (b"[" * 64 + b"]" * 64, nested(64)),
    ],
)
def test_what_is_json_is_read(text: bytes | str, expected: JsonValue) -> None:
    """Up to the very limits; nothing is normalised, so two spellings of é are two keys."""
    assert expected == parse(text)


def test_a_text_may_be_as_long_as_the_limit() -> None:
    """The size counts bytes of UTF-8, and is looked at before anything is parsed."""
    assert parse(b'"abcd"', size_max=6) == "abcd"
    assert parse('"éé"', size_max=6) == "éé"
    assert refusal(lambda: parse(b'"abcde"', size_max=6)).reason == "too large"
    assert refusal(lambda: parse('"ééé"', size_max=6)).reason == "too large"
    assert refusal(lambda: parse("[" * 100, size_max=6)).reason == "too large"
    assert refusal(lambda: parse(b" " * (16 * 2**20 + 1))).reason == "too large"


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (b"1.0", ""),
        (b"-0.0", ""),
        (b"1e2", ""),
        (b"0.0", ""),
        (b"100e-2", ""),
        (b'{"a":[1,{"amount":5.0}]}', "a[1].amount"),
        (b'{"a b":{"\\u00e9\\n":1e0}}', '["a b"]["\\u00e9\\n"]'),
        (b"[[1.5,2.0]]", "[0][1]"),
    ],
)
def test_an_integral_float_is_refused_on_request(text: bytes, path: str) -> None:
    """Where integers and floats must not be confused, the path says which one it was."""
    found = refusal(lambda: parse(text, integral_floats=False))

    assert ("integral float", path) == (found.reason, found.path)
    assert parse(text) is not None


def test_the_path_leads_past_what_is_allowed() -> None:
    """A number that is no fault stays none while the fault is looked for."""
    assert refusal(lambda: parse(b"[9007199254740991.0,1e17]")).path == "[1]"


def test_other_numbers_are_read_without_integral_floats() -> None:
    """Integers and floats with a fraction are not concerned."""
    assert parse(b"[1,-0,1.5,-2.5e-3]", integral_floats=False) == [1, 0, 1.5, -0.0025]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'{"secret":1,"secret":2}', "duplicate key at line 1 column 22"),
        (
            b'{"a at line 9 column 9":1,\n"a at line 9 column 9":2}',
            "duplicate key at line 2 column 24",
        ),
        (b"[1,\n 2,\n x]", "malformed at line 3 column 2"),
        (b'{"secret":1e999}', "not finite"),
        (b'"secret', "cut short at line 1 column 7"),
        (b'{"secret":[1e17]}', "number beyond 2^53 - 1"),
    ],
)
def test_a_refusal_says_where_and_quotes_nothing(text: bytes, message: str) -> None:
    """The message is made of our own words and numbers, whatever the text holds."""
    assert message == str(refusal(lambda: parse(text)))


def test_a_refusal_survives_pickling() -> None:
    """A worker process can hand it over whole."""
    found = refusal(lambda: check({"a": [()]}))
    again = pickle.loads(pickle.dumps(found))  # noqa: S301 - our own bytes

    assert vars(found) == vars(again) == vars(Refused("not a JSON type", path="a[0]"))


CYCLE: dict[str, object] = {}
CYCLE["again"] = [CYCLE]


@pytest.mark.parametrize(
    ("value", "reason", "path"),
    [
        ((1, 2), "not a JSON type", ""),
        ({"a": [0, (1,)]}, "not a JSON type", "a[1]"),
        ({"a": {1, 2}}, "not a JSON type", "a"),
        ([b"bytes"], "not a JSON type", "[0]"),
        ([Colour.RED], "not a JSON type", "[0]"),
        ([Level.HIGH], "not a JSON type", "[0]"),
        ({"a": OrderedDict()}, "not a JSON type", "a"),
        (EMPTY, "not a JSON type", ""),
        (object(), "not a JSON type", ""),
        (1j, "not a JSON type", ""),
        ({"a": {1: 2}}, "key is not a string", "a"),
        ({None: 1}, "key is not a string", ""),
        ({True: 1}, "key is not a string", ""),
        ({Colour.RED: 1}, "key is not a string", ""),
        ([float("nan")], "not finite", "[0]"),
        (float("-inf"), "not finite", ""),
        (SAFE_INTEGER + 1, "number beyond 2^53 - 1", ""),
        ([[-SAFE_INTEGER - 1]], "number beyond 2^53 - 1", "[0][0]"),
        ([10**5_000], "number beyond 2^53 - 1", "[0]"),
        (1e16, "number beyond 2^53 - 1", ""),
        ("\ud800", "lone surrogate", ""),
        ({"a": ["ok", {"b": "\udfff"}]}, "lone surrogate", "a[1].b"),
        ({"a": {"\ud800": 1}}, "lone surrogate", "a"),
        ({"é": ["\ud800"]}, "lone surrogate", '["\\u00e9"][0]'),
        ([SAFE_INTEGER, -SAFE_INTEGER, 2**53], "number beyond 2^53 - 1", "[2]"),
        ([float(SAFE_INTEGER), -float(SAFE_INTEGER), 2.0**53], "number beyond 2^53 - 1", "[2]"),
        ([1.0, [], {}, True, None, "x", ()], "not a JSON type", "[6]"),
        ([1.0, "\ud800"], "lone surrogate", "[1]"),
        (nested(65), "too deep", ""),
        (CYCLE, "too deep", ""),
    ],
)
def test_a_value_outside_the_domain_is_refused(value: object, reason: Reason, path: str) -> None:
    """By every way in; the path leads to the culprit, or to the dictionary whose key it is."""
    for f in (check, encode, digest, Json.of):
        found = refusal(lambda f=f: f(value))  # type: ignore[misc]

        assert (reason, path) == (found.reason, found.path)


def test_a_value_that_unfolds_without_end_is_refused() -> None:
    """Sixty lists, each of which holds the next one twice, do not keep us busy for ever."""
    value: list[object] = []
    for _ in range(60):
        value = [value, value]

    assert refusal(lambda: check(value)).reason == "too many containers"


def test_the_same_list_may_stand_in_two_places() -> None:
    """Sharing is no cycle."""
    shared = ["x"]

    assert encode({"a": shared, "b": shared}) == b'{"a":["x"],"b":["x"]}'


def test_the_largest_values_are_encoded() -> None:
    """64 containers deep, and as many containers as are allowed, are fine."""
    assert encode(nested(DEPTH_MAX)) == b"[" * 64 + b"]" * 64
    assert len(encode([[] for _ in range(CONTAINERS_MAX - 2)])) == 3 * (CONTAINERS_MAX - 2) + 1


@pytest.mark.parametrize(
    ("bits", "expected"),
    [
        ("0000000000000000", "0"),
        ("8000000000000000", "0"),
        ("0000000000000001", "5e-324"),
        ("8000000000000001", "-5e-324"),
        ("4340000000000001", None),
        ("7fefffffffffffff", None),
        ("7fffffffffffffff", None),
        ("7ff0000000000000", None),
        ("44b52d02c7e14af5", None),
        ("3eb0c6f7a0b5ed8d", "0.000001"),
        ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
        ("41b3de4355555553", "333333333.3333332"),
        ("41b3de4355555554", "333333333.33333325"),
        ("41b3de4355555555", "333333333.3333333"),
        ("41b3de4355555556", "333333333.3333334"),
        ("41b3de4355555557", "333333333.33333343"),
        ("becbf647612f3696", "-0.0000033333333333333333"),
    ],
)
def test_the_number_vectors_of_the_rfc_hold(bits: str, expected: str | None) -> None:
    """RFC 8785 appendix B, with what lies beyond our domain refused (None)."""
    (number,) = struct.unpack(">d", bytes.fromhex(bits))
    if expected is None:
        assert refusal(lambda: encode(number)).reason in {"not finite", "number beyond 2^53 - 1"}
    else:
        assert encode(number) == expected.encode()


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (1.0, "1"),
        (1e15, "1000000000000000"),
        (0.0001, "0.0001"),
        (0.00001, "0.00001"),
        (-0.000099, "-0.000099"),
        (1.5e-7, "1.5e-7"),
        (0.1, "0.1"),
        (4503599627370495.5, "4503599627370495.5"),
        (SAFE_INTEGER, "9007199254740991"),
        (-1, "-1"),
    ],
)
def test_numbers_are_written_as_ecmascript_does(number: float, expected: str) -> None:
    """On both sides of the border between the encoders."""
    assert encode({"n": [number]}) == f'{{"n":[{expected}]}}'.encode()


def test_ordinary_values_need_no_slow_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only integral and tiny floats and characters beyond U+FFFF are left to the library."""
    monkeypatch.setattr(rfc8785, "dumps", lambda _: b"slow")

    assert encode({"é": ["漢", 1, -2.5, 0.0001]}) == '{"é":["漢",1,-2.5,0.0001]}'.encode()
    assert [encode(value) for value in (1.0, 0.00001, ["😀"])] == [b"slow"] * 3


def test_keys_are_sorted_by_their_utf16_units() -> None:
    """The vector of RFC 8785 section 3.2.3: U+1F600 stands before U+FB33, though it is larger."""
    value = {
        "\u20ac": "Euro Sign",
        "\r": "Carriage Return",
        "\ufb33": "Hebrew Letter Dalet With Dagesh",
        "1": "One",
        "\U0001f600": "Emoji: Grinning Face",
        "\u0080": "Control",
        "\u00f6": "Latin Small Letter O With Diaeresis",
    }

    expected = ["\r", "1", "\u0080", "\u00f6", "\u20ac", "\U0001f600", "\ufb33"]
    assert expected == list(json.loads(encode(value)))


def test_the_example_of_the_rfc_holds() -> None:
    """RFC 8785 section 3.2.2, less the number beyond our domain."""
    text = r"""{
        "numbers": [333333333.33333329, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
        "literals": [null, true, false]
    }"""

    expected = (
        r'{"literals":[null,true,false],"numbers":[333333333.3333333,4.5,0.002,1e-27],'
        r'"string":"€$\u000f\nA' + "'" + r'B\"\\\\\"/"}'
    )
    assert Json.read(text).data == expected.encode()


def test_strings_are_escaped_as_little_as_possible() -> None:
    """Only quotes, backslashes and the 32 controls; what is separate stays separate."""
    assert (
        encode('\x00\x08\t\n\x0b\x0c\r\x1f"\\/\x7f\u2028é')
        == (r'"\u0000\b\t\n\u000b\f\r\u001f\"\\/' + '\x7f\u2028é"').encode()
    )
    assert encode("é") != encode("e\u0301")


def test_the_digest_is_that_of_the_bytes() -> None:
    """SHA-256, in hexadecimal, the same by both ways."""
    expected = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"

    assert expected == digest({}) == EMPTY.digest


def test_a_line_keeps_the_order_and_holds_no_line_feed() -> None:
    """Evidence lines are compact, in the order of insertion, and split at line feeds only."""
    event = {"seq": 1, "at_ms": 2, "text": "a\nb\rc\u2028é", "kind": Colour.RED, "share": 1.0}

    expected = '{"seq":1,"at_ms":2,"text":"a\\nb\\rc\u2028é","kind":"red","share":1.0}'
    assert expected.encode() == line(event)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"a": "\ud800"}, "lone surrogate"),
        ({"a": object()}, "not a JSON type"),
        ({"a": CYCLE}, "too deep"),
        ({"a": Colour, "b": Colour.RED}, "not a JSON type"),
        (Level, "not a JSON type"),
    ],
)
def test_a_line_that_cannot_be_written_is_refused(value: object, reason: Reason) -> None:
    """The refusal is the one that `check` gives."""
    assert refusal(lambda: line(value)).reason == reason


@pytest.mark.parametrize("value", [{"a": float("nan")}, {"a": float("inf")}, {"a": 2**53}])
def test_a_number_that_no_reader_takes_is_found_when_the_line_is_read(value: object) -> None:
    """A line is not walked when it is written; its strict reader refuses it."""
    assert refusal(lambda: parse(line(value))).reason in {"malformed", "number beyond 2^53 - 1"}


def test_a_json_is_what_it_was_made_of() -> None:
    """Data, digest and value agree; keys come back sorted and integral floats as integers."""
    made = Json.of({"b": [1.0, None], "a": "é"})

    assert made.data == '{"a":"é","b":[1,null]}'.encode()
    assert made.digest == digest({"a": "é", "b": [1, None]})
    assert made.value() == {"a": "é", "b": [1, None]}
    assert made == Json.read(b'{ "b": [1, null], "a": "\\u00e9" }')


def test_a_json_does_not_share_its_value() -> None:
    """Neither what it was made of nor what it gave out can change it."""
    source: dict[str, JsonValue] = {"a": [1]}
    made = Json.of(source)
    given = made.value()
    source["a"] = 2
    assert isinstance(given, dict)
    given["a"] = 3

    assert made.value() == {"a": [1]}


@pytest.mark.parametrize("name", ["data", "digest", "_digest", "other"])
def test_a_json_does_not_change(name: str) -> None:
    """No attribute can be set or deleted, and none made up."""
    made = Json.of([1])
    with pytest.raises(AttributeError):
        setattr(made, name, b"{}")
    with pytest.raises(AttributeError):
        delattr(made, name)

    assert made == Json.of([1])


def test_a_json_is_made_only_through_its_checks() -> None:
    """Bytes that nobody looked at do not become one."""
    with pytest.raises(TypeError):
        Json()


def test_a_json_is_equal_by_its_value() -> None:
    """As a key too; other types, also its own bytes, are never equal to it."""
    one, same, other = Json.of({"a": 1}), Json.of({"a": 1.0}), Json.of({"a": True})

    assert {one, same, other} == {one, other}
    assert hash(one) != hash(other)
    assert one != one.data


def test_a_json_is_its_own_copy() -> None:
    """Copying costs nothing, deep or not, also inside a record."""
    made = Json.of({"a": 1})

    assert copy.copy(made) is made
    assert copy.deepcopy([made])[0] is made


def test_a_json_survives_pickling() -> None:
    """What comes out of a pickle went through the checks again."""
    made = Json.of({"a": [1, 2.5, "é"]})

    large = Json.of("a" * SIZE_MAX)

    assert pickle.loads(pickle.dumps([made, large])) == [made, large]  # noqa: S301 - our own bytes
    forged = pickle.dumps(made).replace(b'"a"', b'"a,')
    with pytest.raises(Refused):
        pickle.loads(forged)  # noqa: S301 - our own bytes, spoiled


def test_a_json_shows_no_content() -> None:
    """Its repr tells digest and size, so that a secret cannot get into a log through it."""
    assert repr(Json.of({"password": "hunter2"})) == "<Json 7881d759c44f 22 bytes>"
