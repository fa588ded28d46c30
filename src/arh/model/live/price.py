"""What tokens cost, exactly."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from arh.records.decisions import Usage

MILLION: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens; cached input tokens have a price of their own."""

    input: Fraction
    output: Fraction
    cached: Fraction

    def of(self, usage: Usage) -> Fraction:
        """Return what the tokens cost; cached ones are a part of the input."""
        cached = min(usage.cached_tokens, usage.input_tokens)
        plain = usage.input_tokens - cached
        return (
            plain * self.input + cached * self.cached + usage.output_tokens * self.output
        ) / MILLION


FREE = Price(Fraction(0), Fraction(0), Fraction(0))
