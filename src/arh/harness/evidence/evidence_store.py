"""Evidence on disk: parts of chained lines, initial states once by digest, the manifest last.

evidence/part-0000.jsonl runs, contiguous and in plan order; a new part every 64 MiB
evidence/states/<digest>.json evidence/scenarios.jsonl the scenarios as judged, by place
evidence/manifest.json written last: a folder without it is unfinished
evidence/unfinished there until then: what lies beside it under our names is ours to remove

A chain shows that lines were altered, inserted, dropped or reordered, and the manifest digests all
files and itself. None of that can show that somebody who can write the folder rewrote all of it:
keep the manifest's digest elsewhere if that matters.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Container, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from arh.canonical import Refused, digest, encode, line, parse
from arh.errors import QUOTED_CHARS_MAX, AuthoringError, safe
from arh.harness.evidence.output import RunOutput
from arh.harness.evidence.recorder import Redact, chained, genesis, unchained
from arh.harness.evidence.states import state_from
from arh.harness.evidence.written_scenarios import authored, written_scenario
from arh.records.control.evidence import StateView
from arh.records.control.plan import Exclusion, Located, PlannedRun, RunPlan
from arh.records.control.scenario import Scenario

SCHEMA_VERSION = "1.0"
PART_BYTES_MAX = 64 * 1024 * 1024
LINE_BYTES_MAX = 64 * 1024 * 1024
PART_NAME = re.compile(r"part-[0-9]{4}\.jsonl")
HEX = re.compile(r"[0-9a-f]{64}")
MANIFEST = "manifest.json"
SCENARIOS = "scenarios.jsonl"
UNFINISHED = "unfinished"
EVIDENCE_NAME = re.compile(
    rf"part-[0-9]{{4}}\.jsonl|\.?{re.escape(MANIFEST)}(\.new)?|{re.escape(SCENARIOS)}|{UNFINISHED}"
)
MARK = b"arh is writing evidence here; a next run removes what this one left\n"

Data = dict[str, Any]


class EvidenceWriter:
    """The one writer of an evidence folder."""

    def __init__(
        self, folder: Path, plan: RunPlan, *, redact: Redact, part_bytes_max: int = PART_BYTES_MAX
    ) -> None:
        """Start an unfinished folder: what an earlier run left there is removed first.

        Raises:
            AuthoringError: A scenario holds a secret without which it cannot be read, or the
                folder cannot be written.
        """
        self._folder, self._plan, self._part_bytes_max = folder, plan, part_bytes_max
        self._problems: list[str] = []
        self._runs: list[Data] = []
        self._parts: list[_Part] = []
        self._states: dict[str, str] = {}
        exclusions = [[e.scenario_id, e.location, e.reason] for e in plan.exclusions]
        self._exclusions = authored(redact, {"exclusions": exclusions})["exclusions"]
        self._changed: dict[str, PlannedRun] = {}
        try:
            _begin(folder)
            self._scenarios = self._write_scenarios(redact)
        except OSError as error:
            found = f"evidence cannot be written: {type(error).__name__}"
            hint = "name a folder that may be written"
            raise AuthoringError.of(found, file=str(folder), field="--out", hint=hint) from None

    @property
    def written(self) -> int:
        """How many runs were written."""
        return len(self._runs)

    @property
    def problems(self) -> tuple[str, ...]:
        """What could not be written: a run of which anything is missing is not on record."""
        return tuple(self._problems)

    def add(self, output: RunOutput) -> None:
        """Write one run's lines, and its initial state if it is a new one.

        After a failure to write nothing more is written: what lies there has no known end.
        """
        if self._problems:
            return
        try:
            self._add(output)
        except OSError as error:
            self._problems.append(f"evidence cannot be written: {type(error).__name__}")

    def _add(self, output: RunOutput) -> None:
        part = self._part()
        entry = {"run": output.run_id, "part": part.name, "line": part.lines + 1}
        part.write(output.lines)
        self._runs.append({**entry, "lines": len(output.lines), "root": output.root})
        if output.initial_digest not in self._states:
            path = self._folder / "states" / f"{output.initial_digest}.json"
            path.write_bytes(output.initial)
            self._states[output.initial_digest] = hashlib.sha256(output.initial).hexdigest()

    def as_written(self, run: PlannedRun) -> PlannedRun:
        """Return the run with its scenario as it lies in the folder, which it is judged by."""
        return self._changed.get(run.run_id, run)

    def close(self, about: Mapping[str, object]) -> str:
        """Finish the folder with its manifest and return the manifest's digest.

        A folder that could not be written stays unfinished, and there is no digest.
        """
        try:
            return self._close(about)
        except OSError as error:
            self._problems.append(f"evidence cannot be finished: {type(error).__name__}")
            return ""

    def _close(self, about: Mapping[str, object]) -> str:
        for part in self._parts:
            part.close()
        manifest = {
            "schema_version": SCHEMA_VERSION,
            **about,
            "plan": self._plan.digest,
            "seed": self._plan.seed,
            "planned": len(self._plan.runs),
            "exclusions": self._exclusions,
            "runs": self._runs,
            "parts": [part.about() for part in self._parts],
            "states": self._states,
            "scenarios": self._scenarios,
        }
        found = digest(manifest)
        replace_file(self._folder / MANIFEST, encode({**manifest, "digest": found}) + b"\n")
        (self._folder / UNFINISHED).unlink()
        return found

    def _write_scenarios(self, redact: Redact) -> str:
        hashed = hashlib.sha256()
        with (self._folder / SCENARIOS).open("xb") as file:
            for run in self._plan.runs:
                row, kept = written_scenario(run, redact)
                if kept is not run:
                    self._changed[run.run_id] = kept
                hashed.update(row + b"\n")
                file.write(row + b"\n")
        return hashed.hexdigest()

    def _part(self) -> _Part:
        if not self._parts or self._parts[-1].bytes >= self._part_bytes_max:
            if self._parts:
                self._parts[-1].close()
            name = f"part-{len(self._parts):04d}.jsonl"
            self._parts.append(_Part(name, (self._folder / name).open("xb")))
        return self._parts[-1]


class _Part:
    """One part file, hashed while it is written."""

    def __init__(self, name: str, file: BinaryIO) -> None:
        self.name, self.bytes, self.lines = name, 0, 0
        self._file, self._hash = file, hashlib.sha256()

    def write(self, lines: tuple[bytes, ...]) -> None:
        block = b"\n".join(lines) + b"\n"
        self._file.write(block)
        self._hash.update(block)
        self.bytes += len(block)
        self.lines += len(lines)

    def close(self) -> None:
        if not self._file.closed:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()

    def about(self) -> Data:
        return {"name": self.name, "bytes": self.bytes, "sha256": self._hash.hexdigest()}


def replace_file(path: Path, content: bytes) -> None:
    """Replace a file as a whole: a reader sees the old content or the new, never a part."""
    fresh = path.with_name(f".{path.name}.new")
    fresh.unlink(missing_ok=True)
    with fresh.open("xb") as file:
        file.write(content)
    fresh.replace(path)


def owned_names(folder: Path) -> frozenset[str]:
    """Return the names of the files in an evidence folder that a run of ours wrote.

    Raises:
        AuthoringError: There is a manifest and it is none of ours.
    """
    states = folder / "states"
    if (folder / UNFINISHED).is_file() and (folder / UNFINISHED).read_bytes() == MARK:
        return frozenset(
            path.name
            for path in (*_listed(folder), *_listed(states))
            if EVIDENCE_NAME.fullmatch(path.name) or HEX.fullmatch(path.stem)
        )
    if not os.path.lexists(folder / MANIFEST):
        return frozenset()
    manifest = _manifest(folder)
    parts = (str(part["name"]) for part in manifest["parts"])
    names = (f"{name}.json" for name in manifest["states"])
    return frozenset({MANIFEST, f".{MANIFEST}.new", SCENARIOS, *parts, *names})


def _listed(folder: Path) -> Iterator[Path]:
    return folder.iterdir() if folder.is_dir() else iter(())


def _begin(folder: Path) -> None:
    """Leave nothing of an earlier run, everything of others, and the mark that this one began."""
    owned = owned_names(folder)
    states = folder / "states"
    states.mkdir(parents=True, exist_ok=True)
    for path in (*_listed(states), *_listed(folder)):
        if path.name in owned and path.name != MANIFEST and not path.is_dir():
            path.unlink()
    replace_file(folder / UNFINISHED, MARK)
    if MANIFEST in owned:
        (folder / MANIFEST).unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class StoredRun:
    """One run as it lies on disk; `entry` is the manifest's row for it."""

    run_id: str
    entry: Data
    lines: tuple[bytes, ...]
    initial: StateView | None


