"""Confidence intervals for k successes of n independent trials.

Plain mathematics: what the trials were, and whether they were a sample of anything, is for the
caller to know. All intervals lie in [0, 1], and no trials at all give [0, 1] itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

_TINY: Final = 1e-300
_CLOSE: Final = 3e-16
_TERMS_MAX: Final = 100_000


@dataclass(frozen=True, slots=True)
class Interval:
    """The bounds of a proportion, both included."""

    low: float
    high: float


def wilson(k: int, n: int, confidence: float = 0.95) -> Interval:
    """Return Wilson's two-sided score interval, without continuity correction.

    Near the nominal coverage on average, at times below it: for reading, not for gating.

    Source: E. B. Wilson, "Probable Inference, the Law of Succession, and Statistical Inference",
    JASA 22 (1927).
    """
    _expect(k, n, confidence)
    if n == 0:
        return Interval(0.0, 1.0)
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    return Interval(_wilson_low(k, n, z), 1 - _wilson_low(n - k, n, z))


def clopper_pearson(k: int, n: int, confidence: float = 0.95) -> Interval:
    """Return the exact two-sided interval with equal tails; its coverage is never below nominal.

    The bounds are quantiles of beta distributions, found by bisection.

    Source: C. J. Clopper and E. S. Pearson, "The Use of Confidence or Fiducial Limits Illustrated
    in the Case of the Binomial", Biometrika 26 (1934).
    """
    _expect(k, n, confidence)
    tail = (1 - confidence) / 2
    low = 0.0 if k == 0 else _beta_quantile(tail, k, n - k + 1)
    high = 1.0 if k == n else 1 - _beta_quantile(tail, n - k, k + 1)
    return Interval(low, high)


def rule_of_three(n: int, confidence: float = 0.95) -> float:
    """Return the exact one-sided upper bound of a rate of which n trials showed no event.

    That is 1 - (1 - confidence)^(1/n); at 95 % it is a little below the 3/n that names the rule.

    Source: J. A. Hanley and A. Lippman-Hand, "If Nothing Goes Wrong, Is Everything All Right?",
    JAMA 249 (1983).
    """
    _expect(0, n, confidence)
    return 1.0 if n == 0 else -math.expm1(math.log1p(-confidence) / n)


def _wilson_low(k: int, n: int, z: float) -> float:
    """Return the lower bound; for k = 0 it is exactly 0, because sqrt(z * z) is exactly z."""
    centre = k + z * z / 2
    spread = z * math.sqrt(k * (n - k) / n + z * z / 4)
    return (centre - spread) / (n + z * z)


def _expect(k: int, n: int, confidence: float) -> None:
    """Refuse counts that are none, and certainty."""
    if not 0 <= k <= n:
        raise ValueError(f"expected 0 <= k <= n, found k = {k}, n = {n}")
    if not 0 < confidence < 1:
        raise ValueError(f"expected a confidence between 0 and 1, found {confidence}")


def _beta_quantile(p: float, a: int, b: int) -> float:
    """Return the x at which the distribution function of Beta(a, b) reaches p, to the last bit."""
    low, high = 0.0, 1.0
    while low < (middle := (low + high) / 2) < high:
        if _beta_cdf(middle, a, b) < p:
            low = middle
        else:
            high = middle
    return high


def _beta_cdf(x: float, a: int, b: int) -> float:
    """Return the regularised incomplete beta function I_x(a, b), mirrored (DLMF 8.17.4) if slow."""
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta_cdf(1 - x, b, a)
    scale = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front = math.exp(scale + a * math.log(x) + b * math.log1p(-x))
    return front / a / _beta_fraction(x, a, b)


def _beta_fraction(x: float, a: int, b: int) -> float:
    """Return the continued fraction of DLMF 8.17.22 by Lentz's method, as modified by Thompson."""
    value, c, d = 1.0, 1.0, 0.0
    for term in range(1, _TERMS_MAX):
        coefficient = _beta_coefficient(term, x, a, b)
        d = 1 / (1 + coefficient * d or _TINY)
        c = 1 + coefficient / c or _TINY
        value *= c * d
        if abs(c * d - 1) <= _CLOSE:
            break
    return value


def _beta_coefficient(term: int, x: float, a: int, b: int) -> float:
    """Return the coefficient d of DLMF 8.17.23."""
    m = term // 2
    if term % 2:
        return -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
    return m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
