"""The metrics of recorded outputs, held against cases: what each one means.

They stand apart from the catalogue of scenarios, since nobody ran anything: latency and cost are
what the recording says, and an authored set of cases is no sample.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from arh.records.control.metric import MetricDefinition

SEVERITIES: Final = ("critical", "major", "minor")
CASE_SLICES: Final = ("all", *(f"severity:{severity}" for severity in SEVERITIES))

_ACTIVITY: Final = "workflow_verification"

CASE_METRICS: Final[Mapping[str, MetricDefinition]] = MappingProxyType(
    {
        each.name: each
        for each in (
            MetricDefinition(
                "case_pass_rate",
                "1.0",
                "cases whose recorded output passed every check, of all cases",
                "share",
                "higher",
                "workflow",
                _ACTIVITY,
            ),
            MetricDefinition(
                "case_failures",
                "1.0",
                "cases whose recorded output failed a check",
                "cases",
                "lower",
                "workflow",
                _ACTIVITY,
                "count",
            ),
            MetricDefinition(
                "critical_case_failures",
                "1.0",
                "cases of the severity critical whose recorded output failed a check",
                "cases",
                "lower",
                "workflow",
                _ACTIVITY,
                "count",
            ),
            MetricDefinition(
                "undeclared_tool_calls",
                "1.0",
                "recorded calls of tools that no case names",
                "calls",
                "lower",
                "action",
                _ACTIVITY,
                "count",
            ),
            MetricDefinition(
                "case_latency_ms_p95",
                "1.0",
                "nearest-rank 95th percentile of the recorded latencies",
                "ms",
                "lower",
                "system",
                "system_reliability_testing",
                "quantile",
            ),
            MetricDefinition(
                "case_cost_usd_mean",
                "1.0",
                "recorded cost of all cases, divided by their number",
                "USD",
                "lower",
                "system",
                "system_reliability_testing",
                "mean",
            ),
        )
    }
)