class EvidenceFolder:
    """A finished evidence folder, read back."""

    def __init__(self, folder: Path) -> None:
        """Read the manifest; a folder without one, or of a newer major, is refused."""
        self.folder = folder
        self.manifest = _manifest(folder)
        self.digest = digest(self.manifest)
        self._views: dict[str, StateView | None] = {}

    def runs(self) -> Iterator[StoredRun]:
        """Yield every run in order; lines that are missing are simply not there."""
        part = ""
        lines: Iterator[bytes] = iter(())
        for entry in self.manifest["runs"]:
            if entry["part"] != part:
                part, lines = entry["part"], self._lines(entry["part"])
            taken = tuple(islice(lines, entry["lines"]))
            yield StoredRun(entry["run"], entry, taken, self._initial(taken))

    def plan(self) -> RunPlan:
        """Return the plan that was run, with every scenario as it was judged.

        Raises:
            AuthoringError: The file was altered, or a scenario in it cannot be read.
        """
        path = self.folder / SCENARIOS
        content = path.read_bytes() if path.is_file() else b""
        if hashlib.sha256(content).hexdigest() != self.manifest.get("scenarios"):
            raise AuthoringError.of("missing or altered", file=SCENARIOS)
        rows = enumerate(content.splitlines(), 1)
        return RunPlan(
            tuple(_planned(number, row) for number, row in rows),
            tuple(Exclusion(*row) for row in self.manifest["exclusions"]),
            self.manifest["plan"],
            self.manifest["seed"],
        )

    def _lines(self, part: str) -> Iterator[bytes]:
        path = self.folder / part
        if path.is_file():
            with path.open("rb") as file:
                for written in file:
                    yield written.rstrip(b"\n")

    def _initial(self, lines: tuple[bytes, ...]) -> StateView | None:
        name = _seeded(lines)
        if name not in self._views:
            self._views[name] = self._read_state(name)
        return self._views[name]

    def _read_state(self, name: str) -> StateView | None:
        path = self.folder / "states" / f"{name}.json"
        if not HEX.fullmatch(name) or not path.is_file():
            return None
        content = path.read_bytes()
        if hashlib.sha256(content).hexdigest() != self.manifest["states"].get(name):
            return None
        return state_from(_object(parse(content, size_max=LINE_BYTES_MAX)))


