"""The projection of a state worked out anew, at the cost of the whole state."""

from __future__ import annotations

from typing import Any, cast

from arh.ports.sue import StateReader
from arh.records.packs import CollectionSpec
from arh.state.snapshot import Projection


class Foreign:
    """A reader of nobody's store, so that no projection of an equal state is taken instead."""

    def __init__(self, reader: StateReader) -> None:
        """Read what the reader reads."""
        self._reader = reader

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the reader has
        """Pass on what is asked."""
        return getattr(self._reader, name)


def projection_digest(reader: StateReader, collections: tuple[CollectionSpec, ...]) -> str:
    """Return the digest of the business state, from every record of it."""
    return Projection(cast("StateReader", Foreign(reader)), collections).digest()
