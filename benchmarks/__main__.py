"""Measures, prints a table, and exits with 1 if a figure is over its limit.

`python -m benchmarks`, or `make bench`. All of it takes a minute. It is no test: on a machine that
does much else at the same time some figure may be over its limit by chance.
"""

from __future__ import annotations

import platform
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from benchmarks.endpoint import endpoint_rows
from benchmarks.floor import Floor
from benchmarks.golden import Golden
from benchmarks.mcp_calls import mcp_rows
from benchmarks.measuring import Row, cheapest
from benchmarks.scaling import record_row, suite_rows
from benchmarks.starts import start_rows
from benchmarks.traces import trace_rows


def main() -> int:
    """Return 0 if every figure is within its limit, else 1."""
    print(f"CPU time on {platform.python_implementation()} {platform.python_version()}\n")
    rows = []
    for row in _measured():
        print(_shown(row), flush=True)
        rows.append(row)
    missed = [row.name for row in rows if not row.met]
    print(f"\nover the limit: {'; '.join(missed)}" if missed else "\nall within their limits")
    return 1 if missed else 0


def _measured() -> Iterator[Row]:
    yield from _run_rows()
    yield record_row()
    yield from start_rows()
    yield from endpoint_rows()
    yield from mcp_rows()
    yield from suite_rows()
    yield from trace_rows()


def _run_rows() -> Iterable[Row]:
    """Return the costs of one golden run in proportion to FLOOR and to each other."""
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "floor").open("ab") as file:
        floor, golden = Floor(file), Golden(Path(folder) / "evidence")
        works = {
            "floor": floor.run,
            "executed": golden.executed,
            "judged": golden.judged,
            "observed": golden.observed,
        }
        us = cheapest(works)
        golden.close()
    return [
        Row("FLOOR, a run", us["floor"], unit="us"),
        _ratio("golden run, evidence on disk / FLOOR", us["executed"], us["floor"], 10),
        _ratio("golden run, all evaluators / FLOOR", us["judged"], us["floor"], 20),
        _ratio("golden run, telemetry on / off", us["observed"], us["judged"], 1.5),
    ]


def _ratio(name: str, us: float, of_us: float, limit: float) -> Row:
    return Row(name, us / of_us, limit, "x", f"{us:.0f} us")


def _shown(row: Row) -> str:
    limit = "" if row.limit is None else f"<= {row.limit:g}"
    verdict = "" if row.limit is None else ("ok" if row.met else "MISSED")
    shown = f"{row.value:,.2f}" if row.value < 100 else f"{row.value:,.0f}"
    return f"{row.name:50} {shown:>10} {row.unit:4} {limit:>8} {verdict:6} {row.note}".rstrip()


if __name__ == "__main__":
    sys.exit(main())