def _planned(number: int, written: bytes) -> PlannedRun:
    try:
        row = _object(parse(written))
        scenario = Scenario.model_validate_json(line(row["scenario"]))
        located = Located(scenario, str(row["path"]), int(row["line"]), str(row["digest"]))
        return PlannedRun(str(row["run"]), int(row["seed"]), located, int(row["trial"]))
    except (ValueError, KeyError, TypeError) as refusal:
        found = f"unreadable: {type(refusal).__name__}"
        raise AuthoringError.of(found, file=SCENARIOS, line=number) from None


def _seeded(lines: tuple[bytes, ...]) -> str:
    """Return which state a run says it began with, nothing if it cannot be read."""
    for written in lines[:4]:
        if b'"kind":"state_seeded"' in written:
            with suppress(Refused, TypeError):
                return str(_object(parse(written)).get("digest", ""))
    return ""


def _manifest(folder: Path) -> Data:
    path = folder / MANIFEST
    if not path.is_file():
        raise AuthoringError.of(
            "no manifest",
            expected="a finished evidence folder",
            file=str(path),
            hint="run the gate",
        )
    content = path.read_bytes()
    try:
        manifest = _object(parse(content, size_max=LINE_BYTES_MAX))
    except (Refused, TypeError) as refusal:
        raise AuthoringError.of(f"unreadable: {refusal}", file=str(path)) from None
    version = str(manifest.get("schema_version"))
    if version.split(".", 1)[0] != SCHEMA_VERSION.split(".", 1)[0]:
        raise AuthoringError.of(version, expected=f"schema {SCHEMA_VERSION}", file=str(path))
    claimed = manifest.pop("digest", "")
    if digest(manifest) != claimed or encode({**manifest, "digest": claimed}) + b"\n" != content:
        raise AuthoringError.of("altered since it was written", file=str(path))
    return _shaped(manifest, path)


