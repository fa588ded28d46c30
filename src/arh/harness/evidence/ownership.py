"""Which files of a report's folder are ours: looked at before anything runs.

A gate replaces its own older report and touches nothing that it did not write. A file is ours if it
begins as only arh's begin, if a manifest of ours lists it, or if it has a name of evidence in a
folder that we left unfinished. Links, pipes and folders under our names are refused, and nothing of
the kind is ever opened.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Final

from arh.errors import AuthoringError, Problem
from arh.harness.evidence.evidence_store import EVIDENCE_NAME, MANIFEST, owned_names
from arh.render.pages import FOLDER, MARK

SCORECARD: Final = "scorecard.json"
PAGE: Final = "scorecard.md"
JUNIT: Final = "junit.xml"
TELEMETRY: Final = "telemetry.jsonl"
EVIDENCE: Final = "evidence"
HINT: Final = "name another folder with --out, or move it away"
_HEAD_BYTES: Final = 4096
_STATES: Final = re.compile(r"[0-9a-f]{64}\.json")

_MARKS: Final[dict[str, Callable[[bytes], bool]]] = {
    SCORECARD: lambda head: head.startswith(b'{\n "schema_version": "1.') and b'"subject"' in head,
    PAGE: lambda head: b"# Release gate: " in head,
    JUNIT: lambda head: b'<testsuites name="arh"' in head,
    TELEMETRY: lambda head: not head or (b'"span_id"' in head and b'"trace_id"' in head),
}


def check_report(folder: Path, *, pages: Collection[str] = ()) -> None:
    """Return if a report can be written here without touching what is not ours.

    `pages` are the paths, below the folder, of the pages that will be written.

    Raises:
        AuthoringError: Something stands in the way; each is named, and nothing was changed.
    """
    problems = list(_problems(folder, pages))
    if problems:
        raise AuthoringError(*problems)


def is_page(path: Path) -> bool:
    """Return true if the file is a page of an earlier report."""
    return _kind(path) == "file" and _head(path).startswith(MARK.encode())


def _problems(folder: Path, pages: Collection[str]) -> Iterator[Problem]:
    for above in (folder, *folder.parents):
        if os.path.lexists(above):
            if not above.is_dir():
                yield _problem(above, "this is no folder")
                return
            break
    for name, is_ours in _MARKS.items():
        yield from _file(folder / name, is_ours)
        yield from _file(folder / f".{name}.new", _all)
    yield from _pages(folder, pages)
    yield from _evidence(folder / EVIDENCE)


def _file(path: Path, is_ours: Callable[[bytes], bool]) -> Iterator[Problem]:
    """Yield why a file may not be replaced; one that is not there may be made."""
    kind = _kind(path)
    if kind not in ("", "file"):
        yield _problem(path, f"this is {kind} where a file of ours would be")
    elif kind and not is_ours(_head(path)):
        yield _problem(path, "this file is not arh's, and would be overwritten")


def _pages(folder: Path, pages: Collection[str]) -> Iterator[Problem]:
    yield from _folder(folder / FOLDER)
    if _kind(folder / FOLDER) == "a folder":
        for page in sorted(set(pages)):
            yield from _file(folder / page, lambda head: head.startswith(MARK.encode()))


def _evidence(folder: Path) -> Iterator[Problem]:
    yield from (*_folder(folder), *_folder(folder / "states"))
    if _kind(folder) != "a folder":
        return
    try:
        owned = owned_names(folder)
    except AuthoringError:
        yield _problem(folder / MANIFEST, "this manifest is not arh's, or was altered")
        return
    yield from _entries(folder, EVIDENCE_NAME, owned)
    if _kind(folder / "states") == "a folder":
        yield from _entries(folder / "states", _STATES, owned)


def _entries(folder: Path, ours: re.Pattern[str], owned: Collection[str]) -> Iterator[Problem]:
    """Yield what has a name that we would write under, and is not a file of ours."""
    for path in sorted(folder.iterdir()):
        if ours.fullmatch(path.name):
            yield from _file(path, _all if path.name in owned else _none)


def _all(_head: bytes) -> bool:
    return True


def _none(_head: bytes) -> bool:
    return False


def _folder(path: Path) -> Iterator[Problem]:
    kind = _kind(path)
    if kind not in ("", "a folder"):
        shown = "a file" if kind == "file" else kind
        yield _problem(path, f"this is {shown} where a folder of ours would be")


def _kind(path: Path) -> str:
    """Return what lies at a path, without following or opening it; "" if nothing does."""
    try:
        mode = path.lstat().st_mode
    except OSError:
        return ""
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISLNK(mode):
        return "a symbolic link"
    return "a folder" if stat.S_ISDIR(mode) else "something else than a file"


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_HEAD_BYTES)
    except OSError:
        return b""


def _problem(path: Path, found: str) -> Problem:
    return Problem(found, file=str(path), field="--out", hint=HINT)
