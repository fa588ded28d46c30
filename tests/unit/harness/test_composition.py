"""How a planned run becomes tasks: where generated context stands among what the user says."""

from __future__ import annotations

import pytest

from arh.harness.authoring.plan import plan_runs
from arh.harness.running.composition import Work, compose
from arh.testing.workbench import Workbench, patched

SAID = [{"content": "It is about A-1007."}, {"content": "Please go on."}]


def _only_task(after: int | None) -> Work:
    bench = Workbench.of()
    context = {"messages": 4, "words_each": 5, **({} if after is None else {"after": after})}
    located = patched(
        bench.located("golden-billing-incident-001"),
        lambda value: value.update(stimulus={"messages": SAID, "context": context}),
    )
    (run,) = plan_runs((located,), seed=1).runs
    made = compose(run, bench.suite.pack, bench.suite.catalogue)
    ((_, (work,)),) = made.works
    return work


@pytest.mark.parametrize(("after", "first", "last"), [(None, 4, 5), (0, 4, 5), (1, 0, 5)])
def test_generated_context_stands_after_as_many_messages_as_are_asked_for(
    after: int | None, first: int, last: int
) -> None:
    """What comes before the filler is early, the rest is late, and the filler is marked."""
    work = _only_task(after)

    texts = [message.content for message in work.task.messages]
    assert [texts.index(each["content"]) for each in SAID] == [first, last]
    assert list(work.generated) == [n for n in range(6) if n not in {first, last}]