def _shaped(manifest: Data, path: Path) -> Data:
    """Return the manifest if every row that is read later has the shape that is written."""
    kinds = {"run": str, "part": str, "line": int, "lines": int, "root": str}
    runs, parts = manifest.get("runs"), manifest.get("parts")
    well_formed = (
        isinstance(runs, list)
        and isinstance(parts, list)
        and isinstance(manifest.get("states"), dict)
        and isinstance(manifest.get("plan"), str)
        and type(manifest.get("seed")) is int
        and _are_exclusions(manifest.get("exclusions"))
        and all(_is_row(row, kinds) and PART_NAME.fullmatch(row["part"]) for row in runs)
        and all(_is_row(row, {"name": str, "sha256": str}) for row in parts)
        and all(PART_NAME.fullmatch(row["name"]) for row in parts)
    )
    if not well_formed:
        raise AuthoringError.of("not the shape of a manifest", file=str(path))
    return manifest


def _are_exclusions(rows: object) -> bool:
    return isinstance(rows, list) and all(
        isinstance(row, list) and [type(part) for part in row] == [str, str, str] for row in rows
    )


def _is_row(row: object, kinds: Mapping[str, type]) -> bool:
    """Tell whether a row has these fields, a number being no less than 0."""
    return isinstance(row, dict) and all(
        type(row.get(name)) is kind and (kind is str or row[name] >= 0)
        for name, kind in kinds.items()
    )


def _object(value: object) -> Data:
    if not isinstance(value, dict):
        raise TypeError(type(value).__name__)
    return value


def verify(folder: Path) -> tuple[str, ...]:
    """Return what is wrong with an evidence folder, the first bad entry of each run named.

    Else (). Whatever lies there and is not in the manifest is named too.
    """
    return _read(EvidenceFolder(folder)).problems


@dataclass(frozen=True, slots=True)
class ReadBack:
    """What an evidence folder holds when it is read again.

    `intact` is the number of runs of which every line, the state that they began with, and the
    scenario are there and as they were written.
    """

    intact: int
    problems: tuple[str, ...]


def read_back(folder: Path, written: str) -> ReadBack:
    """Return what lies in a folder that was just finished with the manifest digest `written`.

    Never raises: what cannot be read is not there.
    """
    try:
        evidence = EvidenceFolder(folder)
        if not written or evidence.digest != written:
            return ReadBack(0, (f"{MANIFEST}: not the one that was written",))
        return _read(evidence)
    except (AuthoringError, OSError) as error:
        found = error.problems[0].found if isinstance(error, AuthoringError) else ""
        return ReadBack(0, (f"{MANIFEST}: {found or type(error).__name__}",))


