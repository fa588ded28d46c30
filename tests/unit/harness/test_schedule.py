"""The baton: one thread at a time, in the order that the schedule says, whatever the timing."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from arh.errors import HarnessError, RunStopped
from arh.harness.running.schedule import Baton, ExplicitChooser, SeededChooser
from arh.records.control.scenario import Schedule, ScheduleStep

ACTORS = ("anna", "bert", "cleo")
WALL_MS = 20_000


@pytest.fixture(name="hurried")
def _hurried() -> Iterator[None]:
    """Let the interpreter switch threads as often as it can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def explicit(*steps: tuple[str, str, int, str]) -> Baton:
    """Return a baton that follows these steps: actor, point, nth, to."""
    authored = [
        ScheduleStep.model_validate({"actor": actor, "point": point, "nth": nth, "to": to})
        for actor, point, nth, to in steps
    ]
    return Baton(ACTORS, ExplicitChooser(authored))


def worker(baton: Baton, log: list[str], actor: str, *, rounds: int = 3) -> Callable[[], None]:
    """Return a job that logs before and after each of its checkpoints."""

    def job() -> None:
        for number in range(rounds):
            log.append(f"{actor}{number} asks")
            baton.checkpoint("model")
            log.append(f"{actor}{number} acts")
            baton.checkpoint("gateway")

    return job


def run_all(baton: Baton, *, rounds: int = 3) -> list[str]:
    """Run three equal actors to their end and return what they did, in order."""
    log: list[str] = []
    jobs = {actor: worker(baton, log, actor, rounds=rounds) for actor in ACTORS}
    assert baton.run(jobs, wall_ms_max=WALL_MS)
    return log


def test_without_a_step_each_actor_runs_to_its_end_in_order() -> None:
    """The baton only moves when a schedule says so, or when its holder ends."""
    baton = explicit()

    log = run_all(baton, rounds=1)

    assert log == [
        "anna0 asks",
        "anna0 acts",
        "bert0 asks",
        "bert0 acts",
        "cleo0 asks",
        "cleo0 acts",
    ]
    assert baton.trace() == [
        ["", "start", "anna"],
        ["anna", "finished", "bert"],
        ["bert", "finished", "cleo"],
    ]


def test_an_explicit_step_hands_over_at_its_arrival() -> None:
    """From the nth arrival of the actor at the point, the named actor goes on."""
    baton = explicit(("anna", "model", 2, "cleo"), ("cleo", "gateway", 1, "anna"))

    log = run_all(baton, rounds=2)

    assert log[:5] == ["anna0 asks", "anna0 acts", "anna1 asks", "cleo0 asks", "cleo0 acts"]
    assert log[5] == "anna1 acts"
    assert baton.unfired() == ()


def test_a_step_that_never_happens_is_reported() -> None:
    """An arrival that does not come, or a target that has ended, leaves its step unfired."""
    baton = explicit(("anna", "decided", 1, "bert"), ("cleo", "model", 1, "anna"))

    run_all(baton, rounds=1)

    assert [(step.actor, step.point) for step in baton.unfired()] == [
        ("anna", "decided"),
        ("cleo", "model"),
    ]


@pytest.mark.usefixtures("hurried")
def test_a_seeded_schedule_repeats_under_any_thread_timing() -> None:
    """Two hundred runs of one seed hand over alike and do the same things in the same order."""
    first = Baton(ACTORS, SeededChooser("7"))
    expected = (run_all(first), first.trace())

    for _ in range(200):
        again = Baton(ACTORS, SeededChooser("7"))
        assert expected == (run_all(again), again.trace())


def test_another_seed_is_another_schedule() -> None:
    """The seed matters: among a few seeds there are different interleavings."""
    logs = {tuple(run_all(Baton(ACTORS, SeededChooser(str(seed))))) for seed in range(5)}

    assert len(logs) > 1


@pytest.mark.usefixtures("hurried")
def test_exactly_one_actor_runs_at_a_time() -> None:
    """An unguarded counter that every actor changes between checkpoints is never torn."""
    baton = Baton(ACTORS, SeededChooser("3"))
    running: list[str] = []
    together: list[tuple[str, ...]] = []

    def job(actor: str) -> None:
        for _ in range(50):
            running.append(actor)
            together.append(tuple(running))
            running.remove(actor)
            baton.checkpoint("model")

    baton.run({a: lambda a=a: job(a) for a in ACTORS}, wall_ms_max=WALL_MS)  # type: ignore[misc]

    assert {1} == set(map(len, together))
    assert len(together) == 150


def test_the_acting_actor_is_the_holder_and_nobody_outside_a_run() -> None:
    """Whoever records an event can say whose it is."""
    baton = explicit()
    acting: list[tuple[str, str]] = []
    jobs = {a: lambda a=a: acting.append((a, baton.acting())) for a in ACTORS}

    before = baton.acting()
    baton.run(jobs, wall_ms_max=WALL_MS)

    assert (before, baton.acting()) == ("", "")
    assert [(a, a) for a in ACTORS] == acting


def test_a_stop_in_one_actor_stops_the_others_at_their_next_checkpoint() -> None:
    """Nobody goes on after a stop, and all know why it came."""
    baton = explicit(("anna", "model", 1, "bert"))
    log: list[str] = []

    def stopping() -> None:
        raise RunStopped("invariant_violation", "two credits")

    jobs = {
        "anna": worker(baton, log, "anna"),
        "bert": stopping,
        "cleo": worker(baton, log, "cleo"),
    }
    complete = baton.run(jobs, wall_ms_max=WALL_MS)

    assert complete
    assert log == ["anna0 asks"]
    assert {"invariant_violation: two credits"} == set(map(str, baton.ends.values()))


