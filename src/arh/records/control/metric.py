"""What a metric is and what it came to."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

MetricStatus = Literal[
    "ok", "provisional", "not_evaluated", "insufficient_data", "indeterminate", "error"
]
"""What a metric came to, in the six published words.

An offline suite gives `ok`, `not_evaluated` (there was nothing to measure, or only a live system
could show it), `indeterminate` (runs that could not be judged leave the value open) and
`insufficient_data` (a percentile of too few runs). `provisional` and `error` are never given: a
count over whole runs does not settle later, and a run that failed is unjudged.
"""
Direction = Literal["higher", "lower", "none"]


@dataclass(frozen=True, slots=True)
class MetricDefinition:
    """A metric's meaning.

    What is counted over what, which way is better, at which level it speaks.
    """

    name: str
    version: str
    definition: str
    unit: str
    direction: Direction
    level: str
    activity: str
    kind: Literal["rate", "ratio", "mean", "quantile", "count"] = "rate"
    alias_of: str | None = None


@dataclass(frozen=True, slots=True)
class MetricValue:
    """One metric of one slice: exact numerator and denominator, never a rounded float.

    `interval` is `none (not a sample)` for an authored suite under a scripted model. Runs that are
    `unjudged` could not be counted; where each run adds one to the denominator they stay in it, and
    the value lies between `lowest` and `highest`, whatever they would have shown. `scenarios`
    counts the scenarios that the value is about.
    """

    name: str
    version: str
    unit: str
    status: MetricStatus
    numerator: Fraction | None
    denominator: Fraction | None
    value: Fraction | None
    slice: str = "all"
    sample_size: int = 0
    interval: str = "none (not a sample)"
    detail: str = ""
    unjudged: int = 0
    scenarios: int = 0
    lowest: Fraction | None = None
    highest: Fraction | None = None
