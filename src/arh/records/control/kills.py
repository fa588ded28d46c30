"""The kill matrix: which scenarios noticed that a control of the configuration was broken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

CellStatus = Literal["killed", "survived", "untouched", "unclear", "untried"]
CELLS: tuple[CellStatus, ...] = get_args(CellStatus)
RowStatus = Literal["killed", "survived", "not applicable"]


@dataclass(frozen=True, slots=True)
class Cell:
    """One scenario under one broken control.

    `killed`: it no longer comes out as it must, for the reason `by`. `survived`: the run was
    another one, and nobody minded. `untouched`: the run was the same. `unclear`: the run broke off,
    as where a model script has no answer to what happened, and proves nothing. `untried`: it was
    not run, since another scenario had noticed already.
    """

    scenario: str
    status: CellStatus
    by: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """One control: what is broken about it, and every scenario under it.

    A control that the pack does not use is not applicable, for the reason `why`, and has no cells.
    """

    control: str
    breaks: str
    status: RowStatus
    why: str = ""
    cells: tuple[Cell, ...] = ()

    def scenarios(self, status: CellStatus) -> tuple[Cell, ...]:
        """Return the cells of one status."""
        return tuple(cell for cell in self.cells if cell.status == status)


@dataclass(frozen=True, slots=True)
class KillMatrix:
    """All controls of a configuration, broken one at a time.

    `unfit` are scenarios, with the reason, that do not come out as they must with every control in
    place: they can notice nothing, so they have no column.
    """

    workflow: str
    agent: str
    scenarios: tuple[str, ...]
    rows: tuple[Row, ...]
    unfit: tuple[tuple[str, str], ...] = ()

    def of(self, status: RowStatus) -> tuple[Row, ...]:
        """Return the controls of one status."""
        return tuple(row for row in self.rows if row.status == status)