def test_an_actor_that_swallows_the_stop_meets_it_again() -> None:
    """Whatever an agent catches, no checkpoint lets it through after a stop."""
    baton = explicit()
    met: list[str] = []

    def stubborn() -> None:
        for _ in range(3):
            try:
                baton.checkpoint("model")
            except RunStopped as stop:
                met.append(stop.termination)

    def stopping() -> None:
        raise RunStopped("watchdog")

    jobs = {"anna": stopping, "bert": stubborn, "cleo": stubborn}
    baton.run(jobs, wall_ms_max=WALL_MS)

    assert met == []  # they had not started, and never do
    assert [str(e) for e in baton.ends.values()] == ["watchdog", "watchdog", "watchdog"]


def test_an_actor_stopped_midway_cannot_go_on() -> None:
    """The same, for one that was waiting inside a checkpoint when the stop came."""
    baton = explicit(("anna", "model", 1, "bert"))
    met: list[str] = []

    def stubborn() -> None:
        for _ in range(3):
            try:
                baton.checkpoint("model")
            except RunStopped as stop:
                met.append(stop.termination)

    def stopping() -> None:
        baton.stop("watchdog")

    baton.run({"anna": stubborn, "bert": stopping, "cleo": stopping}, wall_ms_max=WALL_MS)

    assert met == ["watchdog"] * 3


def test_after_a_stop_no_step_of_the_schedule_is_followed() -> None:
    """A stopped run only unwinds: the baton moves from each that ends to the next."""
    baton = explicit(("anna", "model", 1, "bert"), ("anna", "gateway", 1, "cleo"))

    def stopping() -> None:
        baton.stop("watchdog")

    def unwinding() -> None:
        try:
            baton.checkpoint("model")
        finally:
            baton.checkpoint("gateway")

    baton.run({"anna": unwinding, "bert": stopping, "cleo": stopping}, wall_ms_max=WALL_MS)

    assert baton.trace() == [
        ["", "start", "anna"],
        ["anna", "model", "bert"],
        ["bert", "finished", "anna"],
        ["anna", "finished", "cleo"],
    ]
    assert [step.point for step in baton.unfired()] == ["gateway"]


def test_a_defect_of_ours_in_one_actor_ends_all_and_is_raised() -> None:
    """An exception that is no stop is never hidden, and leaves no thread waiting."""
    baton = explicit(("anna", "model", 1, "bert"))

    def failing() -> None:
        raise HarnessError("ours")

    jobs = {"anna": worker(baton, [], "anna"), "bert": failing, "cleo": failing}
    with pytest.raises(HarnessError, match="ours"):
        baton.run(jobs, wall_ms_max=WALL_MS)

    assert {"anna", "bert", "cleo"} == set(baton.ends)


def test_an_actor_that_never_comes_back_is_given_up_and_the_others_stop() -> None:
    """A hung actor ends as hung; those that wait for it do not wait for ever."""
    baton = explicit(("anna", "model", 1, "bert"))
    never = threading.Event()
    log: list[str] = []

    def hanging() -> None:
        never.wait()
        baton.checkpoint("model")
        log.append("the dead walk")

    jobs = {"anna": worker(baton, log, "anna"), "bert": hanging, "cleo": hanging}
    complete = baton.run(jobs, wall_ms_max=100)
    never.set()

    assert not complete
    assert log == ["anna0 asks"]
    assert {"hung"} == {e.termination for e in baton.ends.values() if isinstance(e, RunStopped)}
    assert {"anna", "bert", "cleo"} == set(baton.ends)


def test_a_thread_of_the_agents_own_cannot_use_a_port() -> None:
    """Only the actors' threads pass a checkpoint: a helper thread would race with the baton."""
    baton = explicit()
    met: list[str] = []

    def stray() -> None:
        try:
            baton.checkpoint("gateway")
        except RunStopped as stop:
            met.append(stop.termination)

    def spawning() -> None:
        helper = threading.Thread(target=stray)
        helper.start()
        helper.join()

    jobs = {"anna": spawning, "bert": lambda: None, "cleo": lambda: None}
    baton.run(jobs, wall_ms_max=WALL_MS)

    assert met == ["agent_error"]


@pytest.mark.parametrize("actors", [(), ("anna",), ("anna", "anna")])
def test_a_baton_is_for_several_actors(actors: tuple[str, ...]) -> None:
    """One actor needs no schedule, and two of one name cannot be told apart."""
    with pytest.raises(HarnessError, match="two or more actors"):
        Baton(actors, SeededChooser("1"))


def test_a_scenario_schedule_makes_its_baton() -> None:
    """Explicit steps are followed; a seeded one follows the run's seed."""
    step = ScheduleStep(actor="anna", point="model", to="bert")
    authored = Baton.of(Schedule(kind="explicit", steps=[step]), ACTORS, "5")
    seeded = Baton.of(Schedule(), ACTORS, "5")
    twin = Baton(ACTORS, SeededChooser("5"))

    assert (run_all(authored), authored.trace())[1][1] == ["anna", "model", "bert"]
    assert (run_all(seeded), seeded.trace()) == (run_all(twin), twin.trace())
