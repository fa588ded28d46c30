"""Every metric that a gate can look at, by name, whatever it is a metric of."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from arh.decision.case_metrics import CASE_METRICS
from arh.decision.catalogue import CATALOGUE
from arh.records.control.metric import MetricDefinition

BY_SUBJECT: Final[Mapping[str, Mapping[str, MetricDefinition]]] = MappingProxyType(
    {
        "scenarios": {name: measure.definition for name, measure in CATALOGUE.items()},
        "cases": CASE_METRICS,
    }
)
DEFINITIONS: Final[Mapping[str, MetricDefinition]] = MappingProxyType(
    {name: each for known in BY_SUBJECT.values() for name, each in known.items()}
)
