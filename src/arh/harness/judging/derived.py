"""What several evaluators derive from the evidence of one run, derived once.

An answer is read for the response, for grounding and for the report, and the pieces of a run by
three evaluators: each time anew, that was a fifth of what it costs to judge a run. What is derived
lies with the evidence, so it is gone when the evidence is. `judge` lets evaluators that are not
ours work on a copy, which derives for itself.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from operator import is_
from typing import Concatenate, ParamSpec, TypeVar

from arh.records.control.evidence import Evidence

P = ParamSpec("P")
T = TypeVar("T")


def once(
    derive: Callable[Concatenate[Evidence, P], T],
) -> Callable[Concatenate[Evidence, P], T]:
    """Return a function that derives the same, and only once from the same evidence.

    What else it is given (a pack) is told apart by identity. Nobody may change what it returns.
    """

    def derived(evidence: Evidence, /, *about: P.args, **named: P.kwargs) -> T:
        kept = evidence.derived.get(derive)
        if kept is None or not all(map(is_, kept[0], about)):
            kept = (about, derive(evidence, *about, **named))
            evidence.derived[derive] = kept
        found: T = kept[1]
        return found

    update_wrapper(derived, derive)
    return derived
