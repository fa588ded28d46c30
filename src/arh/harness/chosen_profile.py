"""Finds the profile that decides, and says where it is from: a flag, the working folder, or arh.

The working folder comes before what is installed, so a file there can stand in for the profile that
everybody means by its name. It may, and nobody shall have to guess: the kind of source and the
digest are on the scorecard, and a file that shadows another of the same name is a warning.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from arh.decision.profile import LoadedProfile, load_profile
from arh.errors import AuthoringError, quoted
from arh.harness.authoring.roots import find_root, own_root
from arh.harness.vocabulary.rules import RULES
from arh.records.control.gate import Subject

DEFAULTS: Final[Mapping[Subject, str]] = {"scenarios": "conformance.yaml", "cases": "cases.yaml"}


def chosen_profile(named: str | None, *, judges: Subject = "scenarios") -> LoadedProfile:
    """Return the profile of a path, of a name in the profiles' root, or the default one.

    Raises:
        AuthoringError: There is none, anything is wrong with it, or it judges something else.
    """
    path, source = _found(named, DEFAULTS[judges])
    loaded = load_profile(path, rules=RULES)
    if loaded.profile.judges != judges:
        found, hint = loaded.profile.judges, f"the default is {DEFAULTS[judges]}"
        raise AuthoringError.of(found, expected=judges, file=str(path), field="judges", hint=hint)
    shadowed = _shadowed(path, loaded.digest) if source == "working" else ()
    return replace(loaded, source=source, notes=(*loaded.notes, *shadowed))


def _found(named: str | None, default: str) -> tuple[Path, str]:
    if named is not None and Path(named).exists():
        return Path(named), "flag"
    name = named or default
    root = find_root("profiles")
    inside = root.path / (name if name.endswith(".yaml") else f"{name}.yaml")
    if inside.exists() or named is None:
        return inside, root.kind
    return Path(named), "flag"


def _shadowed(path: Path, digest: str) -> tuple[str, ...]:
    """Return a warning if another profile of this name comes with arh."""
    try:
        content = (own_root("profiles").path / path.name).read_bytes()
    except (AuthoringError, OSError):
        return ()
    own = hashlib.sha256(content).hexdigest()
    if own == digest:
        return ()
    shown = f"{quoted(path.name)} of the working folder ({digest[:12]})"
    return (f"profile {shown} stands in for the one that comes with arh ({own[:12]})",)
