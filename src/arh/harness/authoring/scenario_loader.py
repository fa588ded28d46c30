"""Loads a suite of scenarios: every line strictly, every mistake of every file at once.

The first step of a scenario's path. Lines are one JSON object each, in files under
`<workflow>/<category>/` or, in the flat layout, `<category>/`; what lies in the folder of another
workflow is left for that one. A line of schema 3.0 is validated as it stands, one of the published
schema 2.0 is upgraded first, any other version is refused. If anything is wrong anywhere, all of it
is raised as one `AuthoringError`, and nothing runs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Final

from arh import canonical
from arh.canonical import JsonValue
from arh.errors import AuthoringError, Problem, safe
from arh.harness.authoring.authoring import capped, read_model, shown
from arh.harness.authoring.datasets import DatasetCatalogue
from arh.harness.authoring.files import LINE_BYTES_MAX, find_files, lines, passed_over, read_inside
from arh.harness.authoring.known import EVALUATORS, Known
from arh.harness.authoring.scenario_rules import scenario_problems
from arh.records.control.plan import Located
from arh.records.control.scenario import Category, Scenario
from arh.records.packs import WorkflowPack
from arh.records.upgrade import Vocabulary, upgrade_scenario

VERSIONS: Final = ("3.0", "2.0")
_CATEGORIES: Final = frozenset(str(category) for category in Category)
_SUFFIX: Final = ".jsonl"


@dataclass(frozen=True, slots=True)
class Note:
    """What an upgrade filled in for a scenario, or which file was passed over and why."""

    location: str
    text: str


@dataclass(frozen=True, slots=True)
class LoadedSuite:
    """Scenarios in file order; `digest` covers names and bytes of all files.

    `passed_over` are files that look like scenarios' and were not read.
    """

    scenarios: tuple[Located, ...]
    digest: str
    notes: tuple[Note, ...] = ()
    passed_over: tuple[Note, ...] = ()


def load_scenarios(
    root: Path,
    *,
    pack: WorkflowPack,
    scripts: Collection[str],
    catalogue: DatasetCatalogue,
    rules: Collection[str],
    evaluators: Collection[str] = EVALUATORS,
    others: Collection[str] = (),
) -> LoadedSuite:
    """Return every scenario below a folder, of one file, or of one line (`FILE:LINE`).

    Args:
        root: A folder, a file, or a file with `:` and a line number.
        pack: The workflow that the scenarios are for.
        scripts: The model configurations that exist.
        catalogue: The data that they may refer to.
        rules: The rule ids of all evaluators, for failures by design.
        evaluators: The evaluators that criteria may name.
        others: The other workflows that there are: what a folder of such a name holds is theirs.

    Raises:
        AuthoringError: Anything is wrong with any line, or there is none.
    """
    known = Known.of(pack, catalogue, scripts=scripts, rules=rules, evaluators=evaluators)
    suite = _Suite(known, frozenset(others) - {pack.name} - _CATEGORIES)
    folder, files, only = suite.find(root)
    for relative in files:
        suite.read(folder, relative, only=only)
    if not suite.located and not suite.problems:
        hint = "each line of a .jsonl file below a category's folder is one scenario"
        suite.problems.append(Problem("there is no scenario here", file=str(root), hint=hint))
    suite.check_together()
    if suite.problems:
        raise AuthoringError(*capped(suite.problems))
    return LoadedSuite(
        tuple(suite.located), suite.digest(), tuple(suite.notes), tuple(suite.passed_over)
    )


class _Suite:
    """What has been read so far, right and wrong."""

    def __init__(self, known: Known, others: frozenset[str]) -> None:
        self.known = known
        self.others = others
        self.located: list[Located] = []
        self.notes: list[Note] = []
        self.passed_over: list[Note] = []
        self.problems: list[Problem] = []
        self._files: list[tuple[str, str]] = []
        self._shown: dict[str, str] = {}
        self._vocabulary = Vocabulary(
            known.workflow, tuple(known.tools), tuple(sorted(known.policies))
        )

    def find(self, root: Path) -> tuple[Path, tuple[PurePosixPath, ...], int | None]:
        """Return the folder, the files below it that are meant, and the line if one is."""
        if root.is_dir():
            files, problems = find_files(root, _SUFFIX)
            self.problems += problems
            self.passed_over = [
                Note(safe(str(at)), why)
                for at, why in passed_over(root, _SUFFIX)
                if not self._elsewhere(at)
            ]
            return root, tuple(file for file in files if not self._elsewhere(file)), None
        path, only = _file_and_line(root)
        if not path.is_file():
            self.problems.append(Problem("there is no such file or folder", file=str(root)))
            return root, (), None
        real = path.resolve()
        return real.parent, (PurePosixPath(real.name),), only

    def _elsewhere(self, relative: PurePosixPath) -> bool:
        """Return whether a file lies in the folder of another workflow."""
        return len(relative.parts) > 1 and relative.parts[0] in self.others

    def read(self, folder: Path, relative: PurePosixPath, *, only: int | None) -> None:
        """Take in the lines of a file."""
        data = read_inside(folder, relative)
        if isinstance(data, Problem):
            self.problems.append(data)
            return
        self._files.append((str(relative), hashlib.sha256(data).hexdigest()))
        self._shown[str(relative)] = str(folder / relative)
        place = _Place(folder, relative)
        for number, line in lines(data):
            if only is None or only == number:
                self._take(line, number, place)

    def _take(self, line: bytes, number: int, place: _Place) -> None:
        """Take in one line: a scenario, or problems."""
        value = _parsed(line)
        location = f"{place.relative}:{number}"
        read = value if isinstance(value, tuple) else self._scenario(line, value, location)
        if isinstance(read, tuple):
            self.problems += [replace(p, file=place.shown, line=number) for p in read]
            return
        found = [*place.problems(read), *scenario_problems(read, self.known)]
        self.problems += [replace(p, file=place.shown, line=number) for p in found]
        located = Located(read, str(place.relative), number, canonical.digest(value))
        self.located.append(located)

    def _scenario(
        self, line: bytes, value: dict[str, JsonValue], location: str
    ) -> Scenario | tuple[Problem, ...]:
        """Return the scenario that an object is, upgraded if it is of the published schema."""
        version = value.get("schema_version")
        if version == VERSIONS[0]:
            return read_model(Scenario, line)
        if version != VERSIONS[1]:
            return (_unreadable(version),)
        upgraded = upgrade_scenario(value, self._vocabulary)
        if upgraded.problems:
            return upgraded.problems
        read = read_model(Scenario, canonical.line(upgraded.value))
        if isinstance(read, Scenario):
            self.notes += [Note(location, text) for text in upgraded.notes]
        return read

    def check_together(self) -> None:
        """Look at what only all lines together show: repeated ids, and the data that they use."""
        first: dict[str, Located] = {}
        for located in self.located:
            other = first.setdefault(located.scenario.id, located)
            if other is not located:
                self.problems.append(self._repeated(located, other))
        used = {r.collection for at in self.located for r in at.scenario.runtime.dataset_refs}
        for collection in sorted(used & self.known.collections):
            found = self.known.catalogue.load(collection)
            self.problems += found if isinstance(found, tuple) else ()

    def digest(self) -> str:
        """Return the digest over the names and contents of the files."""
        return canonical.digest([list(file) for file in sorted(self._files)])

    def _repeated(self, located: Located, other: Located) -> Problem:
        expected = f"an id that {other.location} does not have already"
        file = self._shown[located.path]
        return Problem(located.scenario.id, expected, file, located.line, "id")


@dataclass(frozen=True, slots=True)
class _Place:
    """A file below a folder, and what its folders say of the scenarios in it."""

    folder: Path
    relative: PurePosixPath

    @property
    def shown(self) -> str:
        """The path as the user can open it."""
        return str(self.folder / self.relative)

    def problems(self, scenario: Scenario) -> Iterator[Problem]:
        """Yield where the folders and a scenario do not agree."""
        below = self.relative.parts[:-1]
        whole = (self.folder.resolve().name, *below)
        at = max((i for i, name in enumerate(whole) if name in _CATEGORIES), default=None)
        if at is None:
            if below:
                hint = "the file belongs into a folder named after the category"
                yield Problem(below[-1], "a category's folder", field="category", hint=hint)
        elif whole[at] != scenario.category:
            yield Problem(scenario.category, f"{whole[at]}, as the folder says", field="category")
        name = scenario.workflow.partition("@")[0]
        if at is not None and at > 1 and whole[at - 1] != name:
            yield Problem(name, f"{whole[at - 1]}, as the folder says", field="workflow")


def _file_and_line(root: Path) -> tuple[Path, int | None]:
    """Split `FILE:LINE`; a file whose name really ends like that is a file."""
    name, _, number = root.name.rpartition(":")
    if name and number.isascii() and number.isdigit() and not root.exists():
        return root.with_name(name), int(number)
    return root, None


def _parsed(line: bytes) -> dict[str, JsonValue] | tuple[Problem, ...]:
    """Return the object that a line is, or why it is none."""
    try:
        value = canonical.parse(line, size_max=LINE_BYTES_MAX)
    except canonical.Refused as refused:
        at = f" at column {refused.column}" if refused.column else ""
        hint = "each line is one JSON object" if refused.reason == "cut short" else ""
        return (Problem(f"not strict JSON: {refused.reason}{at}", field=refused.path, hint=hint),)
    if not isinstance(value, dict):
        return (Problem(shown(value), "an object, one scenario a line"),)
    return value


def _unreadable(version: JsonValue) -> Problem:
    readable = " or ".join(VERSIONS)
    hint = "a newer arh may read it" if isinstance(version, str) and version > VERSIONS[0] else ""
    found = "" if version is None else shown(version)
    return Problem(found, f"schema version {readable}", field="schema_version", hint=hint)
