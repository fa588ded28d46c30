"""Evidence that was altered, cut, swapped or forged after it was written.

A folder is written as the gate writes it, tampered with, and verified. Whoever alters a line here
also mends the digests of part and manifest, so that the chain alone is left to tell.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

from arh.canonical import digest, encode
from arh.errors import AuthoringError
from arh.harness.evidence.evidence import build_evidence
from arh.harness.evidence.evidence_store import EvidenceWriter, verify
from arh.harness.evidence.recorder import keep_all
from arh.harness.judging.judge import judge
from arh.testing.defects.agents import BLOCKED, GOLDEN, LOST_REPLY
from arh.testing.defects.planting import Catcher, Defect, Outcome, catchers, in_run, of_run, rule
from arh.testing.defects.players import plays
from arh.testing.workbench import Exercise, Tried, Workbench

VERIFY: Final = "verify"
PART: Final = "part-0000.jsonl"
MANIFEST: Final = "manifest.json"
RUNS: Final = (GOLDEN, BLOCKED, LOST_REPLY)

Data: TypeAlias = dict[str, Any]
Tamper: TypeAlias = Callable[[Path], None]
Lines: TypeAlias = list[bytes]


def verified(bench: Workbench, tamper: Tamper | None) -> Outcome:
    """Return what `verify` says of a folder, by the place that it names first in each line."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "evidence"
        folder.mkdir()
        written(bench, folder)
        if tamper is not None:
            tamper(folder)
        places = [text.split(": ", 1)[0] for text in told(folder)]
    return Outcome(not places, catchers(VERIFY, places))


def told(folder: Path) -> tuple[str, ...]:
    """Return what `verify` says of a folder; one without a good manifest is refused as a whole."""
    try:
        return verify(folder)
    except AuthoringError as error:
        return tuple(f"{Path(problem.file).name}: {problem.found}" for problem in error.problems)


def written(bench: Workbench, folder: Path) -> None:
    """Write a folder of three runs."""
    session = bench.session([Exercise(scenario) for scenario in RUNS])
    writer = EvidenceWriter(folder, session.plan, redact=keep_all)
    for tried in session.tried:
        writer.add(tried.output)
    writer.close({"arh": "selftest"})


def in_folder(identity: str, breaks: str, place: str, tamper: Tamper) -> Defect:
    """Return a folder that was tampered with; `verify` must name the place."""
    return Defect(
        identity,
        breaks,
        Catcher(VERIFY, place),
        lambda bench: verified(bench, tamper),
        lambda bench: verified(bench, None),
    )


def manifest(change: Callable[[Data], None]) -> Tamper:
    """Return what changes the manifest, and mends its digest."""

    def tamper(folder: Path) -> None:
        path = folder / MANIFEST
        value = json.loads(path.read_bytes())
        del value["digest"]
        change(value)
        path.write_bytes(encode({**value, "digest": digest(value)}) + b"\n")

    return tamper


def lines(change: Callable[[Lines], None]) -> Tamper:
    """Return what changes the lines of the first part, and mends the part's digest."""

    def tamper(folder: Path) -> None:
        path = folder / PART
        found = path.read_bytes().splitlines()
        change(found)
        block = b"\n".join(found) + b"\n"
        path.write_bytes(block)
        manifest(lambda value: _mend(value, block))(folder)

    return tamper


def _mend(value: Data, block: bytes) -> None:
    value["parts"][0]["sha256"] = hashlib.sha256(block).hexdigest()
    value["parts"][0]["bytes"] = len(block)


def alter(found: Lines) -> None:
    """Change one word of the fifth entry."""
    found[4] = found[4].replace(b'"actor"', b'"actor "', 1)


def drop(found: Lines) -> None:
    """Take the fifth entry out."""
    del found[4]


def insert(found: Lines) -> None:
    """Write the fourth entry twice."""
    found.insert(4, found[3])


def swap(found: Lines) -> None:
    """Change the order of two entries."""
    found[4], found[5] = found[5], found[4]


