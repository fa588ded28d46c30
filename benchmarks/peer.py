"""Judges traces with the public tool, in its own environment, and prints the CPU seconds.

Standard input is one trace on each line; arguments are none. It is run by `benchmarks.traces`.
"""

from __future__ import annotations

import json
import sys
import time

from agent_reliability_harness import (  # type: ignore[import-not-found]
    Policy,
    Trace,
    validate_trace,
)

policy = Policy.from_dict(json.loads(sys.stdin.readline()))
lines = sys.stdin.read().splitlines()
best, reports = float("inf"), []
for _ in range(3):
    began = time.process_time()
    reports = [validate_trace(Trace.from_dict(json.loads(line)), policy) for line in lines]
    best = min(best, time.process_time() - began)
print(json.dumps([best, sum(report.passed for report in reports)]))
