"""What a seeded defect is, and the ways of planting one: in a run, in a suite, in what is authored.

A defect breaks one thing and names what must catch it. Its twin is the same run without it and must
come out clean, so that a check that always complains catches nothing. What is planted in a run is
stamped into its evidence. Nothing outside of `arh.testing` can reach any of this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias, TypedDict, Unpack

from arh.canonical import JsonValue
from arh.decision.profile import read_profile
from arh.errors import AuthoringError, Problem
from arh.harness.vocabulary.rules import RULES
from arh.ports.control import Evaluator
from arh.ports.sue import Agent
from arh.records.control.gate import GateDecision, Profile
from arh.records.control.verdict import ScenarioVerdict
from arh.testing.workbench import WALL_MS_MAX, Compose, Exercise, Patch, Session, Tried, Workbench

GATE: Final = "gate"
LOADER: Final = "loader"

Anything: TypeAlias = Any  # the JSON value of whatever a patch changes
MakeAgent = Callable[[], Agent]
MakeJudges = Callable[[Sequence[Evaluator]], Sequence[Evaluator]]
Decide = Callable[[Workbench, Session], GateDecision]
Read = Callable[[Workbench, bool], object]


@dataclass(frozen=True, slots=True)
class Catcher:
    """Who notices, and by what name: an evaluator by its rule, the gate by one of its gates, ..."""

    by: str
    name: str

    def __str__(self) -> str:
        """Read as one would cite it."""
        return f"{self.by}: {self.name}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a run, a suite or a text: whether all was well, and who noticed what."""

    clean: bool
    caught: frozenset[Catcher] = frozenset()


@dataclass(frozen=True, slots=True)
class Defect:
    """One seeded defect.

    `id` reads `group.what-is-wrong`, `breaks` is one sentence, `plant` makes the thing with the
    defect in it and `twin` without.
    """

    id: str
    breaks: str
    caught_by: Catcher
    plant: Callable[[Workbench], Outcome]
    twin: Callable[[Workbench], Outcome]

    @property
    def group(self) -> str:
        """What kind of thing is broken."""
        return self.id.split(".", 1)[0]


def rule(name: str) -> Catcher:
    """Return the evaluator that reports a rule.

    Raises:
        KeyError: There is no such rule.
    """
    return Catcher(RULES[name].evaluator, name)


# --- in a run ------------------------------------------------------------------------------------


class Parts(TypedDict, total=False):
    """What a run with a defect in it is made of; the twin has only what is called its own too.

    The defect is one of: an `agent`, a `composer` with a broken control, a model `script`, `judges`
    in place of the evaluators, or a scenario that is `broken`. The twin has `patch`, a change of
    the scenario, `exercise`, a model script, and `behaves`, an agent, as well. A hung agent is
    waited for `wall_ms_max`.
    """

    agent: MakeAgent
    composer: Compose
    script: Mapping[str, JsonValue]
    broken: Patch
    judges: MakeJudges
    patch: Patch
    exercise: Mapping[str, JsonValue]
    behaves: MakeAgent
    wall_ms_max: int


def in_run(
    identity: str, breaks: str, caught: str | Catcher, scenario: str, **parts: Unpack[Parts]
) -> Defect:
    """Return a defect in one run of a scenario of the suite.

    Args:
        identity: The defect's id, which the evidence carries.
        breaks: What is wrong, in one sentence.
        caught: The rule that must be reported, or whoever else must notice.
        scenario: The scenario's id.
        parts: The defect, and what it and its twin have in common.
    """
    catcher = caught if isinstance(caught, Catcher) else rule(caught)
    return Defect(
        identity,
        breaks,
        catcher,
        lambda bench: of_run(bench.tried(_planted(bench, identity, scenario, parts))),
        lambda bench: of_run(bench.tried(_whole(scenario, parts))),
    )


def _planted(bench: Workbench, identity: str, scenario: str, parts: Parts) -> Exercise:
    make, judges = parts.get("agent", parts.get("behaves")), parts.get("judges")
    return Exercise(
        scenario,
        patch=both(parts.get("patch"), parts.get("broken")),
        script=parts.get("script", parts.get("exercise")),
        agent=None if make is None else make(),
        composer=parts.get("composer"),
        evaluators=None if judges is None else judges(bench.suite.evaluators),
        defect=identity,
        wall_ms_max=parts.get("wall_ms_max", WALL_MS_MAX),
    )


