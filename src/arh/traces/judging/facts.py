"""What several rules ask of one trace, worked out once: its calls, their identity, their texts.

Built for each trace and thrown away with it. Everything is linear in the trace, and nothing
recurses into recorded values: how deep they are is the recorder's choice.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Context, Decimal
from typing import Final, Literal, TypeAlias, final

from arh.canonical import JsonValue
from arh.traces.trace import Step, Trace, TraceRefused

Compat: TypeAlias = Literal["0.2"]
FEW: Final = 500

# Enough digits for the sum of any doubles that are no larger than 2^53: nothing is ever rounded.
_EXACT: Final = Context(prec=800)
# A double that is a whole number of billionths, below fifteen digits, was written as that decimal:
# such numbers are summed as integers, which takes a quarter of the time.
_SCALE: Final = 10**9
_SCALE_DIGITS: Final = -9
_SCALED_MAX: Final = 10**15
# What the C encoder escapes but for control characters, which have no other form.
_UNESCAPED: Final = ((b'\\"', b"\1"), (b"\\n", b"\n"), (b"\\r", b"\r"), (b"\\t", b"\t"))
_SORTED: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


@dataclass(slots=True)
class Facts:
    """A trace with what rules ask of it. `named` are the calls that name their tool, in order."""

    trace: Trace
    compat: Compat | None = None
    calls: list[Step] = field(default_factory=list)
    named: list[Step] = field(default_factory=list)
    by_tool: dict[str, list[Step]] = field(default_factory=dict)
    first: dict[str, int] = field(default_factory=dict)
    _groups: dict[str, dict[str, list[Step]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Find the calls."""
        self.calls = [step for step in self.trace.steps if step.type == "tool_call"]
        by_tool: defaultdict[str, list[Step]] = defaultdict(list)
        for step in self.calls:
            if step.tool_name:
                self.named.append(step)
                same = by_tool[step.tool_name]
                if not same:
                    self.first[step.tool_name] = len(self.named)
                same.append(step)
        self.by_tool = dict(by_tool)

    def anchor(self, step: Step) -> str:
        """Return the id that a finding on the step names."""
        if step.stable_id is None or self.compat:
            return step.step_id
        return step.stable_id

    def groups(self, tool: str) -> dict[str, list[Step]]:
        """Return the calls of a tool by their arguments.

        Numbers are compared by value: 10 and 10.0 are the same amount, whatever the recorder wrote.
        The key of a call that is alone in its group says nothing.
        """
        known = self._groups.get(tool)
        if known is None:
            known = self._groups[tool] = self._grouped(self.by_tool[tool])
        return known

    def all_differ(self, tool: str) -> bool:
        """Return whether no two calls of a tool look alike at a glance."""
        calls = self.by_tool[tool]
        return len(calls) == 1 or len(set(map(_glance, calls))) == len(calls)

    def _grouped(self, calls: list[Step]) -> dict[str, list[Step]]:
        """Return the groups: only calls that look alike at a glance are compared in full."""
        alike: defaultdict[object, list[Step]] = defaultdict(list)
        for step in calls:
            alike[_glance(step)].append(step)
        groups: dict[str, list[Step]] = {}
        if len(alike) == len(calls):
            return dict(zip(map(str, range(len(calls))), alike.values(), strict=True))
        for at, same in enumerate(alike.values()):
            if len(same) == 1:
                groups[f"{at}"] = same
                continue
            for step in same:
                groups.setdefault(self._identified(step), []).append(step)
        return groups

    def _identified(self, step: Step) -> str:
        arguments: JsonValue = step.arguments or {}
        if step.raw_arguments is not None:
            arguments = {"": step.raw_arguments}
        try:
            return _SORTED(arguments) if self.compat else identity(arguments)
        except (TypeError, ValueError, RecursionError) as error:
            raise TraceRefused.of(
                f"the arguments are no JSON value that can be compared: {type(error).__name__}",
                field=f"steps[{step.ordinal}].arguments",
            ) from None


def _glance(step: Step) -> object:
    """Return something that is equal for equal arguments, cheaply; nested ones all look alike."""
    try:
        return frozenset((step.arguments or {}).items())
    except TypeError:
        return None


