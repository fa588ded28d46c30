"""The exchange between a server's loop and a run's thread: order, limits, ends, and the pin."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future

import pytest

from arh.canonical import Json
from arh.connect.mcp.exchange import (
    CHANGED,
    CROWDED,
    OVER,
    UNDER_WAY_MAX,
    Answer,
    Exchange,
    manifest_digest,
)
from arh.errors import RunStopped
from arh.records.messages import ToolRequest, ToolSpec
from arh.records.outcomes import ToolOutcome
from arh.records.tasks import AgentReport, Task
from tests.unit.connect.test_json_lines import TASK, Session

DONE = AgentReport("completed", "Done.")


def soon() -> float:
    """Wait for a second at most."""
    return 1.0


def reason(answer: Future[Answer]) -> str:
    """Return why a call was not made."""
    told = answer.result(1)
    assert isinstance(told, str)
    return told


class Meddling(Session):
    """A session during whose calls something else happens."""

    def __init__(self, meanwhile: Callable[[], object]) -> None:
        super().__init__()
        self.meanwhile = meanwhile

    def call(self, request: ToolRequest, *, timeout_ms: int) -> ToolOutcome:
        """Let it happen, then make the call."""
        self.meanwhile()
        return super().call(request, timeout_ms=timeout_ms)


def test_calls_are_made_in_the_order_of_their_arrival() -> None:
    """Each has the number of its arrival, and the key that came beside it."""
    exchange, session = Exchange(TASK), Session()
    answers = [exchange.submit("get_account", "{}", key) for key in (None, "try-1")]
    exchange.end(DONE)

    assert exchange.serve(session, soon) == DONE
    assert session.called == [
        ToolRequest("mcp-0001", "get_account", "{}"),
        ToolRequest("mcp-0002", "get_account", "{}", "try-1"),
    ]
    assert all(isinstance(answer.result(0), ToolOutcome) for answer in answers)


def test_the_run_makes_the_calls_in_its_own_thread() -> None:
    """Whoever leaves a call, the session is used by the thread that serves."""
    threads: list[int] = []
    exchange = Exchange(TASK)
    session = Meddling(lambda: threads.append(threading.get_ident()))

    def leave() -> None:
        exchange.submit("get_account", "{}").result(1)
        exchange.end(None)

    other = threading.Thread(target=leave)
    other.start()
    exchange.serve(session, soon)
    other.join()

    assert threads == [threading.get_ident()]


def test_a_call_that_was_given_up_before_its_turn_is_never_made() -> None:
    """Its client is gone: nothing happened, and the next one is made."""
    exchange, session = Exchange(TASK), Session()
    given_up = exchange.submit("issue_credit", "{}")
    exchange.submit("get_account", "{}")
    assert given_up.cancel()
    exchange.end(None)

    exchange.serve(session, soon)

    assert [request.tool for request in session.called] == ["get_account"]


def test_a_call_that_is_being_made_is_finished() -> None:
    """Giving it up then comes too late, and it has its outcome."""
    exchange = Exchange(TASK)
    given_up: list[bool] = []
    session = Meddling(lambda: given_up.append(answer.cancel()))
    answer = exchange.submit("create_ticket", "{}")
    exchange.end(None)

    exchange.serve(session, soon)

    assert given_up == [False]
    assert isinstance(answer.result(0), ToolOutcome)


def test_after_the_end_nothing_is_called() -> None:
    """Calls that arrive later, or were still waiting, hear that the run is over."""
    exchange, session = Exchange(TASK), Session()
    exchange.end(DONE)
    waiting = exchange.submit("get_account", "{}")
    exchange.serve(session, soon)
    late = exchange.submit("get_account", "{}")

    assert (reason(waiting), reason(late), session.called) == (OVER, OVER, [])


def test_a_stopped_run_leaves_nobody_waiting() -> None:
    """The stop goes on to the run, and the call that met it is answered."""

    def stop() -> None:
        raise RunStopped("watchdog", "beyond every budget")

    exchange = Exchange(TASK)
    answer = exchange.submit("get_account", "{}")

    with pytest.raises(RunStopped, match="watchdog"):
        exchange.serve(Meddling(stop), soon)

    assert reason(answer) == OVER


def test_an_agent_that_never_comes_is_hung() -> None:
    """It is waited for as long as it may take, and no longer."""
    with pytest.raises(RunStopped, match="hung"):
        Exchange(TASK).serve(Session(), lambda: 0.01)


def test_only_so_many_calls_are_under_way() -> None:
    """One more is turned away at once; when one is through there is room again."""
    exchange, session = Exchange(TASK), Session()
    for _ in range(UNDER_WAY_MAX):
        exchange.submit("get_account", "{}")
    crowded = exchange.submit("get_account", "{}")
    exchange.end(None)
    exchange.serve(session, soon)

    assert reason(crowded) == CROWDED
    assert len(session.called) == UNDER_WAY_MAX


def with_tools(*tools: ToolSpec) -> Task:
    """Return the task with other tools."""
    return Task(TASK.task_id, TASK.actor, TASK.messages, tools, TASK.budgets)


@pytest.mark.parametrize(
    "changed",
    [
        ToolSpec("get_account", "1.1", "Read any account.", Json.of({"type": "object"})),
        ToolSpec("get_account", "1.2", "Read an account.", Json.of({"type": "object"})),
        ToolSpec("get_account", "1.1", "Read an account.", Json.of({"type": "array"})),
        ToolSpec("get_balance", "1.1", "Read an account.", Json.of({"type": "object"})),
    ],
)
def test_a_changed_manifest_is_refused(changed: ToolSpec) -> None:
    """Whatever of a tool changes during the run, nothing is called any more."""
    exchange, session = Exchange(with_tools(*TASK.tools)), Session()
    before = exchange.submit("get_account", "{}")
    exchange.end(None)
    exchange.serve(session, soon)
    again = Exchange(with_tools(*TASK.tools))
    again.task = with_tools(changed)
    after = again.submit("get_account", "{}")

    assert isinstance(before.result(0), ToolOutcome)
    assert reason(after) == CHANGED


def test_a_client_may_hold_us_to_what_it_agreed_to() -> None:
    """A call under another digest than the pinned one is refused; under that one it is made."""
    exchange, session = Exchange(TASK), Session()
    other = exchange.submit("get_account", "{}", None, "0" * 64)
    agreed = exchange.submit("get_account", "{}", None, manifest_digest(TASK.tools))
    exchange.end(None)
    exchange.serve(session, soon)

    assert reason(other) == CHANGED
    assert isinstance(agreed.result(0), ToolOutcome)


def test_questions_wait_for_their_turn_too() -> None:
    """What only the run's thread can settle is settled between the calls around it."""
    exchange, session = Exchange(TASK), Session()
    order: list[str] = []

    class Question:
        def settle(self, _session: object, task: Task) -> None:
            order.append(f"{task.task_id} after {len(session.called)} calls")

    exchange.submit("get_account", "{}")
    exchange.hand_over(Question())  # type: ignore[arg-type]  # it is settled, and nothing else
    exchange.submit("get_account", "{}")
    exchange.end(None)
    exchange.serve(session, soon)

    assert order == ["task-0001 after 1 calls"]