def cut(found: Lines) -> None:
    """Cut an entry off in the middle."""
    found[4] = found[4][: len(found[4]) // 2]


def end(found: Lines) -> None:
    """Take the last entry out."""
    found.pop()


def forge(found: Lines) -> None:
    """Chain an altered entry, and all after it, anew from the wrong beginning."""
    found[0] = found[0].replace(b'"defect":""', b'"defect":"none"', 1)


def append_byte(name: str) -> Tamper:
    """Return what appends a byte to a file."""

    def tamper(folder: Path) -> None:
        path = next(iter(sorted(folder.glob(name))))
        path.write_bytes(path.read_bytes() + b"\n")

    return tamper


def remove(name: str) -> Tamper:
    """Return what removes a file."""
    return lambda folder: (folder / name).unlink()


def add_part(folder: Path) -> None:
    """Put a part into the folder that the manifest does not know."""
    (folder / "part-0001.jsonl").write_bytes(b"{}\n")


def drop_run(value: Data) -> None:
    """Leave the last run out, as if it had never been planned."""
    value["runs"].pop()


def repeat_run(value: Data) -> None:
    """Let the first run stand for the last as well."""
    value["runs"][-1] = value["runs"][0]


def replace_root(value: Data) -> None:
    """Give the first run another last entry."""
    value["runs"][0]["root"] = "0" * 64


def replant(value: Data) -> None:
    """Let the evidence be that of another plan."""
    value["plan"] = "0" * 64


# --- as it is read -------------------------------------------------------------------------------


def reread(bench: Workbench, change: Callable[[Lines], None] | None) -> Outcome:
    """Return what the evaluators say of a run whose lines were altered before they were read."""
    tried = bench.run(GOLDEN)
    given = list(tried.output.lines)
    if change is not None:
        change(given)
    return of_run(rejudged(bench, tried, given))


def rejudged(bench: Workbench, tried: Tried, given: Sequence[bytes]) -> Tried:
    """Return a run judged by other lines than it left."""
    evidence = build_evidence(tried.output.run_id, given, tried.output.evidence.initial)
    verdict = judge(tried.located, evidence, bench.suite.evaluators, bench.suite.pack)
    return Tried(tried.located, tried.output, verdict)


def excuses_itself(value: Data) -> None:
    """Let a scenario expect, and so excuse, that its outcome is not reached."""
    excuse = {"rule": "outcome.no_alternative_holds", "why": "it is flaky"}
    value["expectations"]["expected_findings"] = [excuse]


def in_reading(identity: str, breaks: str, caught: str, change: Callable[[Lines], None]) -> Defect:
    """Return a run whose lines cannot be taken as they are; a rule must say so."""
    return Defect(
        identity,
        breaks,
        rule(caught),
        lambda bench: reread(bench, change),
        lambda bench: reread(bench, None),
    )


def unreadable(found: Lines) -> None:
    """Make one entry unreadable."""
    found[6] = b"\xff{"


def without_effect(found: Lines) -> None:
    """Take the entries of the store out."""
    found[:] = [each for each in found if b'"kind":"state_changed"' not in each]


def without_attempts(found: Lines) -> None:
    """Take a refused or executed attempt out, and count the entries anew."""
    kept = [
        each for each in found if b'"tool":"get_policy"' not in each or b"tool_call" not in each
    ]
    found[:] = [_numbered(each, number) for number, each in enumerate(kept, 1)]


def _numbered(written_line: bytes, number: int) -> bytes:
    value = json.loads(written_line)
    return json.dumps({**value, "seq": number}).encode()


DEFECTS: tuple[Defect, ...] = (
    in_folder(
        "evidence.alters-an-entry", "an entry with one word changed", f"{PART}:5", lines(alter)
    ),
    in_folder("evidence.drops-an-entry", "an entry taken out", f"{PART}:5", lines(drop)),
    in_folder("evidence.inserts-an-entry", "an entry written twice", f"{PART}:5", lines(insert)),
    in_folder("evidence.swaps-entries", "two entries in another order", f"{PART}:5", lines(swap)),
    in_folder("evidence.cuts-an-entry", "an entry cut off in the middle", f"{PART}:5", lines(cut)),
    in_folder("evidence.forges-the-start", "a first entry altered", f"{PART}:1", lines(forge)),
    in_folder("evidence.loses-the-end", "the last entry taken out", PART, lines(end)),
    in_folder(
        "evidence.appends-to-a-part", "a byte more in a part", PART, append_byte("part-*.jsonl")
    ),
    in_folder("evidence.adds-a-part", "a part nobody wrote", "part-0001.jsonl", add_part),
    in_folder(
        "evidence.alters-a-scenario",
        "the scenarios altered by which the runs were judged",
        "scenarios.jsonl",
        append_byte("scenarios.jsonl"),
    ),
    in_folder(
        "evidence.removes-the-scenarios",
        "the scenarios gone by which the runs were judged",
        "scenarios.jsonl",
        remove("scenarios.jsonl"),
    ),
    in_folder(
        "evidence.alters-the-manifest",
        "a manifest with a byte more",
        MANIFEST,
        append_byte(MANIFEST),
    ),
    in_folder(
        "evidence.is-unfinished",
        "a folder whose run broke off before its manifest was written",
        MANIFEST,
        remove(MANIFEST),
    ),
    in_folder(
        "evidence.drops-a-run",
        "a run left out of the manifest",
        MANIFEST,
        manifest(drop_run),
    ),
    in_folder(
        "evidence.repeats-a-run",
        "one run put forward for two",
        MANIFEST,
        manifest(repeat_run),
    ),
    in_folder(
        "evidence.replaces-the-root",
        "a run whose last entry is not the recorded one",
        PART,
        manifest(replace_root),
    ),
    in_folder(
        "evidence.is-of-another-plan",
        "genuine evidence of another plan",
        f"{PART}:1",
        manifest(replant),
    ),
    in_run(
        "evidence.is-of-a-planted-run",
        "flawless evidence that carries the name of a planted defect",
        "evidence.planted_defect",
        GOLDEN,
    ),
    in_run(
        "evidence.excuses-its-outcome",
        "an idle agent, judged by a scenario beside its evidence that excuses the failed outcome",
        "outcome.no_alternative_holds",
        GOLDEN,
        agent=plays(),
        broken=excuses_itself,
    ),
    in_reading(
        "evidence.cannot-be-read",
        "a run of which one entry cannot be read",
        "evidence.unreadable",
        unreadable,
    ),
    in_reading(
        "evidence.is-silent-about-an-attempt",
        "a run whose log lacks an attempt that the runner counted",
        "evidence.gap",
        without_attempts,
    ),
    in_reading(
        "evidence.is-silent-about-an-effect",
        "a run whose entries lack an effect, as the outcome shows",
        "outcome.evidence_gap",
        without_effect,
    ),
)
