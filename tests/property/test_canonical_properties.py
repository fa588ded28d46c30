"""Laws of canonical JSON over generated values and texts, with `rfc8785` and `json` as referees."""

from __future__ import annotations

import json
from collections.abc import Callable

import rfc8785
from hypothesis import example, given
from hypothesis import strategies as st

from arh.canonical import (
    DEPTH_MAX,
    SAFE_INTEGER,
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

Values = st.SearchStrategy[JsonValue]

INTEGERS = st.integers(-SAFE_INTEGER, SAFE_INTEGER)
FLOATS = st.floats(-float(SAFE_INTEGER), float(SAFE_INTEGER)) | st.floats(-1e-3, 1e-3)
# Few characters on each side of every border, so that keys meet: ASCII, BMP, beyond it.
TEXTS = st.text() | st.text('a1\n"\x7fé\u0301\u2028\ue000\ufb33\U00010000\U0001f600', max_size=3)
SCALARS: Values = st.none() | st.booleans() | INTEGERS | FLOATS | TEXTS
FEW: Values = st.sampled_from([None, True, False, 0, 1, -0.0, 1.0, 1.5, "", "1", "é", "e\u0301"])


def containers(scalars: Values, keys: st.SearchStrategy[str]) -> Values:
    """Lists and dictionaries over the scalars, at any depth."""
    return st.recursive(
        scalars,
        lambda inner: st.lists(inner, max_size=5) | st.dictionaries(keys, inner, max_size=5),
        max_leaves=20,
    )


VALUES = containers(SCALARS, TEXTS)
SMALL_VALUES = containers(FEW, st.sampled_from(["", "1", "é", "e\u0301"]))
STRANGE: st.SearchStrategy[object] = st.sampled_from(
    [(), b"", {1: 2}, {None: 1}, 1j, float("nan"), float("inf"), 2**53, -1e16, "\ud800", {"\ud800"}]
)
ANYTHING = st.recursive(
    SCALARS | STRANGE,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=10,
)
NEAR_JSON = st.text('{}[]",:\\ \nu0123456789abcdefDd8-+.eEtrufalsn\u00e9\ufeff', max_size=30)


def refusal(f: Callable[[], object]) -> Reason | None:
    """Why the call is refused, None if it is not; whatever else it raises fails the test."""
    try:
        f()
    except Refused as refused:
        return refused.reason
    return None


def same(one: object, other: object) -> bool:
    """Whether two JSON values are equal: numbers by value, and no boolean is a number."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and one == other


def strictly(text: bytes) -> object:
    """Read JSON with the standard library and every rule of ours on top; ValueError if not so."""
    value: object = json.loads(
        text.decode(),
        object_pairs_hook=without_duplicates,
        parse_constant=float.fromhex,
    )
    expect_in_domain(value, 0)
    return value


def without_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """The dictionary of the pairs, if each key stands once."""
    if len(dict(pairs)) < len(pairs):
        raise ValueError
    return dict(pairs)


def expect_in_domain(value: object, depth: int) -> None:
    """ValueError if a number, string or depth is outside the domain."""
    if isinstance(value, dict | list):
        items = [*value, *value.values()] if isinstance(value, dict) else value
        for item in items:
            expect_in_domain(item, depth + 1)
    if isinstance(value, str):
        value.encode()
    inside = not isinstance(value, int | float) or -SAFE_INTEGER <= value <= SAFE_INTEGER
    if not inside or (depth == DEPTH_MAX and isinstance(value, dict | list)):
        raise ValueError


@given(VALUES)
@example({"\U0001f600": 1, "\ufb33": 2})
@example([1e-4, 9.999999999999999e-5, -1e-4, 1e-6, 1e-7, 0.5, 9007199254740990.5, 1e15])
def test_encoding_is_that_of_the_reference(value: JsonValue) -> None:
    """The fast way and the library give the same bytes."""
    assert rfc8785.dumps(value) == encode(value)


@given(st.floats(1e-7, float(SAFE_INTEGER)))
def test_a_float_is_written_as_by_the_reference(number: float) -> None:
    """The claim about Python's floats holds around both of its borders."""
    assert rfc8785.dumps([number, -number]) == encode([number, -number])


@given(VALUES)
def test_canonical_bytes_are_their_own_canonical_form(value: JsonValue) -> None:
    """C(parse(C(x))) = C(x), and reading them gives the value itself."""
    data = encode(value)

    assert data == encode(parse(data)) == Json.read(data).data
    assert same(parse(data), value)


@given(SMALL_VALUES, SMALL_VALUES)
def test_digests_are_equal_exactly_when_values_are(one: JsonValue, other: JsonValue) -> None:
    """No two values share a digest, and no value has two."""
    assert same(one, other) == (digest(one) == digest(other)) == (Json.of(one) == Json.of(other))


@given(st.dictionaries(TEXTS, SCALARS))
def test_the_order_of_keys_does_not_matter(value: dict[str, JsonValue]) -> None:
    """A dictionary filled the other way round has the same bytes."""
    assert encode(value) == encode(dict(reversed(value.items())))


@given(VALUES)
def test_a_json_gives_its_value_back(value: JsonValue) -> None:
    """Frozen and decoded, it is the same value; so it is when read from any JSON of it."""
    made = Json.of(value)

    assert same(made.value(), value)
    assert made == Json.read(json.dumps(value)) == Json.read(json.dumps(value, indent=1).encode())


@given(VALUES)
def test_a_line_is_one_line_and_reads_back(value: JsonValue) -> None:
    """Evidence can be split at line feeds and parsed strictly."""
    written = line(value)

    assert b"\n" not in written
    assert same(parse(written), value)


@given(ANYTHING)
def test_check_passes_exactly_what_is_encoded(value: object) -> None:
    """The two never disagree, and nothing but a refusal is raised."""
    assert refusal(lambda: check(value)) == refusal(lambda: encode(value))


@given(ANYTHING)
def test_what_is_encoded_is_read_back(value: object) -> None:
    """Whatever gets through the checks in memory gets through those of the parser."""
    if refusal(lambda: encode(value)) is None:
        assert encode(parse(encode(value))) == encode(value)


@given(st.binary(max_size=40) | NEAR_JSON.map(str.encode) | VALUES.map(encode))
@example(b"70e17")
@example(b'{"\\ud800":1}')
@example(b"\xef\xbb\xbf1")
@example(b"-0.0")
def test_reading_agrees_with_a_strict_reference(text: bytes) -> None:
    """The same texts are refused, and the others have the same value."""
    try:
        expected = strictly(text)
    except ValueError:
        assert refusal(lambda: parse(text)) is not None
    else:
        assert same(expected, parse(text))


@given(VALUES.map(encode), st.data())
def test_a_spoiled_text_is_read_as_the_reference_does(text: bytes, data: st.DataObject) -> None:
    """One byte changed, lost or put in: still the same answer."""
    at = data.draw(st.integers(0, len(text)))
    byte = data.draw(st.binary(max_size=1))
    kept = data.draw(st.integers(0, 1))

    test_reading_agrees_with_a_strict_reference.hypothesis.inner_test(  # type: ignore[attr-defined]
        text[:at] + byte + text[at + kept :]
    )


@given(VALUES)
def test_integral_floats_are_found_wherever_they_are(value: JsonValue) -> None:
    """A text is refused on request exactly when a number in it has a point or exponent in vain."""
    text = json.dumps(value)
    literals: list[str] = []
    json.loads(text, parse_float=literals.append)

    expected = any(float(literal).is_integer() for literal in literals)
    assert expected == (refusal(lambda: parse(text, integral_floats=False)) == "integral float")
