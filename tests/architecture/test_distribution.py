"""What is built holds what an installed arh needs."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SUITE = ("datasets", "fixtures", "profiles", "scenarios")
PARTS = ("LICENSE", "README.md", "pyproject.toml", "src", "tools", *SUITE)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel as users get it: built from the source distribution, not from the checkout."""
    folder = tmp_path_factory.mktemp("build")
    tree = copy_with_planted_suite(folder / "tree")
    build(tree, "sdist", folder)
    archive = next(folder.glob("*.tar.gz"))
    unpack = [sys.executable, "-m", "tarfile", "--extract", str(archive), str(folder / "unpacked")]
    subprocess.run(unpack, capture_output=True, check=True)
    build(next((folder / "unpacked").iterdir()), "wheel", folder)
    return zipfile.ZipFile(next(folder.glob("*.whl")))


def test_the_wheel_holds_the_suite(wheel: zipfile.ZipFile) -> None:
    """Each suite folder of the repository is found again below arh/_suite."""
    planted = {f"arh/_suite/{name}/planted.txt" for name in SUITE}

    assert planted <= set(wheel.namelist())


def test_the_wheel_holds_every_workflow_with_all_of_its_suite(wheel: zipfile.ZipFile) -> None:
    """Each pack of the source is found by its entry point, with scenarios, data and scripts."""
    shipped = {path.parent.name for path in ROOT.glob("src/arh/workflows/*/__init__.py")}
    names = set(wheel.namelist())
    listed = next(name for name in names if name.endswith("/entry_points.txt"))
    points = wheel.read(listed).decode()

    for workflow in shipped:
        files = [p for part in SUITE for p in ROOT.joinpath(part, workflow).rglob("*.json*")]
        held = {f"arh/_suite/{path.relative_to(ROOT).as_posix()}" for path in files}
        assert {name.split("/")[2] for name in held} == {"datasets", "fixtures", "scenarios"}
        assert held <= names
        assert f"{workflow} = arh.workflows.{workflow}:pack" in points


def test_the_wheel_says_that_it_is_typed(wheel: zipfile.ZipFile) -> None:
    """Type checkers of users read our annotations."""
    assert "arh/py.typed" in wheel.namelist()


def test_the_wheel_holds_nothing_else(wheel: zipfile.ZipFile) -> None:
    """Tests, tools and reports stay out of the environments of users."""
    tops = {name.partition("/")[0] for name in wheel.namelist()}

    assert {top for top in tops if not top.endswith(".dist-info")} == {"arh"}


def test_a_missing_suite_folder_stops_the_build(tmp_path: Path) -> None:
    """A wheel without scenarios would install well and then find nothing to run."""
    tree = copy_with_planted_suite(tmp_path / "tree")
    shutil.rmtree(tree / "scenarios")

    with pytest.raises(subprocess.CalledProcessError) as failure:
        build(tree, "wheel", tmp_path)

    assert "`scenarios/` is missing" in failure.value.stderr


def copy_with_planted_suite(tree: Path) -> Path:
    """A copy of what is packaged, in which each suite folder holds one file more."""
    tree.mkdir()
    for part in PARTS:
        source = ROOT / part
        if source.is_dir():
            shutil.copytree(source, tree / part, ignore=shutil.ignore_patterns("*.pyc"))
        elif source.exists():
            shutil.copy(source, tree / part)
    for name in SUITE:
        tree.joinpath(name).mkdir(exist_ok=True)
        tree.joinpath(name, "planted.txt").write_text("planted\n", "utf-8")
    return tree


def build(tree: Path, target: str, folder: Path) -> None:
    """The build backend has written the distribution of the tree into the folder."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", target]
    subprocess.run(
        [*command, "--directory", str(folder)], cwd=tree, capture_output=True, text=True, check=True
    )
