"""What each duty of a run costs here, and what it costs in the plainest code that does it.

`python -m benchmarks.duties` takes the duties of the golden run away one after the other, each on
top of those before it, and measures what is left. A run without a duty breaks what is promised of
a run: nothing but this experiment runs so. Beside each duty stands its plainest form, measured
on the very values of the run: only C, called straight from one loop. What a harness in Python can
reach lies above the sum of the plain forms, since somebody has to decide which of them is due.

It is no part of `make bench`: it has no limit, and answers why the limits there are where they are.
"""

from __future__ import annotations

import json
import queue
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple
from unittest.mock import patch

import jiter
from pydantic_core import to_json

from arh import canonical
from arh.agent.loop import ReferenceAgent
from arh.harness.evidence.recorder import RunRecorder, keep_all
from arh.harness.evidence.written_scenarios import judged_by
from arh.harness.judging.judge import judge
from arh.harness.running import handed, runner, session
from arh.harness.running.watchdog import AgentThread
from arh.harness.vocabulary.assertions import InvariantChecker
from arh.model.scripted.model import ScriptedModel
from arh.ports.control import Evaluator
from arh.ports.sue import Session
from arh.records.control.evidence import Evidence
from arh.records.control.scenario import Scenario
from arh.records.decisions import Calls, ModelReply, ModelRequest
from arh.records.packs import WorkflowPack
from arh.records.tasks import AgentReport, Task
from arh.schema import compiled
from arh.state.merkle import Trie
from arh.state.snapshot import Projection
from arh.telemetry.secrets import suspicious
from benchmarks.floor import Floor
from benchmarks.golden import Golden
from benchmarks.measuring import cheapest, cpu_us

ROUNDS, RUNS, WARM = 7, 50, 30
COPIES = 60  # records that cross the border to the agent and back
TRIE_NODES = 3  # nodes on one path of a trie of some fifty records

Work = Callable[[], object]
Ask = Callable[[ScriptedModel, ModelRequest], ModelReply]
Patches = tuple[Callable[[], AbstractContextManager[object]], ...]


@dataclass(frozen=True)
class Duty:
    """Something that a run does for what is promised of it; `without` takes it away."""

    name: str
    without: Patches
    plain: Work | None = None


class Copied(NamedTuple):
    """A record of the usual size, as the plain form copies it."""

    call_id: str
    tool: str
    status: str
    reason: str
    result: object
    name: object


def main() -> None:
    """Print a line for each duty: its share of a run, and its plainest form, in FLOOR too."""
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "floor").open("ab") as file:
        floor, golden = Floor(file), Golden(Path(folder) / "evidence")
        duties = tuple(_duties(golden, floor, file))
        works: dict[str, Work] = {d.name: d.plain for d in duties if d.plain is not None}
        plain = cheapest({"floor": floor.run, **works})
        left = _left(golden, duties)
        judging = cheapest(_judging(golden))
        lines = golden.output().lines
        read = cheapest({"": lambda: [jiter.from_json(line) for line in lines]})[""]
        golden.close()
    unit = plain.pop("floor")
    print(f"{'':34} {'in a run':>17} {'plainest form':>17}")
    for duty, (before, after) in zip(duties, pairwise(left), strict=True):
        print(f"{duty.name:34} {_both(before - after, unit)} {_both(plain.get(duty.name), unit)}")
    print(f"{'setting up and ending':34} {_both(left[-1], unit)} {_both(None, unit)}")
    print(
        f"{'a run with its evidence':34} {_both(left[0], unit)} {_both(sum(plain.values()), unit)}"
    )
    for name, us in judging.items():
        print(f"{name:34} {_both(us, unit)} {_both(read if 'read' in name else None, unit)}")


def _judging(golden: Golden) -> dict[str, Work]:
    """Return what is done to judge a run that has just been executed, part by part."""
    output, pack = golden.output(), golden.pipeline.bench.pack
    run, kept = golden.plan.runs[0], output.evidence
    scenario = run.located.scenario
    parts: dict[str, Work] = {
        "evidence read back": lambda: replace(output).evidence,
        "the scenario as it is written": lambda: judged_by(run, golden.pipeline.bench.redact),
    }
    for each in golden.pipeline.evaluators:
        parts[f"evaluator {each.id}"] = partial(_evaluated, each, kept, scenario, pack)
    parts["all of the verdict"] = lambda: judge(
        run.located, replace(output).evidence, golden.pipeline.evaluators, pack
    )
    return parts


def _evaluated(each: Evaluator, kept: Evidence, scenario: Scenario, pack: WorkflowPack) -> object:
    return each.evaluate(replace(kept), scenario, pack)  # a copy, of which nothing is derived yet


def _both(us: float | None, unit: float) -> str:
    return f"{'-':>17}" if us is None else f"{us:7.0f} us {us / unit:5.1f} x"


def _left(golden: Golden, duties: tuple[Duty, ...]) -> list[float]:
    """Return the least microseconds of a run with all duties, then without the first, and so on."""
    best = [float("inf")] * (len(duties) + 1)
    for _ in range(ROUNDS):
        with ExitStack() as stack:
            best[0] = min(best[0], _run_us(golden))
            for place, duty in enumerate(duties, 1):
                for without in duty.without:
                    stack.enter_context(without())
                best[place] = min(best[place], _run_us(golden))
    return best


def _run_us(golden: Golden) -> float:
    _several(golden, WARM)
    return cpu_us(lambda: _several(golden, RUNS))[0] / RUNS


