"""What an agent did, as recorded: a trace, its steps, and notes on what a reader could not map.

Every format is read into these records, and every rule judges nothing else. `from_dict` reads the
canonical format, trace schema version 1: strict about types, silent about keys that it does not
know. It is written by hand because it runs for every step of every trace, where building a model
would cost more than all rules together.

What a record says about absence matters: `None` is "not recorded" and never zero, and the status
`unknown`, which only readers set, is a call whose result was not recorded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Final, Literal, TypeAlias, TypeGuard, cast

from arh.canonical import SAFE_INTEGER, JsonValue
from arh.errors import AuthoringError, closest

JsonObject: TypeAlias = "dict[str, JsonValue]"
StepType: TypeAlias = Literal["tool_call", "model_response"]
Status: TypeAlias = Literal["ok", "error", "unknown"]

SCHEMA_MAJOR: Final = "1"
STEP_TYPES: Final[tuple[StepType, ...]] = ("tool_call", "model_response")
STATUSES: Final[tuple[Status, ...]] = ("ok", "error")

_FREQUENT: Final = ("step_id", "arguments", "tool_name", "text", "error")
_FIGURES: Final = ("latency_ms", "cost_usd", "input_tokens", "output_tokens")
_REQUIRED: Final = ("trace_id", "agent_name", "workflow", "steps")


class TraceRefused(AuthoringError, ValueError):  # noqa: N818 - the answer of a strict reader
    """A document is no trace of schema version 1; says where and why."""


@dataclass(frozen=True, slots=True)
class Note:
    """Something in the source that became no step or field; reports show it.

    `kind` is a short snake_case name (`unmatched_tool_result`). `pointer` is the place in the
    source as in `messages[3].content[0]`, `step_id` the step it belongs to, if any. `content` is
    text that was recorded there: safety patterns scan it, since dropping it would hide it.
    """

    kind: str
    detail: str = ""
    pointer: str = ""
    step_id: str | None = None
    content: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One tool call with its result, or one text of the model.

    `step_id` is the recorded one (in provider formats the provider's, which need not be unique and
    differs from run to run). `stable_id` is the same in every run of the same conversation, where a
    reader can say so; findings are anchored at `anchor`. `ordinal` counts from 0.
    `raw_arguments` is the text of arguments that are no JSON object (then `arguments` is `None`).
    """

    step_id: str
    type: StepType
    status: Status = "ok"
    tool_name: str | None = None
    arguments: JsonObject | None = None
    output: JsonValue = None
    text: str | None = None
    error: str | None = None
    latency_ms: float | None = None
    cost_usd: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    citations: tuple[JsonValue, ...] = ()
    requires_grounding: bool = False
    metadata: JsonObject = field(default_factory=dict)
    ordinal: int = 0
    stable_id: str | None = None
    raw_arguments: str | None = None

    @property
    def anchor(self) -> str:
        """The id that findings name."""
        return self.step_id if self.stable_id is None else self.stable_id

    @classmethod
    def from_dict(cls, data: object, *, path: str = "step", ordinal: int = 0) -> Step:
        """Return the step that a JSON object states.

        Raises:
            TraceRefused: A field is missing or has another type than the schema says; its JSON path
                begins with `path`.
        """
        if not isinstance(data, dict):
            raise _wrong(path, "an object", data)
        get = data.get
        for name in ("step_id", "type"):
            if name not in data:
                raise _missing(path, name)
        kind = get("type")
        if kind not in STEP_TYPES:
            raise _no_word(f"{path}.type", STEP_TYPES, kind)
        given, arguments, tool, text, error = map(get, _FREQUENT)
        latency, cost, used, made = map(get, _FIGURES)
        # The frequent cases are decided here: a call for each field would double the time.
        draft = _Draft(
            step_id=given if type(given) is str else str(given),
            type=kind,
            status="ok" if error is None and get("status") is None else _status(data, path),
            tool_name=tool if tool is None else _optional_text(tool, path, "tool_name"),
            arguments=arguments if type(arguments) is dict else _optional_object(arguments, path),
            output=get("output"),
            text=text if text is None else _optional_text(text, path, "text"),
            error=error if error is None else _optional_text(error, path, "error"),
            latency_ms=None if latency is None else _amount(latency, path, "latency_ms"),
            cost_usd=None if cost is None else _amount(cost, path, "cost_usd"),
            input_tokens=None if used is None else _count(used, path, "input_tokens"),
            output_tokens=None if made is None else _count(made, path, "output_tokens"),
            citations=_citations(get("citations"), path) if "citations" in data else (),
            requires_grounding="requires_grounding" in data and _flag(data, path),
            metadata=_object_or_empty(get("metadata"), path) if "metadata" in data else {},
            ordinal=ordinal,
        )
        # A frozen record sets each field through a call, which takes longer than all else here.
        draft.__class__ = cls  # type: ignore[assignment]  # the same fields in the same order
        return cast("Step", draft)


@dataclass(slots=True)
class _Draft:
    """A step before it is frozen."""

    step_id: str
    type: StepType
    status: Status
    tool_name: str | None
    arguments: JsonObject | None
    output: JsonValue
    text: str | None
    error: str | None
    latency_ms: float | None
    cost_usd: float | None
    input_tokens: int | None
    output_tokens: int | None
    citations: tuple[JsonValue, ...]
    requires_grounding: bool
    metadata: JsonObject
    ordinal: int
    stable_id: str | None = None
    raw_arguments: str | None = None


