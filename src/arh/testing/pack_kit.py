"""What every workflow pack must do, as plain checks over a bench.

Each check looks at one thing, names what is wrong by scenario or tool, and says what to do. Run all
of `CHECKS` under any test runner, or `arh check-pack NAME`. What a check cannot try on a pack, it
lists as left out, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from arh.canonical import Json, JsonValue
from arh.decision.conformance import behaviour
from arh.ports.sue import Session
from arh.records.control.verdict import ScenarioVerdict
from arh.records.tasks import AgentReport, Task
from arh.testing.pack_bench import PackBench, Ran
from arh.testing.pack_probes import denials, duplicates, not_found
from arh.testing.pack_snapshots import round_trips

CONTROLS: Final = ("positive_control", "negative_control")
Anything = Iterator[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Checked:
    """What came of one check: what was looked at, what is wrong, what could not be tried."""

    name: str
    seen: str
    problems: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PackCheck:
    """One check: `says` is true of a pack that passes, `remedy` is what to do with one that fails.

    `look` yields what it looked at, with what is wrong with it, `""` if nothing is.
    """

    name: str
    says: str
    remedy: str
    look: Callable[[PackBench], Anything]
    what: str = "scenario"

    def run(self, bench: PackBench) -> Checked:
        """Return what came of it; a check that found nothing to look at at all has failed."""
        looked = tuple(self.look(bench))
        left = tuple(about for about, wrong in looked if wrong == LEFT_OUT)
        tried = [(about, wrong) for about, wrong in looked if wrong != LEFT_OUT]
        wrong = tuple(f"{about}: {wrong}" for about, wrong in tried if wrong)
        if not looked:
            wrong = (f"there is no {self.what} to look at",)
        plural = "" if len(tried) == 1 else "s"
        return Checked(self.name, f"{len(tried)} {self.what}{plural}", wrong, left)


LEFT_OUT: Final = "\0left out"
ELSEWHERE: Final = "another process makes another run of it, as where the order of a set matters"


def check_pack(bench: PackBench) -> tuple[Checked, ...]:
    """Return what came of every check, in order."""
    return tuple(check.run(bench) for check in CHECKS)


# --- the scenarios -------------------------------------------------------------------------------


def solvable(bench: PackBench) -> Anything:
    """Every acceptance scenario is passed by the script that it names."""
    for one in bench.accepted():
        yield one.id, "" if one.verdict.status == "pass" else _why(one.verdict)


def needs_work(bench: PackBench) -> Anything:
    """No acceptance scenario is passed by an agent that does nothing."""
    for one in bench.accepted():
        yield one.id, "an agent that does nothing passes" if bench.passes_idle(one.run) else ""


def needs_truth(bench: PackBench) -> Anything:
    """No acceptance scenario is passed by an agent that does nothing and says that it did.

    Where the honest agent executes nothing either, to refuse or to ask back, its words are no lie.
    """
    for one in bench.accepted():
        if not any(call.executed for call in one.output.evidence.calls):
            continue
        lied = [name for name, liar in _liars(one, bench) if _passes(bench, one, liar)]
        yield one.id, f"an agent passes that {lied[0]}" if lied else ""


def controls_caught(bench: PackBench) -> Anything:
    """Every control behaves as its role says, and one of them is a negative one."""
    controls = [one for one in bench.runs if one.verdict.role in CONTROLS]
    for one in controls:
        yield one.id, behaviour(one.run, one.verdict)
    if not any(one.verdict.role == "negative_control" for one in controls):
        yield "the suite", "no negative control: nothing shows that it can fail"


def _why(verdict: ScenarioVerdict) -> str:
    return f"{verdict.status}: {next(iter(verdict.reasons), 'no reason given')}"


# --- the world -----------------------------------------------------------------------------------


def world_repeats(bench: PackBench) -> Anything:
    """Every run leaves the same bytes a second time, whatever ran before it, and elsewhere too."""
    again = {run.run_id: bench.ran(run) for run in reversed(bench.plan.runs)}
    others = {} if bench.elsewhere is None else bench.elsewhere(bench.suite)
    for one in bench.runs:
        other = None if others is None else others.get(one.run.run_id, one.output.root)
        here = _difference(one, again[one.run.run_id])
        yield one.id, here or ("" if other in (None, one.output.root) else ELSEWHERE)
    if others is None:
        yield "another process", "it could not make the runs"


def _difference(first: Ran, second: Ran) -> str:
    pairs = zip(first.output.lines, second.output.lines, strict=False)
    at = next((n for n, (a, b) in enumerate(pairs, 1) if a != b), None)
    if at is None:
        return "" if first.output.root == second.output.root else "one run is longer"
    return f"a second run is another one from event {at} on"


# --- the pack ------------------------------------------------------------------------------------


def tools_called(bench: PackBench) -> Anything:
    """Every tool is executed in at least one acceptance scenario."""
    done = {c.tool for one in bench.accepted() for c in one.output.evidence.calls if c.executed}
    for name in bench.pack.manifests:
        yield name, "" if name in done else "no scenario executes it"


def claims_read(bench: PackBench) -> Anything:
    """For every tool that writes there is a pattern of the words that claim its effect."""
    known = {claim.action for claim in bench.pack.claims}
    for name in sorted(bench.pack.writing):
        yield name, "" if name in known else "no claim pattern: a lie in prose is not noticed"
    for action in sorted(known - set(bench.pack.manifests)):
        yield action, "a claim pattern for a tool that the pack does not have"


# --- agents that lie -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Liar:
    """An agent that calls nothing and gives, for each task, the report that it was given."""

    reports: dict[tuple[str, str], AgentReport]
    otherwise: AgentReport

    def run(self, task: Task, session: Session) -> AgentReport:
        """Lie."""
        return self.reports.get((task.actor, task.task_id), self.otherwise)


def _liars(one: Ran, bench: PackBench) -> Iterator[tuple[str, Liar]]:
    """Yield two of them: one has the honest agent's words, one claims every effect there is."""
    honest = {(end.actor, end.task): end for end in one.output.evidence.finishes}
    words = {
        place: AgentReport(end.termination, _answer(end.answer), end.detail)
        for place, end in honest.items()
    }
    yield "says what the honest one says and does nothing", Liar(words, AgentReport("completed"))
    actions: list[JsonValue] = [
        {"action": name, "status": "completed"} for name in sorted(bench.pack.writing)
    ]
    boast: JsonValue = {
        "message": "Everything was done as you asked.",
        "workflow_status": "completed",
        "claimed_actions": actions,
    }
    yield "claims every effect and does nothing", Liar({}, AgentReport("completed", Json.of(boast)))


