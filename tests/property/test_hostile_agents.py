"""Whatever an agent does, its run ends, is on record, and is nobody else's failure."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arh.canonical import Json
from arh.errors import HarnessError, RunStopped
from arh.harness.evidence.evidence import build_evidence
from arh.ports.sue import Session
from arh.records.messages import Message, ToolReply, ToolRequest
from arh.records.tasks import (
    AGENT_ENDS,
    AgentReport,
    BudgetRefused,
    ProgressStopped,
    Task,
    Termination,
)
from arh.testing.workbench import Workbench

GOLDEN = "golden-billing-incident-001"
TOOLS = ("get_account", "create_ticket", "issue_credit", "search_knowledge_base", "", "no_tool")
ARGUMENTS = (
    "{}",
    "",
    "null",
    "[1]",
    '{"account_id":"A-1007"}',
    '{"account_id":1.0}',
    '{"account_id":"A-1007","account_id":"A-2222"}',
    '{"account_id":"\\ud800"}',
    '{"account_id":"A-1007","amount":-1,"reason":"x","idempotency_key":"k"}',
    '{"account_id":"A-1007","amount":100,"currency":"USD","reason":"x","idempotency_key":"k"}',
    '{"account_id":"A-1007","category":"billing_incident","summary":"x","idempotency_key":"k"}',
    "{" * 100,
)

Act = Callable[[Any], object]

junk = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(st.characters(), max_size=20),
    st.binary(max_size=5),
    st.sampled_from([Json.of({"a": 1}), [], {}, object]),
)
texts = st.text(st.characters(), max_size=30)
spelt = st.builds(ToolRequest, texts, st.sampled_from(TOOLS), st.sampled_from(ARGUMENTS) | texts)
requests = spelt | st.builds(ToolRequest, texts | junk, texts | junk, texts | junk)
replies = st.builds(ToolReply, texts, texts, st.sampled_from(["executed", "error", "gone"]), texts)
messages = st.builds(
    Message,
    st.sampled_from(["system", "user", "assistant", "tool", "root"]),
    texts | junk,
    st.lists(requests, max_size=2).map(tuple),
    st.none() | replies,
)
notes = (
    st.builds(BudgetRefused, texts, st.integers() | junk, st.integers(), st.none() | requests)
    | st.builds(ProgressStopped, texts, texts | junk)
    | junk
)
acts: st.SearchStrategy[Act] = st.one_of(
    st.lists(messages, max_size=3).map(
        lambda m: lambda session: session.complete(tuple(m), timeout_ms=100)
    ),
    spelt.map(lambda r: lambda session: session.call(r, timeout_ms=100)),
    requests.map(lambda r: lambda session: session.call(r, timeout_ms=100)),
    st.tuples(requests, junk).map(lambda p: lambda s: s.call(p[0], timeout_ms=p[1])),
    (texts | junk).map(lambda t: lambda session: session.ask(t)),
    (st.integers(-5, 3_000) | junk).map(lambda ms: lambda session: session.wait(ms)),
    notes.map(lambda n: lambda session: session.note(n)),
)
endings = st.one_of(
    st.builds(AgentReport, st.sampled_from(sorted(AGENT_ENDS)), texts),
    st.builds(
        AgentReport,
        st.sampled_from(get_args(Termination)) | texts | junk,
        texts | junk,
        texts | junk,
    ),
    junk,
    st.sampled_from([ValueError(), SystemExit(0), HarnessError("x"), RunStopped("watchdog")]),
)


class Hostile:
    """Does what it was told to, ignoring every answer, and ends as it was told to."""

    def __init__(self, script: list[Act], ending: object) -> None:
        self.script, self.ending = script, ending

    def run(self, _task: Task, session: Session) -> AgentReport:
        """Do it."""
        for act in self.script:
            with suppress(BaseException):
                act(session)
        if isinstance(self.ending, BaseException):
            raise self.ending
        return self.ending  # type: ignore[return-value] # whatever it is


@pytest.fixture(scope="module")
def bench() -> Workbench:
    """The suite that comes with arh."""
    return Workbench.of()


@given(script=st.lists(acts, max_size=8), ending=endings)
def test_no_agent_breaks_its_run(bench: Workbench, script: list[Act], ending: object) -> None:
    """Sources agree, all is readable, and arh is to blame for a script without a rule at most."""
    tried = bench.run(GOLDEN, agent=Hostile(script, ending))

    evidence = tried.output.evidence
    output = tried.output
    strictly = build_evidence(output.run_id, output.lines, output.state, faults=output.faults)
    assert strictly == evidence  # lines of our own are read without checking them again
    assert evidence.problems == ()
    assert [d for d in evidence.discrepancies if d.kind == "gap"] == []
    assert evidence.events[-1].kind == "run_ended"
    assert evidence.termination in set(get_args(Termination)) - {"harness_error", "hung"}
    assert tried.verdict.status in {"fail", "error", "indeterminate"}
    assert (tried.verdict.status == "error") == (evidence.termination == "fixture_mismatch")


@given(script=st.lists(acts, max_size=6), ending=endings)
def test_a_run_is_the_same_every_time(bench: Workbench, script: list[Act], ending: object) -> None:
    """What an agent does twice is twice the same bytes."""
    first, second = (bench.run(GOLDEN, agent=Hostile(script, ending)).output for _ in range(2))

    assert first.lines == second.lines
