"""Files are read below their root only, and never more than allowed."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath

import pytest

from arh.errors import Problem
from arh.harness.authoring import files
from arh.harness.authoring.files import find_files, lines, passed_over, read_inside


@pytest.fixture(name="root", params=[True, False], ids=["by folder", "by path"])
def _root(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A root, read both as where folders can be opened and as where they cannot."""
    if not request.param:
        monkeypatch.setattr(os, "supports_dir_fd", frozenset())
    (tmp_path / "root" / "a").mkdir(parents=True)
    (tmp_path / "root" / "a" / "f.jsonl").write_bytes(b"inside")
    (tmp_path / "secret").write_bytes(b"outside")
    return tmp_path / "root"


def test_a_file_below_the_root_is_read(root: Path) -> None:
    """The bytes come back, also where the root itself is a link."""
    link = root.parent / "link"
    link.symlink_to(root)

    assert read_inside(root, PurePosixPath("a/f.jsonl")) == b"inside"
    assert read_inside(link, PurePosixPath("a/f.jsonl")) == b"inside"


@pytest.mark.parametrize("path", ["../secret", "a/../../secret", "/etc/passwd", "", "a\0"])
def test_no_path_leads_out(path: str, root: Path) -> None:
    """A path that could leave the root is refused as it is written."""
    found = read_inside(root, PurePosixPath(path))

    assert isinstance(found, Problem)
    assert found.found == "this path leads out of its folder"


def test_no_link_leads_out(root: Path) -> None:
    """A link is refused at every step of the way."""
    (root / "file").symlink_to(root.parent / "secret")
    (root / "folder").symlink_to(root.parent)

    for path in ("file", "folder/secret"):
        assert isinstance(read_inside(root, PurePosixPath(path)), Problem)


def test_what_is_no_file_is_a_problem(root: Path) -> None:
    """A folder and a missing file are told apart."""
    missing = read_inside(root, PurePosixPath("a/g.jsonl"))
    folder = read_inside(root, PurePosixPath("a"))

    assert isinstance(missing, Problem)
    assert missing.found == "there is no such file"
    assert isinstance(folder, Problem)


def test_a_file_that_is_too_large_is_refused(root: Path) -> None:
    """The limit is exact."""
    path = PurePosixPath("a/f.jsonl")

    assert read_inside(root, path, bytes_max=6) == b"inside"
    assert isinstance(read_inside(root, path, bytes_max=5), Problem)


def test_files_are_found_in_sorted_order_without_hidden_ones(tmp_path: Path) -> None:
    """Folders come in the order of their names, hidden ones and other suffixes not at all."""
    for name in ("b/2.jsonl", "b/1.jsonl", "a.jsonl", "a/3.jsonl", ".git/x.jsonl", "b/y.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()

    assert find_files(tmp_path, ".jsonl") == (
        tuple(map(PurePosixPath, ("a/3.jsonl", "a.jsonl", "b/1.jsonl", "b/2.jsonl"))),
        (),
    )


def test_too_many_files_are_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the limit nobody goes on counting."""
    monkeypatch.setattr(files, "FILES_MAX", 2)
    for name in "abcd":
        (tmp_path / f"{name}.jsonl").touch()

    assert [p.found for p in find_files(tmp_path, ".jsonl")[1]] == ["there are more than 2 files"]


def test_a_loop_of_links_ends(tmp_path: Path) -> None:
    """A link to its own folder is reported and not entered."""
    (tmp_path / "again").symlink_to(tmp_path)

    assert len(find_files(tmp_path, ".jsonl")[1]) == 1


def test_lines_keep_their_numbers() -> None:
    """Blank lines are left out and still counted; only a line feed ends a line."""
    data = "a\r\n\n \t\nb\u2028c".encode()

    assert list(lines(data)) == [(1, b"a"), (4, "b\u2028c".encode())]


def test_what_looks_like_a_file_of_ours_and_is_not_read_is_named(tmp_path: Path) -> None:
    """Spelled otherwise, hidden, a folder, a pipe: each with the reason."""
    (tmp_path / "a").mkdir()
    for name in ("a/B.JSONL", "a/.c.jsonl", "a/d.jsonl", "a/e.txt"):
        (tmp_path / name).touch()
    (tmp_path / "f.jsonl").mkdir()
    os.mkfifo(tmp_path / "g.jsonl")

    assert [(str(at), why) for at, why in passed_over(tmp_path, ".jsonl")] == [
        ("a/.c.jsonl", "is hidden and was not read"),
        ("a/B.JSONL", "does not end in .jsonl and was not read"),
        ("f.jsonl", "is not a regular file and was not read"),
        ("g.jsonl", "is not a regular file and was not read"),
    ]
    assert [str(at) for at in find_files(tmp_path, ".jsonl")[0]] == ["a/d.jsonl"]


@pytest.mark.parametrize("name", [b"a-\xff.jsonl", b"\xff/a.jsonl"])
def test_a_name_that_no_report_could_write_is_a_problem(tmp_path: Path, name: bytes) -> None:
    """Whether it is the file's own or a folder's."""
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name))
    path.parent.mkdir(exist_ok=True)
    path.touch()

    found, problems = find_files(tmp_path, ".jsonl")

    assert (found, len(problems)) == ((), 1)
    assert "is not UTF-8" in problems[0].found
    assert str(problems[0]).encode()