def identity(value: JsonValue) -> str:
    """Return a text that two values share if they are equal: keys sorted, 10.0 written as 10."""
    text = _SORTED(value)
    return _SORTED(_numbers_by_value(value)) if ".0" in text or "e+" in text else text


def all_texts(values: list[JsonValue]) -> str:
    """Return every text and key within the values, with a line feed between any two.

    Numbers and punctuation may be in between too. Written as JSON by the C encoder and unescaped
    again by replacing, which takes half the time of walking.
    """
    try:
        data = _ENCODER.encode(values)
    except ValueError:
        data = None
    if data is None:
        return "\n".join(_gathered(values))
    data = data.replace(b"\\\\", b"\0") if b"\\" in data else data
    if b"\\" in data:
        for written, meant in _UNESCAPED:
            data = data.replace(written, meant)
        if b"\\" in data:
            return "\n".join(_gathered(values))
    return data.replace(b'"', b"\n").replace(b"\1", b'"').replace(b"\0", b"\\").decode()


@final
class _Encoder:
    """The C encoder, once there is enough to encode: importing it takes 40 ms."""

    __slots__ = ("_encode", "_left")

    def __init__(self) -> None:
        self._left = FEW
        self._encode: Callable[[object], bytes] | None = None

    def encode(self, values: list[JsonValue]) -> bytes | None:
        """Return the values as JSON, or `None` while they are few."""
        if self._encode is None:
            self._left -= 1
            if self._left >= 0:
                return None
            self._encode = _c_encoder()
        return self._encode(values)


def _c_encoder() -> Callable[[object], bytes]:
    from pydantic_core import to_json

    return to_json


_ENCODER: Final = _Encoder()


def _gathered(values: list[JsonValue]) -> list[str]:
    """Return every text and key within the values, in any order."""
    texts: list[str] = []
    waiting = list(values)
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            texts.append(item)
        elif isinstance(item, dict):
            texts.extend(item)
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
    return texts


def strings(value: JsonValue) -> Iterator[str]:
    """Yield the texts within a value that are not empty, in the order in which they are written."""
    if isinstance(value, str):
        if value:
            yield value
        return
    waiting: list[Iterator[JsonValue]] = [_items(value)]
    while waiting:
        for item in waiting[-1]:
            if isinstance(item, str):
                if item:
                    yield item
            elif isinstance(item, dict | list):
                waiting.append(_items(item))
                break
        else:
            waiting.pop()


def keys(value: JsonValue) -> Iterator[str]:
    """Yield every key within a value."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            yield from item
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)


def exact(number: float) -> Decimal:
    """Return the number that was written: the shortest text that reads back as this double."""
    return Decimal(number) if type(number) is int else Decimal(repr(number))


def total(numbers: list[float]) -> Decimal | int:
    """Return the exact sum of numbers as they were written: 0.1 and 0.2 are 0.3."""
    whole, parts, rest = 0, 0, Decimal(0)
    for number in numbers:
        if type(number) is int:
            whole += number
        elif (scaled := round(number * _SCALE)) < _SCALED_MAX and scaled / _SCALE == number:
            parts += scaled
        else:
            rest = _EXACT.add(rest, Decimal(repr(number)))
    if not parts and not rest:
        return whole
    return _EXACT.add(rest, _EXACT.add(Decimal(whole), Decimal(parts).scaleb(_SCALE_DIGITS)))


def plain(number: Decimal | float) -> str:
    """Return a number for a message, exactly and without an exponent."""
    value = exact(number) if isinstance(number, float) else Decimal(number)
    return f"{value.normalize(_EXACT):f}"


def _items(value: JsonValue) -> Iterator[JsonValue]:
    if isinstance(value, dict):
        return iter(value.values())
    return iter(value) if isinstance(value, list) else iter(())


def _numbers_by_value(value: JsonValue) -> JsonValue:
    """Return the value with each integral float as the integer that it equals."""
    if isinstance(value, dict):
        return {key: _numbers_by_value(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_numbers_by_value(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
