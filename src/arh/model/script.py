"""A checked model script, ready to be followed: its rules and what each of them stands for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from arh.canonical import Json, JsonValue
from arh.model.guards import Guard
from arh.model.situation import Situation
from arh.records.decisions import Decision
from arh.regex import Regex


@dataclass(frozen=True, slots=True)
class CallPlan:
    """One tool call; `text` is its arguments as written, or `None` while templates are to fill."""

    tool: str
    arguments: JsonValue
    text: str | None


@dataclass(frozen=True, slots=True)
class Planned:
    """Calls to make, in order, with the text beside them."""

    plans: tuple[CallPlan, ...]
    text: str = ""


@dataclass(frozen=True, slots=True)
class Said:
    """Something to say that holds templates; a value that is no string is an envelope."""

    kind: Literal["final_answer", "ask_user", "refusal"]
    value: JsonValue


@dataclass(frozen=True, slots=True)
class Fixed:
    """A decision that is always the same."""

    decision: Decision


Then: TypeAlias = Planned | Said | Fixed


@dataclass(frozen=True, slots=True)
class Costs:
    """Tokens and milliseconds as far as they are stated."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    latency_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """If all guards hold, then this; `place` is where it stands in the file, as in `rules[3]`."""

    place: str
    guards: tuple[Guard, ...]
    then: Then
    costs: Costs = Costs()
    tests: tuple[Callable[[Situation], bool], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tests", tuple(guard.test() for guard in self.guards))

    def matches(self, situation: Situation) -> bool:
        """Return true if the situation meets every guard."""
        for test in self.tests:  # noqa: SIM110 - asked most often of all, and twice as fast
            if not test(situation):
                return False
        return True


@dataclass(frozen=True, slots=True)
class Script:
    """One file. `source` is the whole of it, whose digest identifies the configuration."""

    config_id: str
    rules: tuple[Rule, ...]
    costs: Costs
    bind: Mapping[str, Regex] = field(repr=False)
    source: Json = field(repr=False)
    file: str = ""
