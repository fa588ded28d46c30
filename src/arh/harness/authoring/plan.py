"""Plans every run before anything runs, so that nothing can quietly go missing.

Ids and seeds follow by hash from the scenario's digest, the plan's seed and the trial: the order of
files, the machine and the clock have no say. Whatever was loaded and will not count is listed with
its reason.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Final

from arh import canonical
from arh.errors import AuthoringError, Problem, closest
from arh.records.control.plan import Exclusion, Located, PlannedRun, RunPlan
from arh.records.control.scenario import Scenario

SEED_BITS: Final = 53
_ID_HEX: Final = 16
_RETIRED: Final = "retired"
_SELECTORS: Final[dict[str, Callable[[Scenario], Iterable[str]]]] = {
    "id": lambda scenario: (scenario.id,),
    "category": lambda scenario: (str(scenario.category),),
    "tag": lambda scenario: scenario.tags,
    "role": lambda scenario: (scenario.role,),
    "risk": lambda scenario: (scenario.risk_class,),
    "split": lambda scenario: (scenario.split,),
}


def plan_runs(
    scenarios: Sequence[Located], *, seed: int, only: Sequence[str] = (), trials: int = 1
) -> RunPlan:
    """Return the runs in the suite's order, and what is left out or does not count.

    Args:
        scenarios: What was loaded.
        seed: The plan's seed; a scenario's own seed takes its place for that scenario.
        only: Patterns (`*`, `?`) of ids, or `category:`, `tag:`, `role:`, `risk:`, `split:` and a
            pattern. A scenario that matches any of them is run.
        trials: How often each scenario runs, with a seed of its own each time.

    Raises:
        AuthoringError: A pattern matches nothing, or nothing would run.
    """
    _check_patterns(scenarios, only)
    wanted = [located for located in scenarios if is_wanted(located.scenario, only)]
    live = [located for located in wanted if not is_retired(located.scenario)]
    if not live or trials < 1:
        raise AuthoringError.of(
            "nothing would run", hint="a run without scenarios can never be a pass; widen --only"
        )
    runs = tuple(_run(located, seed, trial) for located in live for trial in range(1, trials + 1))
    exclusions = tuple(_exclusions(scenarios, only))
    return RunPlan(runs, exclusions, _digest(runs, exclusions, seed), seed)


def run_id(scenario_digest: str, *, seed: int, trial: int = 1) -> str:
    """Return the id of one run: `run-` and 16 hexadecimal digits."""
    return f"run-{_hash('run', scenario_digest, seed, trial)[:_ID_HEX]}"


def run_seed(located: Located, *, seed: int, trial: int = 1) -> int:
    """Return the seed of one run, a whole number that every JSON reader keeps exact."""
    own = located.scenario.controls.seed
    if own is not None and trial == 1:
        return own
    digest = _hash("seed", located.digest, seed if own is None else own, trial)
    return int(digest, 16) >> (256 - SEED_BITS)


def is_retired(scenario: Scenario) -> bool:
    """Return true if the scenario's retirement begins with the word retired: it no longer runs."""
    return scenario.retirement.casefold().startswith(_RETIRED)


def is_wanted(scenario: Scenario, only: Sequence[str]) -> bool:
    """Return true if a scenario matches a pattern, or there is none."""
    return not only or any(_matches(scenario, pattern) for pattern in only)


def _matches(scenario: Scenario, pattern: str) -> bool:
    selector, _, text = pattern.rpartition(":")
    values = _SELECTORS.get(selector or "id")
    return values is not None and any(fnmatchcase(value, text) for value in values(scenario))


def _check_patterns(scenarios: Sequence[Located], only: Sequence[str]) -> None:
    """Refuse patterns that match nothing: a typing error must not make a run smaller."""
    problems = [
        Problem(
            pattern,
            "a pattern that matches a scenario",
            field="--only",
            hint=_nearest(pattern, scenarios),
        )
        for pattern in only
        if not any(_matches(located.scenario, pattern) for located in scenarios)
    ]
    if problems:
        raise AuthoringError(*problems)


def _nearest(pattern: str, scenarios: Sequence[Located]) -> str:
    selector, _, text = pattern.rpartition(":")
    values = _SELECTORS.get(selector or "id")
    if values is None:
        return closest(selector, _SELECTORS) or f"selectors: {', '.join(_SELECTORS)}"
    return closest(text, {value for located in scenarios for value in values(located.scenario)})


def _run(located: Located, seed: int, trial: int) -> PlannedRun:
    return PlannedRun(
        run_id(located.digest, seed=seed, trial=trial),
        run_seed(located, seed=seed, trial=trial),
        located,
        trial,
    )


def _exclusions(scenarios: Sequence[Located], only: Sequence[str]) -> Iterator[Exclusion]:
    for located in scenarios:
        scenario = located.scenario
        if not is_wanted(scenario, only):
            yield Exclusion(scenario.id, located.location, "not run: left out by --only")
        elif is_retired(scenario):
            yield Exclusion(scenario.id, located.location, f"not run: {scenario.retirement}")
        elif scenario.role == "unscored":
            yield Exclusion(scenario.id, located.location, "run and not counted: role unscored")


def _digest(runs: tuple[PlannedRun, ...], exclusions: tuple[Exclusion, ...], seed: int) -> str:
    """Return the digest over everything that a plan says."""
    return canonical.digest(
        {
            "seed": seed,
            "runs": [
                [run.run_id, run.seed, run.trial, run.located.digest, run.located.location]
                for run in runs
            ],
            "exclusions": [[e.scenario_id, e.location, e.reason] for e in exclusions],
        }
    )


def _hash(purpose: str, scenario_digest: str, seed: int, trial: int) -> str:
    return hashlib.sha256(f"{purpose}\0{scenario_digest}\0{seed}\0{trial}".encode()).hexdigest()
