"""The baton: several actors' threads, of which exactly one runs at any time.

An actor keeps the baton until it comes to a checkpoint (a point inside a port) where the schedule
hands it on, or until it ends. So the interleaving is the schedule's choice alone, explicit or drawn
from the run's seed, and the same on every machine however its threads are timed. Every hand-over is
on record. A stop in one actor stops every other at its next checkpoint; an actor that never comes
back is given up, and the rest stop. A run of one actor needs no baton and must not have one.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final, Protocol

from arh.errors import HarnessError, RunStopped
from arh.harness.running.errand import Job, run_to_end
from arh.records.control.scenario import Schedule, ScheduleStep
from arh.sim.streams import Streams

START: Final = "start"
FINISHED: Final = "finished"
ACTORS_MIN: Final = 2


class Chooser(Protocol):
    """Says who is next."""

    def choose(self, actor: str, point: str, nth: int, ready: tuple[str, ...]) -> str:
        """Return one of `ready`, given that `actor` is at `point` for the `nth` time.

        `ready` are the actors that have not ended, in the scenario's order.
        """
        ...


class Baton:
    """Lets the actors' threads run one at a time; implements `ports.environment.Checkpoint`."""

    def __init__(self, actors: Sequence[str], chooser: Chooser) -> None:
        """Make the baton of two or more actors, held by none of them yet.

        Raises:
            HarnessError: There are fewer than two actors, or one twice.
        """
        if len(set(actors)) != len(actors) or len(actors) < ACTORS_MIN:
            raise HarnessError(f"a baton needs two or more actors, each once, not {len(actors)}")
        self.ends: dict[str, BaseException | None] = {}
        self.given_up: list[str] = []
        self._chooser = chooser
        self._unfinished = list(actors)
        self._holder = ""
        self._stop: RunStopped | None = None
        self._released = False
        self._counts: Counter[tuple[str, str]] = Counter()
        self._trace: list[tuple[str, str, str]] = []
        self._actors: dict[int, str] = {}
        self._turn = threading.Condition()

    @classmethod
    def of(cls, schedule: Schedule, actors: Sequence[str], seed: str) -> Baton:
        """Return the baton of a scenario's schedule; `seed` is the run's."""
        if schedule.kind == "explicit":
            return cls(actors, ExplicitChooser(schedule.steps))
        return cls(actors, SeededChooser(seed))

    def run(self, jobs: Mapping[str, Job], *, wall_ms_max: int) -> bool:
        """Run every actor's job to its end and return true, or false if one had to be given up.

        `ends` then says of each actor what its job raised, `None` if nothing; one that was given up
        ended in `RunStopped("hung")`.

        Raises:
            Exception: What a job raised that is no `RunStopped`: our own defect, never hidden.
        """
        with self._turn:
            self._pass_on("", START)
        for actor in tuple(self._unfinished):
            job = jobs[actor]
            name = f"arh-actor-{actor}"
            threading.Thread(target=self._act, args=(actor, job), name=name, daemon=True).start()
        complete = self._wait_for_all(wall_ms_max / 1000)
        self._holder = ""
        for error in self.ends.values():
            if error is not None and not isinstance(error, RunStopped):
                raise error
        return complete

    def checkpoint(self, point: str) -> None:
        """Return when the calling actor may go on; others may have run meanwhile.

        Raises:
            RunStopped: The run was stopped, or the calling thread is none of the actors'.
        """
        with self._turn:
            actor = self._caller()
            self._raise_if_stopped()
            self._counts[actor, point] += 1
            nth = self._counts[actor, point]
            to = self._chooser.choose(actor, point, nth, tuple(self._unfinished))
            if to != actor:
                self._hand(actor, point, to)
                self._wait_for_turn(actor)
            self._raise_if_stopped()

    def stop(self, termination: str, detail: str = "") -> None:
        """Let every actor end at its next checkpoint; the first stop counts."""
        if self._stop is None:
            self._stop = RunStopped(termination, detail)

    def acting(self) -> str:
        """Return the actor that holds the baton, empty while none does."""
        return self._holder

    @property
    def stopped(self) -> bool:
        """Whether every actor ends at its next checkpoint."""
        return self._stop is not None

    def trace(self) -> list[list[str]]:
        """Return the hand-overs in order: from whom, at which point, to whom."""
        return [list(step) for step in self._trace]

    def unfired(self) -> tuple[ScheduleStep, ...]:
        """Return the explicit steps that never happened: the schedule was not the one asked for."""
        chooser = self._chooser
        return chooser.unfired() if isinstance(chooser, ExplicitChooser) else ()

    def finish(self, actor: str, error: BaseException | None) -> None:
        """End an actor and hand its baton on; whoever was given up has ended before."""
        with self._turn:
            if actor not in self._unfinished:
                return
            self.ends[actor] = error
            self._unfinished.remove(actor)
            if isinstance(error, RunStopped):
                self.stop(error.termination, error.detail)
            elif error is not None:
                self.stop("harness_error", "another actor's thread failed")
            if self._unfinished:
                self._pass_on(actor, FINISHED)
            self._turn.notify_all()

    def _act(self, actor: str, job: Job) -> None:
        """Run one actor's job in the thread that is its own, and end the actor with it."""
        run_to_end(partial(self._take_turns, actor, job), partial(self.finish, actor))

    def _take_turns(self, actor: str, job: Job) -> None:
        with self._turn:
            self._actors[threading.get_ident()] = actor
            self._wait_for_turn(actor)
            self._raise_if_stopped()
        job()

    def _caller(self) -> str:
        """Return the actor whose thread this is."""
        actor = self._actors.get(threading.get_ident(), "")
        if not actor:
            raise RunStopped("agent_error", "a port was used from a thread that is no actor's")
        return actor

    def _pass_on(self, actor: str, point: str) -> None:
        ready = tuple(self._unfinished)
        self._hand(actor, point, self._chooser.choose(actor, point, 1, ready))

    def _hand(self, actor: str, point: str, to: str) -> None:
        self._trace.append((actor, point, to))
        self._holder = to
        self._turn.notify_all()

    def _wait_for_turn(self, actor: str) -> None:
        self._turn.wait_for(lambda: self._holder == actor or self._released)

    def _raise_if_stopped(self) -> None:
        if self._stop is not None:
            raise RunStopped(self._stop.termination, self._stop.detail)

    def _wait_for_all(self, wall_s: float) -> bool:
        """Return true when all have ended; whoever holds the baton for too long is given up."""
        complete = True
        try:
            with self._turn:
                while not self._turn.wait_for(lambda: not self._unfinished, wall_s):
                    complete = False
                    self._give_up(self._holder)
        finally:
            self._release()
        return complete

    def _give_up(self, actor: str) -> None:
        """End an actor in its absence; the lock is held, and may be taken again."""
        self.given_up.append(actor)
        self.finish(actor, RunStopped("hung", "the actor did not come back"))

    def _release(self) -> None:
        """Let nobody wait for a turn that will not come: after an interrupt some still do."""
        with self._turn:
            if self._unfinished:
                self.stop("hung", "nobody waits for the actors any more")
                self._released = True
                self._turn.notify_all()


