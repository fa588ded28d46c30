"""Which recordings a user means: files, folders, globs, standard input, and what they are called.

A recording is called by its path from the top of its repository, else from the folder that was
named, so that a report does not depend on where the command was started. What cannot be read is an
input that could not be judged: it is told and counted, and the others are judged all the same.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import BinaryIO, Final

from arh.errors import AuthoringError
from arh.traces.reading.documents import BYTES_MAX

STDIN: Final = "-"
SUFFIXES: Final = (".json", ".jsonl", ".ndjson", ".sse", ".yaml", ".yml")
FILES_MAX: Final = 100_000
_GLOB: Final = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class Recorded:
    """One recording: what it is called, and how its bytes are had."""

    uri: str
    read: Callable[[], bytes]


def find_recordings(named: Sequence[str], stdin: BinaryIO) -> tuple[Recorded, ...]:
    """Return every recording that is named, each once, in the order given and then by name.

    A folder or a pattern that names nothing is a recording that cannot be read, so that a typo is
    never an empty pass and the others are judged all the same.

    Raises:
        AuthoringError: There are more recordings than one run may judge.
    """
    found: dict[str, Recorded] = {}
    for name in named:
        for key, recorded in _named(name, stdin):
            found.setdefault(key, recorded)
            if len(found) > FILES_MAX:
                raise AuthoringError.of(f"there are more than {FILES_MAX} recordings", file=name)
    return tuple(found.values())


def _named(name: str, stdin: BinaryIO) -> Iterator[tuple[str, Recorded]]:
    if name == STDIN:
        yield STDIN, Recorded("stdin", lambda: _capped(stdin))
        return
    path = Path(name)
    if path.is_dir():
        unread: list[Path] = []
        files = list(_inside(path, unread))
        if not files and not unread:
            yield _nothing(path, f"no file in this folder ends in {', '.join(SUFFIXES)}")
        yield from ((_unread if file.is_fifo() else _file)(file, path) for file in files)
        yield from (_unread(folder, path) for folder in sorted(unread))
    elif _GLOB & set(name) and not path.exists():
        matches = sorted(glob.glob(name, recursive=True))  # noqa: PTH207 - absolute patterns too
        files = [Path(match) for match in matches if Path(match).is_file()]
        if not files:
            yield _nothing(path, "no file matches this pattern")
        yield from (_file(file, file.parent) for file in files)
    else:
        yield _file(path, path.parent)


def _inside(folder: Path, unread: list[Path]) -> Iterator[Path]:
    """Yield the recordings below a folder by name; hidden ones and links are not entered.

    A folder that cannot be listed is added to `unread`: nobody knows what it holds.
    """

    def missed(error: OSError) -> None:
        unread.append(Path(error.filename))

    for at, folders, files in os.walk(folder, onerror=missed, followlinks=False):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        for name in sorted(files):
            if not name.startswith(".") and name.lower().endswith(SUFFIXES):
                yield Path(at) / name


def _file(path: Path, top: Path) -> tuple[str, Recorded]:
    real = Path(os.path.abspath(path))  # noqa: PTH100 - a link keeps the name that it has
    return str(real), Recorded(location(real, top), lambda: _bytes(path))


def _unread(path: Path, top: Path) -> tuple[str, Recorded]:
    """Return what stands for a folder, or a pipe in one, that cannot be read."""
    real = Path(os.path.abspath(path))  # noqa: PTH100 - as above
    return str(real), Recorded(location(real, top), partial(_refused, "this cannot be read"))


def _refused(reason: str) -> bytes:
    raise AuthoringError.of(reason)


def location(path: Path, top: Path) -> str:
    """Return what a report calls a file: its path from its repository, else from `top`."""
    repository = _repository(path.parent)
    if repository is not None:
        return path.relative_to(repository).as_posix()
    above = Path(os.path.abspath(top))  # noqa: PTH100 - as above
    return path.relative_to(above).as_posix() if path.is_relative_to(above) else path.name


@lru_cache(maxsize=1024)
def _repository(folder: Path) -> Path | None:
    """Return the top of the repository that a folder is in, or `None`."""
    for above in (folder, *folder.parents):
        if (above / ".git").exists():
            return above
    return None


def _nothing(path: Path, why: str) -> tuple[str, Recorded]:
    """Return a recording that is not there, and says so when it is read."""

    def read() -> bytes:
        raise AuthoringError.of(why)

    key, recorded = _file(path, path.parent)
    return key, Recorded(recorded.uri, read)


def _bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            return _capped(stream)
    except FileNotFoundError:
        raise AuthoringError.of("there is no such file") from None
    except (OSError, ValueError):
        raise AuthoringError.of("this file cannot be read") from None


def _capped(stream: BinaryIO) -> bytes:
    """Return all bytes, or one more than a recording may have."""
    return stream.read(BYTES_MAX + 1)
