"""The support workflow: six tools, their policies, data and controls. `pack` is its entry point."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from arh.records.packs import WorkflowPack


def pack() -> WorkflowPack:
    """Return the support workflow pack."""
    from arh.workflows.support.definition import PACK  # noqa: PLC0415 - loaded when the workflow is used

    return PACK