def _whole(scenario: str, parts: Parts) -> Exercise:
    make = parts.get("behaves")
    agent = None if make is None else make()
    return Exercise(scenario, patch=parts.get("patch"), script=parts.get("exercise"), agent=agent)


def of_run(tried: Tried) -> Outcome:
    """Return what came of one run: what every finding was reported by, and every error."""
    verdict = tried.verdict
    found = {Catcher(RULES[name].evaluator, name) for name in tried.rules}
    errors = {Catcher(r.evaluator, "error") for r in verdict.results if r.status == "error"}
    return Outcome(verdict.status == "pass", frozenset(found | errors))


def both(*patches: Patch | None) -> Patch | None:
    """Return one patch that applies all of them in order, `None` if there is none."""
    given = [patch for patch in patches if patch is not None]
    if not given:
        return None

    def apply(value: dict[str, Anything]) -> None:
        for patch in given:
            patch(value)

    return apply


# --- in a suite, judged by gates -----------------------------------------------------------------


def in_suite(
    identity: str,
    breaks: str,
    gate: str,
    exercises: Sequence[Exercise],
    *,
    profile: str,
    planted: Sequence[Exercise] | None = None,
    decide: Decide | None = None,
) -> Defect:
    """Return a defect that a gate must keep from shipping.

    Args:
        identity: The defect's id.
        breaks: What is wrong, in one sentence.
        gate: The gate that may not pass.
        exercises: The runs of the twin, and of the defect unless `planted` names others.
        profile: The gates of both, as YAML.
        planted: The runs of the defect.
        decide: How the defect's decision is reached, where it is not from the runs as they are.
    """
    gates = read_profile(profile.encode(), file="given", rules=RULES).profile

    def plant(bench: Workbench) -> Outcome:
        given = exercises if planted is None else planted
        session = bench.session([replace(each, defect=identity) for each in given])
        reached = decide or _plainly(gates)
        return of_decision(reached(bench, session))

    def twin(bench: Workbench) -> Outcome:
        return of_decision(_plainly(gates)(bench, bench.session(exercises)))

    return Defect(identity, breaks, Catcher(GATE, gate), plant, twin)


def _plainly(profile: Profile) -> Decide:
    return lambda bench, session: bench.decide(session, profile)


def of_decision(decision: GateDecision) -> Outcome:
    """Return what came of a decision: the blocking gates that did not pass."""
    stopped = {
        Catcher(GATE, gate.gate)
        for gate in decision.gates
        if gate.severity == "blocking" and gate.status != "pass"
    }
    return Outcome(decision.decision == "pass", frozenset(stopped))


def without(name: str) -> Callable[[Sequence[ScenarioVerdict]], tuple[ScenarioVerdict, ...]]:
    """Return what drops the verdict on one scenario."""
    return lambda verdicts: tuple(v for v in verdicts if v.scenario_id != name)


# --- in what is authored -------------------------------------------------------------------------


def in_text(
    identity: str,
    breaks: str,
    caught: Catcher,
    *,
    read: Read,
) -> Defect:
    """Return a defect in something that is read: `read(bench, broken)` raises for what is wrong."""
    return Defect(
        identity,
        breaks,
        caught,
        lambda bench: of_reading(caught.by, lambda: read(bench, True)),  # noqa: FBT003 - broken
        lambda bench: of_reading(caught.by, lambda: read(bench, False)),  # noqa: FBT003 - whole
    )


def of_reading(by: str, read: Callable[[], object]) -> Outcome:
    """Return what came of reading something: the fields that were refused."""
    try:
        read()
    except AuthoringError as error:
        return Outcome(clean=False, caught=refused(by, error))
    return Outcome(clean=True)


def refused(by: str, error: AuthoringError) -> frozenset[Catcher]:
    """Return a catcher for every problem, by its field, else its line, else what was found."""
    return frozenset(Catcher(by, _place(problem)) for problem in error.problems)


def _place(problem: Problem) -> str:
    line = "" if problem.line is None else f"line {problem.line}"
    return problem.field or line or problem.found


def catchers(by: str, names: Iterable[str]) -> frozenset[Catcher]:
    """Return a catcher for each name."""
    return frozenset(Catcher(by, name) for name in names)
