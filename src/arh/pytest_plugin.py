"""The pytest plugin: each line of a scenario file is a test.

A file counts if its name ends in `.jsonl` and it lies in a category's folder below one of the
folders that the ini option `arh_scenarios` names (default `scenarios`). A test is named after its
scenario; it fails with what was expected and found, the path, the effects and the command that
replays the run. A run that could not be judged is a failure too. A negative control passes by
failing as it says. What is wrong with a file is an error of its collection.

pytest loads this module in every run of an environment that has arh, so it imports nothing of arh
before there is a scenario to collect.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from arh.bootstrap import Suite
    from arh.errors import AuthoringError
    from arh.harness.pipeline import Pipeline
    from arh.records.control.plan import Located, PlannedRun, RunPlan
    from arh.records.control.verdict import ScenarioVerdict

FOLDERS = "arh_scenarios"
ENDPOINT = "arh_model_endpoint"
OPTIONS = {
    "arh_datasets": "folder of the datasets (default: datasets, else the packaged ones)",
    "arh_fixtures": "folder of the model scripts (default: fixtures, else the packaged ones)",
    "arh_workflow": "workflow pack of the scenarios (default: the one that their folder names)",
    "arh_agent": "command of the agent under test, over JSON lines (default: the reference agent)",
}
SUFFIX = ".jsonl"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the ini options."""
    about = "folders, relative to rootdir, whose .jsonl files are scenarios"
    parser.addini(FOLDERS, about, type="args", default=["scenarios"])
    for name, text in OPTIONS.items():
        parser.addini(name, text, default="")
    parser.addini(
        ENDPOINT, "let the agent's libraries reach the run's model", "bool", default=False
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker of scenario tests, so that `-m "not arh"` leaves them out."""
    config.addinivalue_line("markers", "arh: a scenario, run and judged by arh")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> ScenarioFile | None:
    """Collect a scenario file that lies where scenarios are kept."""
    if file_path.suffix != SUFFIX:
        return None
    root = parent.config.rootpath
    for name in parent.config.getini(FOLDERS):
        folder = root / name
        if folder in file_path.parents and _is_categorised(file_path.relative_to(folder)):
            return ScenarioFile.from_parent(parent, path=file_path)
    return None


def _is_categorised(relative: Path) -> bool:
    from arh.records.control.scenario import Category

    return not {str(category) for category in Category}.isdisjoint(relative.parts[:-1])


class ScenarioFile(pytest.File):
    """A file of scenarios."""

    def collect(self) -> Iterator[ScenarioItem]:
        """Yield a test for each line; whatever is wrong with any of them is listed."""
        from arh.errors import AuthoringError

        bench = self.config.stash.setdefault(BENCH, _Bench(self.config))
        try:
            located = bench.read(self.path)
        except AuthoringError as error:
            raise self.CollectError(bench.listed(error)) from None
        for one in located:
            yield ScenarioItem.from_parent(self, name=one.scenario.id, located=one)


class ScenarioItem(pytest.Item):
    """One scenario: run through the gateway, judged by every evaluator."""

    def __init__(self, *, located: Located, **options: object) -> None:
        """Hold the scenario."""
        super().__init__(**options)  # type: ignore[arg-type]  # pytest passes what it needs
        self.located = located
        self.add_marker("arh")
        self.extra_keyword_matches.update(located.scenario.tags)

    def runtest(self) -> None:
        """Run and judge the scenario.

        Raises:
            ScenarioFailedError: It was not as it must be, or could not be judged.
        """
        from arh.harness.authoring.plan import is_retired

        scenario = self.located.scenario
        if is_retired(scenario):
            pytest.skip(scenario.retirement)
        run, verdict = self.config.stash[BENCH].judged(self.located)
        trouble = _trouble(run, verdict)
        if trouble and scenario.role == "unscored":
            pytest.skip(f"unscored: {trouble}")
        if trouble:
            raise ScenarioFailedError(trouble, verdict)

    def repr_failure(
        self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None
    ) -> str:
        """Say what failed in the lines that every report of arh uses."""
        from arh.errors import ArhError
        from arh.render.text import console

        if isinstance(excinfo.value, ScenarioFailedError):
            return "\n".join(map(console, excinfo.value.lines()))
        if isinstance(excinfo.value, ArhError):
            return console(str(excinfo.value))
        return str(super().repr_failure(excinfo))

    def reportinfo(self) -> tuple[Path, int, str]:
        """Name the place of the scenario."""
        return self.path, self.located.line - 1, self.name


class ScenarioFailedError(Exception):
    """A scenario was not as it must be."""

    def __init__(self, trouble: str, verdict: ScenarioVerdict) -> None:
        """Hold what is wrong, and the verdict that shows it."""
        super().__init__(trouble)
        self.trouble = trouble
        self.verdict = verdict

    def lines(self) -> tuple[str, ...]:
        """Return the run in a few lines, the trouble first where they do not say it."""
        from arh.render.failures import failure_lines

        lines = failure_lines(self.verdict)
        plain = self.verdict.role == "acceptance" and self.verdict.status == "fail"
        return lines if plain else (self.trouble, *lines)


def _trouble(run: PlannedRun, verdict: ScenarioVerdict) -> str:
    """Return what is wrong with a verdict in view of its scenario's role, or nothing."""
    from arh.decision.conformance import behaviour

    if verdict.role in {"positive_control", "negative_control"}:
        odd = behaviour(run, verdict)
        return f"{verdict.role}: {odd}" if odd else ""
    if verdict.status == "pass":
        return ""
    reason = next(iter(verdict.reasons), "no reason given")
    return reason if verdict.status == "fail" else f"could not be judged: {reason}"


class _Bench:
    """What all scenario tests of a session share, made when the first one needs it."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._grounds: dict[str, Suite] = {}
        self._pipelines: dict[str, Pipeline] = {}
        self._workflows: dict[str, str] = {}
        self._first: dict[tuple[str, str], Located] = {}

    def read(self, path: Path) -> tuple[Located, ...]:
        """Return the scenarios of a file, named from rootdir; an id occurs once in a workflow."""
        from dataclasses import replace

        name = path.relative_to(self._config.rootpath).as_posix()
        workflow = self._workflows[name] = self._workflow(path)
        loaded = self.ground(workflow).reading(path).loaded
        located = tuple(replace(one, path=name) for one in loaded.scenarios)
        for one in located:
            self._check_unique(one)
        return located

    def _workflow(self, path: Path) -> str:
        """Return the workflow of a file's scenarios."""
        from arh.bootstrap import workflow_at

        return str(self._config.getini("arh_workflow")) or workflow_at(path)

    def ground(self, workflow: str) -> Suite:
        """Return the datasets, the scripts and the pack of a workflow."""
        if workflow not in self._grounds:
            from arh.bootstrap import ground
            from arh.harness.authoring.roots import Root, find_root

            root = self._config.rootpath
            roots = {
                name: find_root(name, self._option(f"arh_{name}"), working=root)
                for name in ("datasets", "fixtures")
            }
            roots["scenarios"] = Root(root, "working")
            self._grounds[workflow] = ground(roots, workflow)
        return self._grounds[workflow]

    def judged(self, located: Located) -> tuple[PlannedRun, ScenarioVerdict]:
        """Run a scenario and return its verdict."""
        from arh.bootstrap import SEED
        from arh.harness.authoring.plan import plan_runs
        from arh.harness.judging.judge import broken
        from arh.harness.pipeline import run_one

        plan = plan_runs((located,), seed=SEED)
        (run,) = plan.runs
        done = run_one(run, self._piped(plan, self._workflows[located.path]))
        if isinstance(done, str):
            return run, broken(located, run.run_id, done)
        return run, done[1]

    def _piped(self, plan: RunPlan, workflow: str) -> Pipeline:
        """Return the session's pipeline of a workflow, for one plan."""
        from dataclasses import replace

        from arh.bootstrap import UnderTest, pipeline

        if workflow not in self._pipelines:
            under_test = UnderTest.of(
                self._config.getini("arh_agent") or None,
                model_endpoint=self._config.getini(ENDPOINT),
            )
            self._pipelines[workflow] = pipeline(self.ground(workflow), plan, under_test)
        made = self._pipelines[workflow]
        return replace(made, bench=replace(made.bench, plan_digest=plan.digest))

    def _check_unique(self, located: Located) -> None:
        """Refuse an id that another line of the session and the workflow has.

        Raises:
            AuthoringError: It names both places.
        """
        from arh.errors import AuthoringError

        identity = located.scenario.id
        workflow = located.scenario.workflow
        first = self._first.setdefault((workflow, identity), located)
        if first.location != located.location:
            raise AuthoringError.of(
                identity,
                expected=f"an id that {first.location} does not have already",
                file=located.path,
                line=located.line,
                field="id",
            )

    def _option(self, name: str) -> Path | None:
        """Return the folder that an ini option names, from rootdir."""
        named = self._config.getini(name)
        return self._config.rootpath / named if named else None

    def listed(self, error: AuthoringError) -> str:
        """Return the problems, their files named from rootdir."""
        from dataclasses import replace

        root = f"{self._config.rootpath}{os.sep}"
        problems = (replace(p, file=p.file.removeprefix(root)) for p in error.problems)
        return "\n".join(map(str, problems))


BENCH = pytest.StashKey[_Bench]()
