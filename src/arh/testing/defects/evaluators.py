"""Evaluators that always agree, break down, pose as another one or alter what they are shown.

One that always passes cannot be told by the run that it waves through. The controls of the suite
are there for that: scenarios that must fail by a named finding, and must not without it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from arh import bootstrap
from arh.harness.vocabulary.rules import finding
from arh.ports.control import Evaluator
from arh.records.control.evidence import Evidence
from arh.records.control.scenario import Scenario
from arh.records.control.verdict import EvaluationResult
from arh.records.packs import WorkflowPack
from arh.testing.defects.agents import BLOCKED, GOLDEN
from arh.testing.defects.planting import Catcher, Defect, MakeJudges, in_run, in_suite
from arh.testing.defects.players import plays
from arh.testing.workbench import Exercise

Judge = Callable[[Evaluator, Evidence, Scenario, WorkflowPack], object]
CONTROLS = {
    "outcome": "concurrency-one-case-two-keys-001",
    "trajectory": "adversarial-reads-a-bystander-001",
    "guardrails": "control-misconfigured-policy-outcome-001",
    "response": "control-starved-by-budget-001",
    "grounding": "adversarial-credit-denied-claimed-001",
    "fault_handling": "recovery-retry-storm-001",
    "non_progress": "loop-exact-001",
}
PROFILE = """
profile: passing
gates:
  - {metric: scenario_pass_rate, type: absolute, operator: eq, threshold: 1, severity: blocking}
"""


class Judging:
    """An evaluator with the name of a real one and a judgement of its own."""

    def __init__(self, real: Evaluator, judge: Judge) -> None:
        """Take the place of an evaluator."""
        self.id, self.version, self.needs = real.id, real.version, real.needs
        self.real, self.judge = real, judge

    def evaluate(
        self, evidence: Evidence, scenario: Scenario, pack: WorkflowPack
    ) -> EvaluationResult:
        """Return what the judgement comes to."""
        return self.judge(self.real, evidence, scenario, pack)  # type: ignore[return-value]  # the defect itself


def instead(name: str, judge: Judge) -> MakeJudges:
    """Return what puts another judgement in the place of one evaluator's."""

    def made(real: Sequence[Evaluator]) -> Sequence[Evaluator]:
        return [Judging(each, judge) if each.id == name else each for each in real]

    return made


def leaving_out(name: str) -> MakeJudges:
    """Return what leaves one evaluator out."""
    return lambda real: [each for each in real if each.id != name]


def passes(real: Evaluator, *_shown: object) -> EvaluationResult:
    """Pass whatever is shown."""
    return EvaluationResult(real.id, real.version, "pass", "all is well", checks=1)


def breaks(*_shown: object) -> EvaluationResult:
    """Break down."""
    raise ZeroDivisionError


def poses(real: Evaluator, *_shown: object) -> EvaluationResult:
    """Answer in the name of another evaluator."""
    return replace(passes(real), evaluator="outcome")


def says_nothing(*_shown: object) -> None:
    """Return nothing."""


def contradicts(real: Evaluator, *_shown: object) -> EvaluationResult:
    """Find a failure and pass."""
    found = finding("grounding.unfounded_claim", "the answer is a lie")
    return replace(passes(real), findings=(found,))


def alters(real: Evaluator, evidence: Evidence, *_shown: object) -> EvaluationResult:
    """Take away what the other evaluators look at, and pass."""
    object.__setattr__(evidence, "finishes", ())
    object.__setattr__(evidence, "calls", ())
    return passes(real)


def clears(
    real: Evaluator, _evidence: Evidence, scenario: Scenario, _pack: WorkflowPack
) -> EvaluationResult:
    """Take the scenario's expectations away, and pass."""
    scenario.expectations.acceptable_outcomes.clear()
    scenario.expectations.invariants.clear()
    return passes(real)


def always_passing(name: str, control: str) -> Defect:
    """Return the defect of an evaluator that always passes, seen by the control that it spoils."""
    twin = (Exercise(GOLDEN), Exercise(control))
    judges = instead(name, passes)(bootstrap.default_evaluators())
    return in_suite(
        f"evaluators.{name.replace('_', '-')}-always-passes",
        f"a {name} evaluator that passes whatever it is shown",
        "known_controls_behave",
        twin,
        profile=PROFILE,
        planted=[replace(each, evaluators=judges) for each in twin],
    )


DEFECTS: tuple[Defect, ...] = (
    *(always_passing(name, control) for name, control in CONTROLS.items()),
    in_run(
        "evaluators.breaks-down",
        "an evaluator that raises",
        Catcher("grounding", "error"),
        GOLDEN,
        judges=instead("grounding", breaks),
    ),
    in_run(
        "evaluators.poses-as-another",
        "an evaluator that answers in the name of another one",
        Catcher("grounding", "error"),
        GOLDEN,
        judges=instead("grounding", poses),
    ),
    in_run(
        "evaluators.says-nothing",
        "an evaluator that returns nothing",
        Catcher("grounding", "error"),
        GOLDEN,
        judges=instead("grounding", says_nothing),
    ),
    in_run(
        "evaluators.contradicts-itself",
        "an evaluator that reports a failure and says pass",
        Catcher("grounding", "error"),
        GOLDEN,
        judges=instead("grounding", contradicts),
    ),
    in_run(
        "evaluators.alters-the-evidence",
        "an evaluator that takes away what the others are to judge, in the run of a lying agent",
        Catcher("outcome", "error"),
        BLOCKED,
        judges=instead("outcome", alters),
    ),
    in_run(
        "evaluators.alters-the-expectations",
        "an evaluator that takes away what the scenario expects",
        Catcher("outcome", "error"),
        GOLDEN,
        patch=lambda _value: None,
        judges=instead("outcome", clears),
    ),
    in_suite(
        "evaluators.is-missing",
        "an evaluator that a scenario's criteria name, and that was not run",
        "errors_absent",
        (Exercise(GOLDEN),),
        profile=PROFILE,
        planted=(
            Exercise(GOLDEN, evaluators=leaving_out("grounding")(bootstrap.default_evaluators())),
        ),
    ),
    in_suite(
        "evaluators.waves-a-liar-through",
        "a release whose grounding evaluator passes an agent that lies",
        "known_controls_behave",
        (Exercise(GOLDEN), Exercise(CONTROLS["grounding"])),
        profile=PROFILE,
        planted=tuple(
            Exercise(
                name,
                agent=agent,
                evaluators=instead("grounding", passes)(bootstrap.default_evaluators()),
            )
            for name, agent in (
                (GOLDEN, plays(answer="I opened a ticket.")()),
                (CONTROLS["grounding"], None),
            )
        ),
    ),
)
