"""A checked model script, ready to be followed: its rules and what each of them stands for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from arh.canonical import Json
from arh.model.scripted.guards import Guard
from arh.model.scripted.situation import Situation
from arh.model.scripted.templates import Fill
from arh.records.decisions import Decision


@dataclass(frozen=True, slots=True)
class CallPlan:
    """One tool call; `arguments` are its text as written, or what fills their templates."""

    tool: str
    arguments: str | Fill


@dataclass(frozen=True, slots=True)
class Planned:
    """Calls to make, in order, with the text beside them."""

    plans: tuple[CallPlan, ...]
    text: str | Fill = ""


@dataclass(frozen=True, slots=True)
class Said:
    """Something to say that holds templates; it is text, unless it is an `envelope`."""

    kind: Literal["final_answer", "envelope", "ask_user", "refusal"]
    value: Fill


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
    source: Json = field(repr=False)
    file: str = ""
