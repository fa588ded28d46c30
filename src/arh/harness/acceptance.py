"""Which of a scenario's acceptable outcomes a run reached, and who could act in it.

Several evaluators ask this of the same evidence, so the answer has one place. An alternative is
reached if every assertion of it holds and the run ended as it demands; in three values, since an
assertion over what could not be read neither holds nor fails.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from arh.errors import safe
from arh.harness.assertion_kinds import Holds, Identities
from arh.harness.assertions import States, evaluate
from arh.records.control.evidence import Evidence
from arh.records.control.scenario import Assertion, OutcomeAlternative, Principal, Scenario
from arh.records.packs import WorkflowPack


@dataclass(frozen=True, slots=True)
class Judged:
    """One assertion with its answer."""

    assertion: Assertion
    answer: Holds


@dataclass(frozen=True, slots=True)
class Reached:
    """How one alternative came out; `misfit` says that the run ended in another way."""

    number: int
    holds: bool | None
    judged: tuple[Judged, ...]
    misfit: str = ""

    def against(self) -> tuple[str, ...]:
        """Return what speaks against this alternative, an undecided assertion only if alone."""
        wrong = [j for j in self.judged if j.answer.holds is False]
        open_ = [j for j in self.judged if j.answer.holds is None]
        answers = (j.answer for j in wrong or open_)
        texts = tuple(f"expected {a.expected}, found {a.found}" for a in answers)
        return (*texts, self.misfit) if self.misfit else texts

    def events(self) -> tuple[str, ...]:
        """Return the events that prove what does not hold."""
        return tuple(e for j in self.judged if not j.answer.holds for e in j.answer.events)


def states_of(evidence: Evidence, scenario: Scenario, pack: WorkflowPack) -> States:
    """Return the states of the run, with who may act in it and which fields hold money."""
    amounts = (tool.manifest.amount_argument for tool in pack.tools)
    return States(
        evidence.initial,
        evidence.final,
        evidence.commits,
        identities=identities(scenario),
        amounts=frozenset(name for name in amounts if name),
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
    judged = tuple(Judged(a, evaluate(a, states)) for a in alternative.all_of)
    misfit = _misfit(alternative, termination)
    answers = {each.answer.holds for each in judged}
    missed = bool(misfit) or False in answers or not judged
    holds = False if missed else None if None in answers else True
    return Reached(number, holds, judged, misfit)


def _misfit(alternative: OutcomeAlternative, termination: str) -> str:
    wanted = alternative.terminations
    if wanted is None or termination in wanted:
        return ""
    ends = " or ".join(map(safe, wanted))
    return f"expected the run to end as {ends}, it ended as {safe(termination)}"