def _read(evidence: EvidenceFolder) -> ReadBack:
    folder, manifest = evidence.folder, evidence.manifest
    parts = dict(_bad_parts(folder, manifest))
    scenarios = tuple(_bad_scenarios(folder, manifest))
    runs: list[str] = []
    intact = 0
    for run in evidence.runs():
        problem = _bad_run(run, manifest)
        runs += [problem] if problem else []
        whole = not problem and run.initial is not None and run.entry["part"] not in parts
        intact += whole and not scenarios
    problems = (
        *parts.values(),
        *_bad_states(folder, manifest),
        *scenarios,
        *_strangers(folder, manifest),
        *runs,
        *_missing_runs(manifest),
    )
    return ReadBack(intact, problems)


def _bad_parts(folder: Path, manifest: Data) -> Iterator[tuple[str, str]]:
    """Yield each part that is not as it was written, with what is wrong with it."""
    for part in manifest["parts"]:
        path = folder / part["name"]
        if not path.is_file():
            yield path.name, f"{path.name}: missing"
            continue
        with path.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != part["sha256"]:
                yield path.name, f"{path.name}: the bytes differ from the manifest's digest"


def _bad_states(folder: Path, manifest: Data) -> Iterator[str]:
    for name, expected in sorted(manifest["states"].items()):
        path = folder / "states" / f"{name}.json"
        there = HEX.fullmatch(name) is not None and path.is_file()
        if not there or hashlib.sha256(path.read_bytes()).hexdigest() != expected:
            yield f"states/{name[:64]}.json: missing or altered"


def _bad_scenarios(folder: Path, manifest: Data) -> Iterator[str]:
    path = folder / SCENARIOS
    found = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
    if found != manifest.get("scenarios"):
        yield f"{SCENARIOS}: missing or altered"


def _strangers(folder: Path, manifest: Data) -> Iterator[str]:
    """Yield whatever the manifest does not know, by name; a folder of strangers is one of them.

    A link is always a stranger: what it leads to may be another file tomorrow.
    """
    files = {MANIFEST, SCENARIOS, *(part["name"] for part in manifest["parts"])}
    states = {f"{name}.json" for name in manifest["states"]}
    yield from _unknown(folder, files=files, folders={"states"})
    inner = folder / "states"
    if inner.is_dir() and not inner.is_symlink():
        yield from _unknown(inner, files=states, folders=set(), prefix="states/")


def _unknown(
    folder: Path, *, files: Container[str], folders: Container[str], prefix: str = ""
) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            name = safe(f"{prefix}{entry.name}", chars_max=QUOTED_CHARS_MAX)
            file, inner = (kind(follow_symlinks=False) for kind in (entry.is_file, entry.is_dir))
            if entry.is_symlink():
                yield f"{name}: a link, and no file of this folder"
            elif not (file and entry.name in files) and not (inner and entry.name in folders):
                yield f"{name}: not in the manifest"


def _missing_runs(manifest: Data) -> Iterator[str]:
    written, planned = len(manifest["runs"]), manifest.get("planned")
    if written != planned:
        yield f"{MANIFEST}: {planned} runs planned, {written} written"
    identities = [entry["run"] for entry in manifest["runs"]]
    if len(set(identities)) != len(identities):
        yield f"{MANIFEST}: a run is listed twice"


def _bad_run(run: StoredRun, manifest: Data) -> str:
    """Return the first bad line of a run, or nothing."""
    entry = run.entry
    value = genesis(run.run_id, str(manifest["plan"]))
    for number, written in enumerate(run.lines, 1):
        body, claimed = unchained(written)
        value = chained(value, body)
        if value != claimed:
            where = f"{entry['part']}:{entry['line'] + number - 1}"
            return f"{where}: run {run.run_id}: entry {number} does not follow from the one before"
    if value != entry["root"] or len(run.lines) != entry["lines"]:
        return f"{entry['part']}: run {run.run_id}: the last entry is not the one in the manifest"
    return ""
