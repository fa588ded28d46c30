"""Finds the suite: a folder that was named, else the working folder's, else the packaged one.

Evidence names the kind of root and its digest, never its absolute path. An editable install has no
packaged copy (it would go stale), so the repository's own folders stand in.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Final, Literal

from arh.errors import AuthoringError
from arh.harness.authoring.files import find_files, read_inside

Kind = Literal["flag", "working", "packaged", "repository"]
FOLDERS: Final = ("scenarios", "datasets", "fixtures", "profiles")


@dataclass(frozen=True, slots=True)
class Root:
    """A folder (or, for a flag, one file) of authored content, and how it was found."""

    path: Path
    kind: Kind

    @property
    def is_line(self) -> bool:
        """True if it is one line of a file: `FILE:LINE`."""
        return not self.path.exists()

    def digest(self, suffix: str = ".jsonl") -> str:
        """Return the SHA-256 over the names and bytes of its files, in order."""
        found = hashlib.sha256()
        for relative in find_files(self.path, suffix)[0]:
            data = read_inside(self.path, relative)
            content = hashlib.sha256(data if isinstance(data, bytes) else b"").hexdigest()
            found.update(f"{relative}\0{content}\n".encode())
        return found.hexdigest()


def find_root(name: str, flag: str | Path | None = None, *, working: Path | None = None) -> Root:
    """Return the root of `scenarios`, `datasets`, `fixtures` or `profiles`.

    Args:
        name: The folder's name.
        flag: What the user named, which must exist.
        working: The working folder, for tests; paths in messages are relative to the real one.

    Raises:
        AuthoringError: What was named does not exist, or no root exists at all.
    """
    if flag is not None:
        return _named(Path(flag), name)
    here = Path(name) if working is None else working / name
    if here.is_dir():
        return Root(here, "working")
    return own_root(name)


def own_root(name: str) -> Root:
    """Return the root that comes with arh, whatever lies in the working folder.

    Raises:
        AuthoringError: There is none.
    """
    for root in (_packaged(name), _repository(name)):
        if root is not None:
            return root
    raise AuthoringError.of(
        f"there is no folder `{name}`",
        hint=f"name one with --{name}, or change to a folder with one",
    )


def _named(path: Path, name: str) -> Root:
    if there_is(path):
        return Root(path, "flag")
    raise AuthoringError.of(
        "there is no such file or folder", file=str(path), field=f"--{name}", hint="check the path"
    )


def there_is(path: Path) -> bool:
    """Tell whether a file, a folder or, as `FILE:LINE`, a line's file is there."""
    bare = path.with_name(path.name.rpartition(":")[0] or path.name) if path.name else path
    return path.exists() or (bare.is_file() and path.name.rpartition(":")[2].isdigit())


def _packaged(name: str) -> Root | None:
    folder = resources.files("arh").joinpath("_suite", name)
    return Root(folder, "packaged") if isinstance(folder, Path) and folder.is_dir() else None


def _repository(name: str) -> Root | None:
    """Return the folder beside `src`, if the package lies in a repository of its own."""
    package = resources.files("arh")
    if not isinstance(package, Path) or package.parent.name != "src":
        return None
    folder = package.parent.parent / name
    return Root(folder, "repository") if folder.is_dir() else None
