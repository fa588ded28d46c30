"""Reads authored files: below one root, never through a link, never more than a fixed size.

What stands in these files decides what is tested, so a name must not lead anywhere else: every
folder on the way is opened without following links, the file too, and the bytes that are parsed are
the bytes that are digested. A root that is itself a link is the user's own choice and is followed.
Whatever is wrong is a `Problem`, so that a reader can report everything at once.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Final

from arh.errors import Problem

FILE_BYTES_MAX: Final = 64 * 2**20
LINE_BYTES_MAX: Final = 2**20
FILES_MAX: Final = 10_000

_NO_FOLLOW: Final = getattr(os, "O_NOFOLLOW", 0)
_FOLDER: Final = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_FILE: Final = os.O_RDONLY | _NO_FOLLOW | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
_REASONS: Final = {
    errno.ENOENT: "there is no such file",
    errno.ELOOP: "this is a symbolic link, and links are not followed",
    errno.ENOTDIR: "a folder on the way is a symbolic link or no folder",
    errno.EACCES: "this file may not be read",
    errno.EISDIR: "this is a folder",
    errno.ENAMETOOLONG: "the name is too long",
}


def read_inside(
    root: Path, relative: PurePosixPath, *, bytes_max: int = FILE_BYTES_MAX
) -> bytes | Problem:
    """Return the bytes of a regular file below `root`, or what is wrong with it."""
    file = str(root / relative)
    if not is_inside(relative):
        return Problem("this path leads out of its folder", file=file)
    try:
        with os.fdopen(_opened(root, relative.parts), "rb") as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                return Problem("this is not a regular file", file=file)
            data = stream.read(bytes_max + 1)
    except OSError as error:
        return Problem(_REASONS.get(error.errno or 0, "this file cannot be read"), file=file)
    if len(data) > bytes_max:
        return Problem(f"this file is larger than {bytes_max} bytes", file=file, hint="split it")
    return data


def is_inside(relative: PurePosixPath) -> bool:
    """Return true if the path cannot lead out of the folder that it is taken from."""
    parts = relative.parts
    return (
        bool(parts)
        and not relative.is_absolute()
        and ".." not in parts
        and "\0" not in str(relative)
    )


def find_files(root: Path, suffix: str) -> tuple[tuple[PurePosixPath, ...], tuple[Problem, ...]]:
    """Return the files below `root` in sorted order, and the links that stand in the way.

    Names that begin with a dot are left out, as an editor's and a version control's own.
    """
    files: list[PurePosixPath] = []
    problems: list[Problem] = []
    for entry, relative in _walk(root, PurePosixPath()):
        if entry.is_symlink():
            if relative.suffix == suffix or entry.is_dir():
                problems.append(_link(root, relative))
        elif relative.suffix == suffix and not _is_text(relative):
            problems.append(_unnameable(root, relative))
        elif relative.suffix == suffix and entry.is_file():
            files.append(relative)
        if len(files) > FILES_MAX:
            problems.append(Problem(f"there are more than {FILES_MAX} files", file=str(root)))
            break
    return tuple(sorted(files, key=lambda path: path.parts)), tuple(problems)


def passed_over(root: Path, suffix: str) -> Iterator[tuple[PurePosixPath, str]]:
    """Yield what looks as if it should be read and is not, with the reason, in sorted order."""
    for entry, relative in _walk(root, PurePosixPath(), hidden=True):
        name = entry.name
        if relative.suffix.lower() != suffix or entry.is_symlink():
            continue
        if name.startswith("."):
            yield relative, "is hidden and was not read"
        elif relative.suffix != suffix:
            yield relative, f"does not end in {suffix} and was not read"
        elif not entry.is_file():
            yield relative, "is not a regular file and was not read"


def lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield each line that is not blank, with its number from 1."""
    for number, line in enumerate(data.split(b"\n"), start=1):
        stripped = line.strip(b" \t\r")
        if stripped:
            yield number, stripped


def _walk(
    root: Path, below: PurePosixPath, *, hidden: bool = False
) -> Iterator[tuple[os.DirEntry[str], PurePosixPath]]:
    """Yield every entry below a folder, its visible folders entered but no links.

    Names that begin with a dot are yielded only if `hidden` ones are wanted.
    """
    try:
        with os.scandir(root / below) as entries:
            found = sorted(
                (e for e in entries if hidden or e.name[:1] != "."), key=lambda e: e.name
            )
    except OSError:
        return
    for entry in found:
        relative = below / entry.name
        yield entry, relative
        if entry.name[:1] != "." and entry.is_dir(follow_symlinks=False):
            yield from _walk(root, relative, hidden=hidden)


def _is_text(relative: PurePosixPath) -> bool:
    """Return true if a report can name the path: it is UTF-8."""
    try:
        str(relative).encode()
    except UnicodeEncodeError:
        return False
    return True


def _unnameable(root: Path, relative: PurePosixPath) -> Problem:
    found = "the name of this file, or of a folder on the way, is not UTF-8"
    return Problem(found, file=str(root / relative), hint="rename it")


def _link(root: Path, relative: PurePosixPath) -> Problem:
    return Problem(
        _REASONS[errno.ELOOP], file=str(root / relative), hint="put the file itself in its place"
    )


def _opened(root: Path, parts: tuple[str, ...]) -> int:
    """Return a descriptor of the file, no link followed below the root."""
    if os.open not in os.supports_dir_fd:  # Windows
        return _opened_by_path(root, parts)
    folder = os.open(root, _FOLDER)
    try:
        for name in parts[:-1]:
            below = os.open(name, _FOLDER | _NO_FOLLOW, dir_fd=folder)
            os.close(folder)
            folder = below
        return os.open(parts[-1], _FILE, dir_fd=folder)
    finally:
        os.close(folder)


def _opened_by_path(root: Path, parts: tuple[str, ...]) -> int:
    """Return a descriptor where folders cannot be opened: by a path that holds no link."""
    real = root.resolve(strict=True)
    path = real.joinpath(*parts)
    if path.resolve(strict=True) != path:
        raise OSError(errno.ELOOP, "link")
    return os.open(path, _FILE)
