"""Files, folders, globs and standard input: each once, and called the same from everywhere."""

from __future__ import annotations

import errno
import io
import os
from pathlib import Path

import pytest

from arh.errors import AuthoringError
from arh.traces.reading.inputs import find_recordings


def files(top: Path, *names: str) -> Path:
    """Make files that hold their own names."""
    for name in names:
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name, encoding="utf-8")
    return top


def found(*named: object, stdin: bytes = b"") -> list[str]:
    """Return what the recordings are called."""
    recordings = find_recordings([str(name) for name in named], io.BytesIO(stdin))
    return [recorded.uri for recorded in recordings]


def test_a_folder_is_read_by_name(tmp_path: Path) -> None:
    """Whatever the disk says, without hidden files and files of other kinds."""
    top = files(tmp_path, "b.json", "a/z.jsonl", "a/c.yaml", ".hidden.json", ".d/x.json", "n.txt")

    assert found(top) == ["b.json", "a/c.yaml", "a/z.jsonl"]


def test_a_file_is_read_once(tmp_path: Path) -> None:
    """However often it is named, and in the order of its first time."""
    top = files(tmp_path, "b.json", "a.json")

    assert found(top / "b.json", top, top / "*.json") == ["b.json", "a.json"]


def test_a_pattern_is_read_by_name(tmp_path: Path) -> None:
    """Also where no shell expands it."""
    files(tmp_path, "x/2.json", "x/1.json", "y/3.json")

    assert found(tmp_path / "**" / "*.json") == ["1.json", "2.json", "3.json"]


def test_a_name_with_a_bracket_is_a_file_first(tmp_path: Path) -> None:
    """A file that is there is no pattern."""
    files(tmp_path, "[1].json", "1.json")

    assert found(tmp_path / "[1].json") == ["[1].json"]


def test_standard_input_is_a_recording() -> None:
    """Named by a dash."""
    (recorded,) = find_recordings(["-"], io.BytesIO(b"{}"))

    assert (recorded.uri, recorded.read()) == ("stdin", b"{}")


def test_a_file_is_called_from_the_top_of_its_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From whatever folder the command is started."""
    files(tmp_path, "repo/.git/HEAD", "repo/t/a.json")
    names = []
    for folder, name in (("repo", "t/a.json"), ("repo/t", "a.json"), ("repo/t", "../t")):
        monkeypatch.chdir(tmp_path / folder)
        names += found(name)

    assert names == ["t/a.json"] * 3


@pytest.mark.parametrize("name", ["empty", "no*.json"])
def test_what_names_nothing_is_told_when_it_is_read(tmp_path: Path, name: str) -> None:
    """A typo is no empty pass, and the others are judged."""
    (tmp_path / "empty").mkdir()
    (recorded,) = find_recordings([str(tmp_path / name)], io.BytesIO())

    with pytest.raises(AuthoringError, match="no file "):
        recorded.read()
    assert recorded.uri == name


def test_a_missing_file_is_told_when_it_is_read(tmp_path: Path) -> None:
    """The others are judged."""
    (recorded,) = find_recordings([str(tmp_path / "gone.json")], io.BytesIO())

    with pytest.raises(AuthoringError, match="there is no such file"):
        recorded.read()


def test_a_link_inside_a_folder_leads_nowhere(tmp_path: Path) -> None:
    """A folder from elsewhere cannot make other files part of a report."""
    files(tmp_path, "in/a.json", "out/b.json")
    (tmp_path / "in" / "link").symlink_to(tmp_path / "out")

    assert found(tmp_path / "in") == ["a.json"]


def test_what_cannot_be_read_in_a_folder_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that may not be listed is no empty one, and nobody waits for a pipe to be filled."""
    files(tmp_path, "a.json", "shut/b.json")
    os.mkfifo(tmp_path / "pipe.json")
    listed = os.scandir

    def shut(path: str) -> object:
        if Path(path).name == "shut":
            raise PermissionError(errno.EACCES, "no", path)
        return listed(path)

    monkeypatch.setattr(os, "scandir", shut)
    recordings = find_recordings([str(tmp_path)], io.BytesIO())

    assert [recorded.uri for recorded in recordings] == ["a.json", "pipe.json", "shut"]
    for recorded in recordings[1:]:
        with pytest.raises(AuthoringError, match="cannot be read"):
            recorded.read()
