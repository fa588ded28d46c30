"""`arh gate`: the release gate; `python -m arh.harness.release_gate` is the same."""

from __future__ import annotations

from arh.harness.release_gate import main

__all__ = ["main"]
