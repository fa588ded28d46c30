"""A root is what was named, else the working folder's, else what came with the package."""

from __future__ import annotations

from pathlib import Path

import pytest

from arh.errors import AuthoringError
from arh.harness.authoring.roots import Root, find_root
from tests.unit.harness.authored import write


def test_what_was_named_comes_first(tmp_path: Path) -> None:
    """A flag wins over the working folder; a file and a line of it will do."""
    write(tmp_path, "scenarios/golden/a.jsonl", ["{}"])
    file = write(tmp_path, "mine/a.jsonl", ["{}"])

    for named in (file.parent, file, Path(f"{file}:1")):
        assert find_root("scenarios", named, working=tmp_path) == Root(named, "flag")


def test_what_was_named_must_exist(tmp_path: Path) -> None:
    """A path that leads nowhere never falls back to something else."""
    write(tmp_path, "scenarios/golden/a.jsonl", ["{}"])

    for name in ("scenarois", "scenarios/golden/b.jsonl:1", "scenarios/golden/a.jsonl:x"):
        with pytest.raises(AuthoringError, match="there is no such file or folder"):
            find_root("scenarios", tmp_path / name, working=tmp_path)


def test_the_working_folder_comes_next(tmp_path: Path) -> None:
    """A folder of that name where the command runs is the root; a file is not."""
    (tmp_path / "profiles").mkdir()
    (tmp_path / "datasets").write_text("")

    assert find_root("profiles", working=tmp_path) == Root(tmp_path / "profiles", "working")
    assert find_root("datasets", working=tmp_path).kind in {"packaged", "repository"}


def test_without_any_the_own_suite_is_found(tmp_path: Path) -> None:
    """From an empty folder, the suite that came with the package is found."""
    root = find_root("scenarios", working=tmp_path)

    assert root.kind in {"packaged", "repository"}
    assert root.path.is_dir()


def test_no_root_at_all_says_what_to_do(tmp_path: Path) -> None:
    """A folder that exists nowhere is an error with the flag to use."""
    with pytest.raises(AuthoringError) as caught:
        find_root("recordings", working=tmp_path)

    assert str(caught.value) == (
        "there is no folder `recordings`; name one with --recordings, "
        "or change to a folder with one"
    )


def test_the_digest_is_of_names_and_bytes(tmp_path: Path) -> None:
    """A root's digest changes with a name or a byte, and not with the place of the root."""
    one, two, three = (tmp_path / name for name in ("one", "two", "three"))
    write(one, "golden/a.jsonl", ["{}"])
    write(two, "golden/a.jsonl", ["{}"])
    write(three, "golden/b.jsonl", ["{}"])
    before = Root(two, "flag").digest()

    assert Root(one, "flag").digest() == before != Root(three, "flag").digest()
    write(two, "golden/a.jsonl", ["{ }"])
    assert Root(two, "flag").digest() != before


def test_one_line_of_a_file_is_told_from_a_file(tmp_path: Path) -> None:
    """A gate over a single line is a part of a suite, whatever else the file holds."""
    file = tmp_path / "a.jsonl"
    file.write_text("{}\n")

    assert not find_root("scenarios", file).is_line
    assert find_root("scenarios", f"{file}:1").is_line
