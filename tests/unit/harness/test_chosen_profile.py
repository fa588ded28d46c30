"""The profile that decides is named with its source, and none stands in for another in silence."""

from __future__ import annotations

from pathlib import Path

import pytest

from arh.errors import AuthoringError
from arh.harness.authoring.roots import own_root
from arh.harness.chosen_profile import chosen_profile

OWN = own_root("profiles").path / "conformance.yaml"
WEAK = (
    "profile: conformance\ngates:\n"
    "  - {type: conformance, check: no_evaluator_error, severity: blocking}\n"
)


@pytest.fixture(name="here")
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_without_profiles_of_ones_own_the_one_of_arh_decides(here: Path) -> None:
    """Nothing lies in the working folder."""
    assert not (here / "profiles").exists()

    assert chosen_profile(None).source in ("packaged", "repository")


def test_a_profile_of_the_working_folder_that_shadows_is_told(here: Path) -> None:
    """Its name is the default's, its gates are not."""
    (here / "profiles").mkdir()
    (here / "profiles" / "conformance.yaml").write_text(WEAK)

    loaded = chosen_profile(None)

    assert loaded.source == "working"
    own = chosen_profile(str(OWN)).digest[:12]
    told = f"`conformance.yaml` of the working folder ({loaded.digest[:12]}) stands in for the one"
    assert loaded.notes == (f"profile {told} that comes with arh ({own})",)


def test_a_copy_shadows_nothing(here: Path) -> None:
    """The same bytes decide the same."""
    (here / "profiles").mkdir()
    (here / "profiles" / "conformance.yaml").write_bytes(OWN.read_bytes())

    loaded = chosen_profile("conformance")

    assert (loaded.source, loaded.notes) == ("working", chosen_profile(str(OWN)).notes)


def test_a_path_is_a_path(here: Path) -> None:
    """Whatever it is called, it was asked for."""
    (here / "conformance.yaml").write_text(WEAK)

    loaded = chosen_profile("conformance.yaml")

    assert (loaded.source, loaded.notes) == ("flag", ())


def test_a_name_that_nobody_knows_is_refused(here: Path) -> None:
    """Wherever it was looked for."""
    assert here.exists()

    with pytest.raises(AuthoringError, match="there is no such file"):
        chosen_profile("nobody")
