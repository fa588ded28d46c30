"""What the steps of a trace sum up to: exactly, or as doubles where compatibility asks for that."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from arh.traces.judging.facts import Compat, total
from arh.traces.trace import Trace


@dataclass(frozen=True, slots=True)
class Totals:
    """The sums, and over how many steps. `tokens` counts input and output."""

    latency_ms: Decimal | float
    cost_usd: Decimal | float
    tokens: int
    latencies: int
    costs: int
    token_steps: int

    @classmethod
    def of(cls, trace: Trace, compat: Compat | None) -> Totals:
        """Return the sums over a trace."""
        steps = trace.steps
        latencies = [step.latency_ms for step in steps if step.latency_ms is not None]
        costs = [step.cost_usd for step in steps if step.cost_usd is not None]
        counted = [
            (step.input_tokens or 0) + (step.output_tokens or 0)
            for step in steps
            if step.input_tokens is not None or step.output_tokens is not None
        ]
        return cls(
            latency_ms=float(sum(latencies)) if compat else total(latencies),
            cost_usd=float(sum(costs)) if compat else total(costs),
            tokens=sum(counted),
            latencies=len(latencies),
            costs=len(costs),
            token_steps=len(counted),
        )
