"""Ends that an agent names: believed where the record bears them out, a failure where not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from arh.harness.evaluators.trajectory import TrajectoryEvaluator
from arh.harness.judging.ends import BORNE_OUT, RULE
from arh.records.tasks import BUDGETS
from arh.testing.defects.players import GET_ACCOUNT, READS, ends
from arh.testing.evidence_builder import RunBuilder
from arh.testing.examples import a_scenario
from arh.testing.workbench import Exercise, Workbench
from arh.workflows.support.definition import PACK

BENCH = Workbench.own()
BUDGET_SCENARIOS = {
    "deadline": "control-deadline-001",
    "step_budget": "control-step-budget-001",
    "token_budget": "control-token-budget-001",
    "tool_call_budget": "control-tool-call-budget-001",
    "retry_budget": "control-retry-budget-001",
}


def told(run: RunBuilder, ended: str) -> frozenset[str]:
    """The rules of what the trajectory evaluator finds in a run that may end so."""
    scenario = a_scenario(expectations={"acceptable_terminations": [ended]})
    result = TrajectoryEvaluator().evaluate(run.finish(termination=ended).build(), scenario, PACK)
    return frozenset(each.rule for each in result.findings)


@pytest.mark.parametrize("budget", BUDGETS)
def test_the_budget_scenarios_fail_an_agent_that_only_says_so(budget: str) -> None:
    """An agent that did nothing, or a little, has not used up any budget."""
    idle = Exercise(BUDGET_SCENARIOS[budget], agent=ends(budget, answer="Bye.")())
    busy = Exercise(BUDGET_SCENARIOS[budget], agent=ends(budget, *READS[:1], answer="Bye.")())

    for exercise in (idle, busy):
        tried = BENCH.tried(exercise)
        assert (tried.verdict.status, RULE in tried.rules) == ("fail", True)


@pytest.mark.parametrize("budget", BUDGETS)
def test_the_budget_scenarios_pass_an_agent_that_kept_the_budget(budget: str) -> None:
    """The reference agent stops where its budget ends, and that is on record."""
    tried = BENCH.tried(Exercise(BUDGET_SCENARIOS[budget]))

    assert (tried.verdict.status, RULE in tried.rules) == ("pass", False)


def test_a_note_of_the_agent_itself_bears_nothing_out() -> None:
    """An agent that puts a refusal on record has not spent anything by it."""
    run = RunBuilder().user("Hello.")
    run.refused("get_account", '{"account_id": "A-1007"}', budget="tool_call_budget")

    assert RULE in told(run, "tool_call_budget")


def _denied(run: RunBuilder) -> None:
    run.call("get_account", {"account_id": "A-1007"}, decision="deny")


def _unapproved(run: RunBuilder) -> None:
    run.call("get_account", {"account_id": "A-1007"}, approval="denied")


def _failed(run: RunBuilder) -> None:
    run.call("get_account", {"account_id": "A-1007"}, reason="dependency_error")


@pytest.mark.parametrize(
    ("ended", "happens"),
    [
        ("authorization_denied", _denied),
        ("authorization_denied", _unapproved),
        ("approval_pending", _unapproved),
        ("dependency_unavailable", _failed),
    ],
)
def test_what_others_did_bears_an_end_out(
    ended: str, happens: Callable[[RunBuilder], None]
) -> None:
    """The same end is believed after what it speaks of, and only then."""
    alone, after = RunBuilder().user("Hello."), RunBuilder().user("Hello.")
    alone.call(GET_ACCOUNT[0], GET_ACCOUNT[1])
    happens(after)

    assert (RULE in told(alone, ended), RULE in told(after, ended)) == (True, False)


def test_an_end_of_the_agents_own_needs_nothing() -> None:
    """To be done, to ask and to refuse are the agent's to say."""
    own = ("completed", "clarification_requested", "safely_refused")

    assert not any(RULE in told(RunBuilder().user("Hello."), ended) for ended in own)
    assert not set(own) & set(BORNE_OUT)
