"""Writes a workflow pack for another team, outside of this repository.

The template's files lie beside this module, each with the suffix `.tmpl`. A name that was checked
is put into their texts and paths, and nothing else is: a template is no program. Nothing that
exists is ever written over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from keyword import iskeyword
from pathlib import Path, PurePosixPath
from typing import Final

from arh.errors import AuthoringError, WriteFailure, safe

NAME_CHARS_MAX: Final = 30
SUFFIX: Final = ".tmpl"
HIDDEN: Final = {"gitignore": ".gitignore"}

_NAME: Final = re.compile(rf"[a-z][a-z0-9_]{{1,{NAME_CHARS_MAX - 1}}}")
_RESERVED: Final = re.compile(r"con|prn|aux|nul|com[0-9]|lpt[0-9]")


@dataclass(frozen=True, slots=True)
class NewFile:
    """One file to write: its path below the pack's folder, and its text."""

    path: PurePosixPath
    text: str


def write_workflow(name: str, into: Path, *, today: str) -> tuple[Path, tuple[PurePosixPath, ...]]:
    """Return the new folder and the files in it, all of them written.

    Args:
        name: The workflow's name.
        into: The folder that the pack's folder is made in.
        today: The date of the scenarios' last review, as in 2026-01-31.

    Raises:
        AuthoringError: The name is none, or something is there already; nothing was written.
        WriteFailure: Something could not be written, so that a part of it lies there.
    """
    check_name(name)
    folder = into / name
    _make(into, folder)
    files = tuple(workflow_files(name, today=today))
    for file in files:
        _write(folder.joinpath(*file.path.parts), file.text)
    return folder, tuple(file.path for file in files)


def check_name(name: str) -> None:
    """Refuse what cannot name a workflow, a package and a folder alike.

    Raises:
        AuthoringError: It says what a name is.
    """
    expected = f"2 to {NAME_CHARS_MAX} of a-z, 0-9 and `_`, a letter first"
    if not _NAME.fullmatch(name):
        raise AuthoringError.of(name, expected=expected, field="NAME", hint="as in invoice_review")
    if iskeyword(name) or _RESERVED.fullmatch(name) or name == "arh":
        taken = "a name that no language or system keeps for itself"
        raise AuthoringError.of(name, expected=taken, field="NAME", hint=f"as in {name}_review")


def workflow_files(name: str, *, today: str) -> Iterator[NewFile]:
    """Yield every file of a new pack, in order of their paths."""
    values = {"@NAME@": name, "@DIST@": name.replace("_", "-"), "@TODAY@": today}
    root = resources.files("arh.scaffold") / "template"
    for path, source in sorted(_files(root, PurePosixPath())):
        shown = PurePosixPath(_filled(str(path).removesuffix(SUFFIX), values))
        text = _filled(source.read_text("utf-8"), values)
        yield NewFile(shown.with_name(HIDDEN.get(shown.name, shown.name)), text)


def _filled(text: str, values: dict[str, str]) -> str:
    for token, value in values.items():
        text = text.replace(token, value)
    return text


def _files(folder: Traversable, at: PurePosixPath) -> Iterator[tuple[PurePosixPath, Traversable]]:
    for entry in folder.iterdir():
        path = at / entry.name
        if entry.is_dir():
            yield from _files(entry, path)
        elif entry.name.endswith(SUFFIX):
            yield path, entry


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8", newline="\n") as out:
            out.write(text)
    except OSError as error:
        raise WriteFailure(f"{safe(str(path))} cannot be written: {error.strerror}") from None


def _make(into: Path, folder: Path) -> None:
    """Make the pack's folder, which must not be there yet.

    Raises:
        AuthoringError: It is there, or cannot be made.
    """
    if not into.is_dir():
        hint = "make it first"
        raise AuthoringError.of(
            "there is no such folder", file=str(into), field="--into", hint=hint
        )
    try:
        folder.mkdir()
    except FileExistsError:
        hint = "nothing is ever written over: choose another name, or another folder with --into"
        raise AuthoringError.of("this exists already", file=str(folder), hint=hint) from None
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise AuthoringError.of(f"cannot be made: {why}", file=str(folder)) from None
