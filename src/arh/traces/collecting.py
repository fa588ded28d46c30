"""Keeps the garbage collector from looking at a recording again and again while it is being read.

What is read holds no cycle, so there is nothing to find, and each look at a long recording costs as
much as reading a part of it: without the pause, ten times as many steps cost twenty times as much.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """The collector rests meanwhile, and goes on afterwards if it was on before."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