class ExplicitChooser:
    """Follows the authored steps: without a step the baton stays, or goes to the first in order."""

    def __init__(self, steps: Sequence[ScheduleStep]) -> None:
        """Hold the steps; of two for the same arrival the first counts."""
        self._steps = tuple(steps)
        self._fired: set[int] = set()

    def choose(self, actor: str, point: str, nth: int, ready: tuple[str, ...]) -> str:
        """Return the step's target if it has not ended, else the actor itself."""
        for index, step in enumerate(self._steps):
            if (step.actor, step.point, step.nth) == (actor, point, nth) and step.to in ready:
                self._fired.add(index)
                return step.to
        return actor if actor in ready else ready[0]

    def unfired(self) -> tuple[ScheduleStep, ...]:
        """Return the steps that never happened."""
        return tuple(s for index, s in enumerate(self._steps) if index not in self._fired)


class SeededChooser:
    """Draws who is next at every point, from a stream of the run's seed."""

    def __init__(self, seed: str) -> None:
        """Start the stream."""
        self._streams = Streams(f"schedule:{seed}")

    def choose(self, actor: str, point: str, nth: int, ready: tuple[str, ...]) -> str:
        """Return one of those that have not ended, each equally likely."""
        return ready[self._streams.choice("baton", len(ready))]
