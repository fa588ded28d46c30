"""Which of a scenario's acceptable outcomes a run reached, and who could act in it.

Several evaluators ask this of the same evidence, so the answer has one place. An alternative is
reached if every assertion of it holds and the run ended as it demands; in three values, since an
assertion over what could not be read neither holds nor fails.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from arh.errors import safe
from arh.harness.vocabulary.assertion_kinds import Holds, Identities
from arh.harness.vocabulary.assertions import States, evaluate
from arh.records.control.evidence import Evidence
from arh.records.control.scenario import OutcomeAlternative, Principal, Scenario
from arh.records.packs import WorkflowPack


@dataclass(frozen=True, slots=True)
class Reached:
    """How one alternative came out; `misfit` says that the run ended in another way."""

    number: int
    holds: bool | None
    answers: tuple[Holds, ...]
    misfit: str = ""

    def wrong(self) -> tuple[Holds, ...]:
        """Return the answers that speak against this alternative, undecided ones if no other."""
        false = tuple(answer for answer in self.answers if answer.holds is False)
        return false or tuple(answer for answer in self.answers if answer.holds is None)

    def against(self) -> tuple[str, ...]:
        """Return in words what speaks against this alternative."""
        texts = tuple(f"expected {a.expected}, found {a.found}" for a in self.wrong())
        return (*texts, self.misfit) if self.misfit else texts

    def events(self) -> tuple[str, ...]:
        """Return the events that prove it."""
        return tuple(event for answer in self.wrong() for event in answer.events)


def states_of(evidence: Evidence, scenario: Scenario, pack: WorkflowPack) -> States:
    """Return the states of the run, with who may act in it and which fields hold money."""
    return States(
        evidence.initial,
        evidence.final,
        evidence.commits,
        identities=identities(scenario),
        amounts=pack.amounts,
    )


def reached(
    alternatives: Iterable[OutcomeAlternative], states: States, termination: str
) -> tuple[Reached, ...]:
    """Return how each alternative came out."""
    return tuple(
        _reached(number, alternative, states, termination)
        for number, alternative in enumerate(alternatives, 1)
    )


def any_holds(results: Iterable[Reached]) -> bool | None:
    """Return true if an alternative holds, false if none can, else `None`."""
    found = {result.holds for result in results}
    if True in found:
        return True
    return None if None in found else False


def identities(scenario: Scenario) -> Identities:
    """Return the (subject, tenant) pairs of everybody whom the scenario trusts to act."""
    return frozenset((who.caller, who.tenant) for who in principals(scenario).values())


def principals(scenario: Scenario) -> dict[str, Principal]:
    """Return the trusted principal of each named actor; the name "" stands for every other one."""
    default = scenario.trusted_environment.principal
    named = {actor.actor: actor.principal or default for actor in scenario.stimulus.actors}
    return named or {"": default}


def _reached(
    number: int, alternative: OutcomeAlternative, states: States, termination: str
) -> Reached:
    answers = tuple(evaluate(assertion, states) for assertion in alternative.all_of)
    misfit = _misfit(alternative, termination)
    found = {answer.holds for answer in answers}
    missed = bool(misfit) or False in found or not answers
    holds = False if missed else None if None in found else True
    return Reached(number, holds, answers, misfit)


def _misfit(alternative: OutcomeAlternative, termination: str) -> str:
    wanted = alternative.terminations
    if wanted is None or termination in wanted:
        return ""
    ends = " or ".join(map(safe, wanted))
    return f"expected the run to end as {ends}, it ended as {safe(termination)}"