@dataclass(frozen=True, slots=True)
class Trace:
    """What one run of an agent did, in order.

    `source` is whatever the recorder wrote there. `offered_tools` are the tools that the agent
    could have called, where the recording says so: it decides whether "was not called" means
    anything. `notes` say what a reader could not map.
    """

    trace_id: str
    agent_name: str
    workflow: str
    steps: tuple[Step, ...]
    schema_version: str = SCHEMA_MAJOR
    source: JsonValue = None
    metadata: JsonObject = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    offered_tools: tuple[str, ...] | None = None

    @classmethod
    def from_dict(cls, data: object, *, consumed: bool = False) -> Trace:
        """Return the trace that a JSON object of trace schema version 1 states.

        A caller that has no more use for the object says `consumed`: its steps are dropped one by
        one, so that a long trace is not held twice.

        Raises:
            TraceRefused: It is no such object.
        """
        if not isinstance(data, dict):
            raise _wrong("", "a trace object", data)
        version = supported_version(data.get("schema_version"), "trace")
        for name in _REQUIRED:
            if name not in data:
                raise _missing("", name)
        steps = data["steps"]
        if not isinstance(steps, list):
            raise _wrong("steps", "a list", steps)
        return cls(
            trace_id=_as_text(data["trace_id"]),
            agent_name=_as_text(data["agent_name"]),
            workflow=_as_text(data["workflow"]),
            steps=tuple(
                Step.from_dict(step, path=f"steps[{at}]", ordinal=at)
                for at, step in enumerate(_dropped(steps) if consumed else steps)
            ),
            schema_version=version,
            source=data.get("source"),
            metadata=_object_or_empty(data.get("metadata"), ""),
        )


def _dropped(steps: list[JsonValue]) -> Iterator[JsonValue]:
    """Yield every element, none of which the list holds any more."""
    steps.reverse()
    while steps:
        yield steps.pop()


def supported_version(value: object, kind: str) -> str:
    """Return the schema version as text; absent or null is version 1.

    Raises:
        TraceRefused: Its major version is not the one that this build supports.
    """
    version = SCHEMA_MAJOR if value is None else _as_text(value)
    if version.partition(".")[0] != SCHEMA_MAJOR:
        raise TraceRefused.of(
            f"{kind} declares unsupported schema_version {version!r} "
            f"(this build supports major version {SCHEMA_MAJOR!r})",
            field="schema_version",
        )
    return version


def shown_type(value: object) -> str:
    """Return what kind of JSON value it is, for messages."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return {str: "text", int: "a number", float: "a number", list: "a list", dict: "an object"}.get(
        type(value), type(value).__name__
    )


def _status(data: Mapping[str, object], path: str) -> Status:
    """Return the status, which an error implies where it is not stated."""
    status = data.get("status")
    if status is None:
        return "error" if data.get("error") else "ok"
    if status == "ok":
        return "ok"
    if status == "error":
        return "error"
    raise _no_word(f"{path}.status", STATUSES, status)


def _as_text(value: object) -> str:
    """Return an identifier as text; recorders write numbers and null too."""
    return value if isinstance(value, str) else str(value)


def _optional_text(value: object, path: str, name: str) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise _wrong(f"{path}.{name}", "text or null", value)


def _optional_object(value: object, path: str) -> JsonObject | None:
    if value is None or isinstance(value, dict):
        return value
    raise _wrong(f"{path}.arguments", "an object or null", value)


def _object_or_empty(value: object, path: str) -> JsonObject:
    if not value:
        return {}
    if isinstance(value, dict):
        return value
    raise _wrong(f"{path}.metadata" if path else "metadata", "an object", value)


def _amount(value: object, path: str, name: str) -> float:
    """Return a duration or cost; what a double cannot hold exactly as an integer is no such."""
    if _is_number(value) and 0 <= value <= SAFE_INTEGER:
        return value
    raise _no_number(value, f"{path}.{name}", "a finite number of at least 0, or null")


def _count(value: object, path: str, name: str) -> int:
    """Return a number of tokens; `5.0` is 5."""
    if type(value) is int and 0 <= value <= SAFE_INTEGER:
        return value
    if type(value) is float and 0 <= value <= SAFE_INTEGER and value == int(value):
        return int(value)
    raise _no_number(value, f"{path}.{name}", "a whole number of at least 0, or null")


def _is_number(value: object) -> TypeGuard[int | float]:
    """Return whether it is a JSON number: true is none."""
    return type(value) is int or type(value) is float


def _citations(value: object, path: str) -> tuple[JsonValue, ...]:
    """Return the citations; text is not a list of its letters."""
    if not value:
        return ()
    if isinstance(value, list):
        return tuple(value)
    raise _wrong(f"{path}.citations", "a list or null", value)


def _flag(data: Mapping[str, object], path: str) -> bool:
    value = data["requires_grounding"]
    if value is None or value is False:
        return False
    if value is True:
        return True
    raise _wrong(f"{path}.requires_grounding", "true or false", value)


def _missing(path: str, name: str) -> TraceRefused:
    where = f"{path}.{name}" if path else name
    return TraceRefused.of("", expected="a value", field=where, hint=f"add the field `{name}`")


def _wrong(where: str, expected: str, value: object) -> TraceRefused:
    return TraceRefused.of(shown_type(value), expected=expected, field=where)


def _no_number(value: object, where: str, expected: str) -> TraceRefused:
    shown = shown_type(value)
    if isinstance(value, float):
        shown = repr(value) if isfinite(value) else f"{value} (not finite)"
    elif isinstance(value, int) and not isinstance(value, bool):
        shown = str(value) if abs(value) <= SAFE_INTEGER else "a number beyond 2^53 - 1"
    return TraceRefused.of(shown, expected=expected, field=where)


def _no_word(where: str, words: tuple[str, ...], value: object) -> TraceRefused:
    shown = value if isinstance(value, str) else shown_type(value)
    hint = closest(value, words) if isinstance(value, str) else ""
    return TraceRefused.of(shown, expected=" or ".join(words), field=where, hint=hint)
