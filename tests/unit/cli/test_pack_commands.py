"""`arh new`, `arh packs` and `arh check-pack` as a user types them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from arh import bootstrap
from arh.bootstrap import packs
from arh.cli import check_pack, new
from arh.cli import packs as packs_command
from arh.errors import AuthoringError
from arh.harness.exits import guarded
from tests.unit.scaffold.written import NAME, written

SUPPORT = bootstrap.load_pack("support")
Make = Callable[[], object]


class Point:
    """An installed entry point, of no distribution."""

    dist: object = None

    def __init__(self, name: str, make: Make) -> None:
        """Return what is made when it is loaded and called."""
        self.name, self.value, self._make = name, f"{name}:pack", make

    def load(self) -> Make:
        """Return the function."""
        return self._make


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Point]]:
    """What is installed: the support pack, and whatever a test adds."""
    points = [Point("support", lambda: SUPPORT)]
    monkeypatch.setattr(packs, "entry_points", lambda **_group: points)
    packs.pack_names.cache_clear()
    yield points
    packs.pack_names.cache_clear()


def raising() -> object:
    """Break down while loading."""
    raise SystemExit


BROKEN: tuple[tuple[Make, str], ...] = (
    (raising, "workflow pack odd (?) does not load: SystemExit"),
    (lambda: None, "workflow pack odd (?) is not a WorkflowPack"),
    (lambda: SUPPORT, "expected the name of its entry point, odd, found `support`"),
    (lambda: replace(SUPPORT, name="odd", version="one"), "expected a version as in 1.0"),
    (lambda: replace(SUPPORT, name="odd", policies=()), "at least one policy"),
    (
        lambda: replace(SUPPORT, name="odd", policies=("orders",)),  # type: ignore[arg-type]
        "expected pairs of a name and a Json",
    ),
    (
        lambda: replace(SUPPORT, name="odd", tools=list(SUPPORT.tools)),  # type: ignore[arg-type]
        "expected a tuple of Tool, found `list`",
    ),
    (
        lambda: replace(SUPPORT, name="odd", tools=(*SUPPORT.tools, SUPPORT.tools[0])),
        "expected a name that no other tool has",
    ),
    (
        lambda: replace(SUPPORT, name="odd", identifiers=("(",)),
        "`identifiers[0]`: expected an RE2 pattern",
    ),
)


def described(root: Path) -> str:
    """The path on which another process finds the written pack as an installed one."""
    metadata = root / "site" / f"{NAME}_workflow-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {NAME}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[arh.workflows]\n{NAME}={NAME}_workflow:pack\n")
    return os.pathsep.join((str(root / "site"), str(root / "src")))


class TestPacks:
    """`arh packs`."""

    def test_each_pack_is_one_line(
        self, installed: list[Point], capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Name, version, description, tools, and the digest of what they declare."""
        code = packs_command.main([])

        assert len(installed) == 1
        out = capsys.readouterr().out
        assert code == 0
        assert out.startswith("support 1.1: Support and incident triage")
        assert "(6 tools, 2 of them write, " in out

    @pytest.mark.parametrize(("make", "says"), BROKEN, ids=[says for _, says in BROKEN])
    def test_a_broken_pack_is_named_and_hides_no_other(
        self, make: Make, says: str, installed: list[Point], capsys: pytest.CaptureFixture[str]
    ) -> None:
        """The exit code is 2, and what is wrong stands on the error channel."""
        installed.insert(0, Point("odd", make))

        code = packs_command.main([])

        told = capsys.readouterr()
        assert code == 2
        assert told.out.splitlines()[0] == "odd BROKEN (?)"
        assert told.out.splitlines()[1].startswith("support 1.1: ")
        assert says in told.err

    def test_a_distribution_without_a_name_is_shown_as_unknown(
        self, installed: list[Point], capsys: pytest.CaptureFixture[str]
    ) -> None:
        """What its metadata lacks is no reason to list nothing."""

        class Nameless:
            @property
            def name(self) -> str:
                raise KeyError

        installed[0].dist = Nameless()

        assert packs_command.main([]) == 0
        assert capsys.readouterr().out.endswith("; ?)\n")

    def test_two_packs_of_one_name_are_both_broken(
        self, installed: list[Point], capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Which one would be used is nobody's guess."""
        installed.append(Point("support", lambda: SUPPORT))

        code = packs_command.main([])

        told = capsys.readouterr()
        assert (code, told.out) == (2, "support BROKEN (?, ?)\n")
        assert "several packs of one name: support" in told.err

    def test_an_unknown_pack_is_met_with_those_that_exist(self, installed: list[Point]) -> None:
        """The nearest one, or all of them."""
        assert len(installed) == 1
        with pytest.raises(AuthoringError, match="did you mean `support`"):
            bootstrap.load_pack("suport")
        with pytest.raises(AuthoringError, match="installed: support"):
            bootstrap.load_pack("zzz")


class TestNew:
    """`arh new workflow`."""

    def test_it_says_what_to_do_next(
        self, installed: list[Point], tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """The folder is there, and the commands that follow are told."""
        assert [point.name for point in installed] == ["support"]
        code = new.main(["workflow", "invoice_review", "--into", str(tmp_path)])

        out = capsys.readouterr().out
        assert code == 0
        assert (tmp_path / "invoice_review" / "pyproject.toml").is_file()
        assert "arh check-pack invoice_review" in out

    def test_the_name_of_an_installed_workflow_is_taken(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Two of one name could never be told apart."""
        words = ["workflow", "support", "--into", str(tmp_path)]

        assert guarded(new.main, words) == 2
        assert "a name that no installed workflow has" in capsys.readouterr().err
        assert list(tmp_path.iterdir()) == []

    def test_a_bad_name_is_a_usage_error(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """It leads nowhere."""
        assert guarded(new.main, ["workflow", "../up", "--into", str(tmp_path)]) == 2
        assert "`NAME`: expected" in capsys.readouterr().err


class TestCheckPack:
    """`arh check-pack`."""

    def test_each_check_is_one_line(
        self,
        installed: list[Point],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """A pack that conforms: 0, one line a check, and their number."""
        with written(tmp_path) as pack:
            installed.append(Point(NAME, lambda: pack.pack))
            monkeypatch.setenv("PYTHONPATH", described(pack.root))
            monkeypatch.chdir(pack.root)
            code = check_pack.main([NAME])

        lines = capsys.readouterr().out.splitlines()
        assert code == 0
        assert [line[:4].strip() for line in lines[:-1]] == ["ok"] * 11
        assert lines[-1] == "supplies: 11 of 11 checks hold"

    def test_a_check_that_fails_says_what_and_what_to_do(
        self,
        installed: list[Point],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """1, the problem below the check, and the next step below the problem."""
        with written(tmp_path) as pack:
            installed.append(Point(NAME, lambda: replace(pack.pack, claims=())))
            monkeypatch.chdir(pack.root)
            code = check_pack.main([NAME, "--scenarios", "scenarios"])

        out = capsys.readouterr().out
        assert code == 1
        assert "FAIL  claims-read" in out
        assert "      place_order: no claim pattern: a lie in prose is not noticed\n" in out
        assert "      do: add a ClaimPattern whose `action` is the tool's name\n" in out

    def test_what_cannot_be_loaded_is_an_authoring_error(
        self,
        installed: list[Point],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """2, with the file and the field; no check has run."""
        with written(tmp_path) as pack:
            installed.append(Point(NAME, lambda: pack.pack))
            golden = "scenarios/supplies/golden/order-placed-001.jsonl"
            pack.edit(golden, lambda value: value.update(rolle="x"))
            monkeypatch.chdir(pack.root)
            code = guarded(check_pack.main, [NAME])

        told = capsys.readouterr()
        assert (code, told.out) == (2, "")
        assert f"{golden}:1: `rolle`" in told.err