def _several(golden: Golden, count: int) -> None:
    for _ in range(count):
        golden.executed()


def _duties(golden: Golden, floor: Floor, file: BinaryIO) -> Iterator[Duty]:
    """Yield the duties in the order in which they are taken away."""
    run = _Material(golden)
    yield Duty("agent in a thread of its own", (_thread,), run.hand_over)
    yield Duty("copies to the agent and back", _copies(), run.copy)
    redact = _changed(golden.pipeline.bench, "redact", keep_all)
    yield Duty("redaction", (redact,), run.search)
    record = _changed(RunRecorder, "record", lambda *_: 1)
    yield Duty("22 chained lines on disk", (record,), lambda: run.write(file))
    check = _changed(InvariantChecker, "check", lambda *_: ())
    yield Duty("invariants after each attempt", (check,))
    tries = (
        _changed(Trie, "put", lambda trie, *_: trie),
        _changed(Projection, "digest", lambda _: ""),
    )
    yield Duty("digests of state and projection", tries, run.digest)
    walk = _changed(canonical, "_walk", lambda _value, **_options: True)
    yield Duty("strict reading, schemas stay", (walk,), run.read)
    answer = _changed(ScriptedModel, "complete", lambda _, request: run.answer(request))
    yield Duty("the scripted model", (answer,))
    act = _changed(ReferenceAgent, "run", lambda _, task, ports: run.act(task, ports))
    yield Duty("the agent, its five questions", (act,))
    idle = _changed(ReferenceAgent, "run", lambda *_: AgentReport("completed", "Done."))
    yield Duty("four calls of the gateway", (idle,), floor.run)


def _thread() -> AbstractContextManager[object]:
    def run(_: AgentThread, job: Work, *, wall_ms_max: int) -> bool:
        job()
        return wall_ms_max > 0

    return patch.object(AgentThread, "run", run)


def _copies() -> Patches:
    def same(value: object, *_: object) -> object:
        return value

    inside = ("handed_reply", "handed_outcome", "taken_request")
    return (
        *(_changed(handed, name, same) for name in inside),
        _changed(session, "taken_message", same),
        _changed(runner, "handed_task", same),
    )


def _changed(holder: object, name: str, value: object) -> Callable[[], AbstractContextManager[Any]]:
    return lambda: patch.object(holder, name, value)


class _Material:
    """The values of one golden run, and the plainest forms of its duties on them."""

    def __init__(self, golden: Golden) -> None:
        self._replies: dict[int, ModelReply] = {}
        with patch.object(ScriptedModel, "complete", self._remembering(ScriptedModel.complete)):
            output = golden.output()
        self.lines = output.lines
        self.events: list[Any] = [jiter.from_json(line) for line in self.lines]
        self.texts = ["\n".join(_texts(event)) for event in self.events]
        self.calls = [e for e in self.events if e["kind"] == "tool_call"]
        self.schema = compiled(canonical.Json.of({"type": "object"}))
        self._inbox: queue.SimpleQueue[Work] = queue.SimpleQueue()
        threading.Thread(target=self._serve, daemon=True).start()

    def _remembering(self, ask: Ask) -> Ask:
        def complete(model: ScriptedModel, request: ModelRequest) -> ModelReply:
            reply = self._replies[len(request.messages)] = ask(model, request)
            return reply

        return complete

    def answer(self, request: ModelRequest) -> ModelReply:
        """Return what the model said at this length of the conversation."""
        return self._replies[len(request.messages)]

    def act(self, _task: Task, ports: Session) -> AgentReport:
        """Make the calls of the run, and ask nobody."""
        for reply in self._replies.values():
            if isinstance(reply.decision, Calls):
                for request in reply.decision.requests:
                    ports.call(request, timeout_ms=1000)
        return AgentReport("completed", "Done.")

    def _serve(self) -> None:
        while True:
            self._inbox.get()()

    def hand_over(self) -> None:
        """Have another thread do nothing, and wait for it."""
        done: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._inbox.put(lambda: done.put(None))
        done.get()

    def copy(self) -> None:
        """Copy as many records of six fields as cross the border."""
        record = Copied("req-0001", "get_account", "executed", "ok", None, None)
        for _ in range(COPIES):
            Copied(*record)

    def search(self) -> None:
        """Search the texts of each event for the shapes of secrets, all at once."""
        for text in self.texts:
            suspicious(text)

    def write(self, file: BinaryIO) -> None:
        """Encode each event, hash it with the one before, and write the whole."""
        previous, lines = "", []
        for event in self.events:
            line = to_json(event)
            previous = sha256(previous.encode() + line).hexdigest()
            lines.append(line)
        block = b"\n".join(lines)
        sha256(block)
        file.write(block)

    def digest(self) -> None:
        """Hash what three changed records of a trie change on the way to its root."""
        for _ in range(3):
            sha256(sha256(b"key").digest()).digest()
            for _ in range(TRIE_NODES):
                sha256(b"\x01" + b"".join([b"0" * 32] * 16)).digest()

    def read(self) -> None:
        """Parse and encode the arguments and the result of each call once, in order of keys."""
        for call in self.calls:
            for value in (call["arguments"], call["result"]):
                text = json.dumps(value, sort_keys=True)
                self.schema.fits(jiter.from_json(text.encode(), catch_duplicate_keys=True))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)


if __name__ == "__main__":
    main()
