"""The self-test: plants every seeded defect, and holds it against the check that must catch it.

A harness that was never shown to fail has earned no trust. For each defect two things are tried:
the thing with the defect, which must not come out clean and must be caught by the named check, and
its twin without it, which must come out clean. Anything else is a defect of arh.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

from arh.errors import ArhError, AuthoringError, closest
from arh.foreign import ForeignFailure, call
from arh.testing.defects import Catcher, Defect, Outcome, all_defects
from arh.testing.workbench import Workbench

Status = Literal["caught", "NOT CAUGHT", "TWIN FAILED", "BROKEN"]


@dataclass(frozen=True, slots=True)
class Trial:
    """How one defect fared.

    `NOT CAUGHT`: what must catch it did not. `TWIN FAILED`: the same without it is not clean.
    `BROKEN`: planting it failed. `detail` says what was seen instead.
    """

    defect: Defect
    status: Status
    detail: str = ""

    @property
    def is_caught(self) -> bool:
        """True if the defect was caught and its twin spared."""
        return self.status == "caught"


def selftest(defects: Iterable[Defect], bench: Workbench) -> Iterator[Trial]:
    """Yield how each defect fared, in order."""
    for defect in defects:
        yield tried(defect, bench)


def tried(defect: Defect, bench: Workbench) -> Trial:
    """Plant one defect and its twin."""
    planted, twin = _outcome(defect, bench, broken=True), _outcome(defect, bench, broken=False)
    if isinstance(planted, str) or isinstance(twin, str):
        return Trial(defect, "BROKEN", planted if isinstance(planted, str) else str(twin))
    if planted.clean or defect.caught_by not in planted.caught:
        return Trial(defect, "NOT CAUGHT", f"seen: {_listed(planted)}")
    if not twin.clean or defect.caught_by in twin.caught:
        return Trial(defect, "TWIN FAILED", f"seen without it: {_listed(twin)}")
    return Trial(defect, "caught")


def chosen(patterns: Sequence[str]) -> tuple[Defect, ...]:
    """Return the defects whose id matches a pattern (`*`, `?`); all of them without one.

    Raises:
        AuthoringError: A pattern matches nothing: a self-test of nothing would show nothing.
    """
    defects = all_defects()
    for pattern in patterns:
        if not any(fnmatchcase(defect.id, pattern) for defect in defects):
            hint = closest(pattern, [defect.id for defect in defects]) or "see --list"
            raise AuthoringError.of(
                pattern, expected="a pattern that matches a defect", field="--only", hint=hint
            )
    return tuple(d for d in defects if not patterns or _matches(d, patterns))


def _matches(defect: Defect, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(defect.id, pattern) for pattern in patterns)


def _outcome(defect: Defect, bench: Workbench, *, broken: bool) -> Outcome | str:
    """Return what came of it, or the name of what kept it from being tried."""
    do = defect.plant if broken else defect.twin
    try:
        made = call("defect", lambda: do(bench))
    except ArhError as error:
        return f"{type(error).__name__}: {error}"
    return f"raised {made.type_name}" if isinstance(made, ForeignFailure) else made


def _listed(outcome: Outcome) -> str:
    names: list[Catcher] = sorted(outcome.caught, key=str)
    return ", ".join(map(str, names)) or ("nothing wrong" if outcome.clean else "nothing by name")
