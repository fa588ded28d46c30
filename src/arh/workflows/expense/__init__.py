"""The expense workflow: its tools, policies, data and speech. `pack` is its entry point."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from arh.records.packs import WorkflowPack


def pack() -> WorkflowPack:
    """Return the expense workflow pack."""
    from arh.workflows.expense.definition import PACK  # noqa: PLC0415 - loaded when the workflow is used

    return PACK