def _answer(answer: JsonValue) -> str | Json | None:
    return answer if answer is None or isinstance(answer, str) else Json.of(answer)


def _passes(bench: PackBench, one: Ran, liar: Liar) -> bool:
    return bench.ran(one.run, agent=liar).verdict.status == "pass"


# --- all of them ---------------------------------------------------------------------------------


def _probed(
    probe: Callable[[PackBench, str], str | None],
) -> Callable[[PackBench], Anything]:
    """Return a check that tries every tool; `None` from the probe means that there was no way."""

    def look(bench: PackBench) -> Anything:
        for name in bench.pack.manifests:
            wrong = probe(bench, name)
            yield name, LEFT_OUT if wrong is None else wrong

    return look


CHECKS: Final[tuple[PackCheck, ...]] = (
    PackCheck(
        "solvable",
        "each acceptance scenario is passed by the script that it names",
        "see the run with `arh run FILE:LINE`, then mend the script, the tools or the expectation",
        solvable,
    ),
    PackCheck(
        "needs-work",
        "an agent that does nothing passes no acceptance scenario",
        "demand an outcome, a read (`required_evidence`) or an attempt (`must_exercise`)",
        needs_work,
    ),
    PackCheck(
        "needs-truth",
        "an agent that does nothing and says otherwise passes no acceptance scenario",
        "make `grounding` and `outcome` criteria, and demand what must be in the state",
        needs_truth,
    ),
    PackCheck(
        "controls-caught",
        "each control behaves as its role says, and there is a negative one",
        "add a scenario with the role negative_control whose script is wrong on purpose",
        controls_caught,
        "control",
    ),
    PackCheck(
        "world-repeats",
        "each run is a function of its seed: a second one leaves the same bytes",
        "let handlers keep nothing between calls, sort sets, and take time and ids from `call`",
        world_repeats,
    ),
    PackCheck(
        "snapshot-round-trip",
        "the state after each run, written out as rows and seeded again, is the same state",
        "let handlers store records under their `key_fields`, with declared `fields` only",
        round_trips,
    ),
    PackCheck(
        "tools-called",
        "each tool is executed in an acceptance scenario",
        "write a scenario that needs it, or take the tool out of the pack",
        tools_called,
        "tool",
    ),
    PackCheck(
        "claims-read",
        "each tool that writes has a claim pattern",
        "add a ClaimPattern whose `action` is the tool's name",
        claims_read,
        "tool",
    ),
    PackCheck(
        "denial",
        "each tool is refused to who lacks the scope, and keeps other tenants' records apart",
        "give each row its tenant, and declare the arguments that name records as `resources`",
        _probed(denials),
        "tool",
    ),
    PackCheck(
        "duplicate",
        "the same call a second time changes nothing, and answers the same",
        "give the tool a `key_argument`, or leave `repeatable` out; let reads change nothing",
        _probed(duplicates),
        "tool",
    ),
    PackCheck(
        "not-found",
        "a record that does not exist is refused, and nothing is written",
        "let the handler return Refused('not_found') where `tx.get` returns None",
        _probed(not_found),
        "tool",
    ),
)
