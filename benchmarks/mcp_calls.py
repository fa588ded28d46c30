"""What a call costs through the gateway over MCP, beside an empty server of the same library.

Wall time, and the median of the best batch: a call is waiting for the other side. A client in a
process of its own calls the gateway of a real run and the empty servers in turns, over both
transports. To start an agent is not part of it, and shown apart.
"""

from __future__ import annotations

import json
import queue
import statistics
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from arh.canonical import JsonValue
from arh.connect.mcp.agent import ServedAgent
from arh.connect.mcp.credentials import Principal
from arh.connect.mcp.place import Place
from arh.testing.workbench import Exercise, Workbench
from benchmarks.golden import ROOT
from benchmarks.mcp_client import CALLS, WARM_UP
from benchmarks.measuring import Row

SCENARIO = "golden-billing-incident-001"
BATCH = 25
WALL_MS = 120_000
PRINCIPAL = Principal("bench", "bench", "bench")
EMPTY = [sys.executable, "-m", "benchmarks.mcp_empty"]


def mcp_rows() -> list[Row]:
    """Return what the gateway adds to a call over each transport, and what a connection takes."""
    with _served() as place, _empty_http() as url:
        told = _measured(
            {
                "http": {"url": place.url, "token": place.token},
                "empty http": {"url": url, "token": "none"},
                "stdio": {"stdio": list(place.stdio)},
                "empty stdio": {"stdio": [*EMPTY, "stdio"]},
            }
        )
    median = {name: _best_median(each["calls_ms"]) for name, each in told.items()}
    rows = []
    for transport, shown, limit in (("stdio", "stdio", 3.0), ("http", "HTTP", 6.0)):
        ours, empty = median[transport], median[f"empty {transport}"]
        note = f"wall, medians: {ours:.2f} ms less {empty:.2f} ms"
        name = f"gateway over MCP {shown}, beside an empty server"
        rows.append(Row(name, ours - empty, limit, "ms", note))
        opened = told[transport]["connected_ms"]
        rows.append(Row(f"client over MCP {shown}, connected", opened, None, "ms", "wall, once"))
    return rows


def _best_median(calls_ms: list[float]) -> float:
    """Return the median of the batch that other work of this machine made least dear."""
    batches = (calls_ms[at : at + BATCH] for at in range(0, len(calls_ms), BATCH))
    return min(statistics.median(batch) for batch in batches)


def _measured(places: dict[str, dict[str, Any]]) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.mcp_client"],
        input=json.dumps(places),
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    )
    told: dict[str, Any] = json.loads(done.stdout)
    return told


@contextmanager
def _served() -> Iterator[Place]:
    """Yield the place of a run, which ends with this process: nobody is to judge it."""
    places: queue.Queue[Place] = queue.Queue()
    agent = ServedAgent(PRINCIPAL, lambda _task, place: places.put(place), WALL_MS)

    def work() -> None:
        Workbench.own().tried(Exercise(SCENARIO, agent=agent, patch=_endless, wall_ms_max=WALL_MS))

    threading.Thread(target=work, daemon=True).start()
    yield places.get(timeout=30)


def _endless(scenario: dict[str, JsonValue]) -> None:
    """Let the run take as many calls as are measured."""
    budgets = scenario["controls"]["runtime_budgets"]  # type: ignore[call-overload,index]
    budgets["max_tool_calls"] = budgets["max_steps"] = 4 * (CALLS + WARM_UP)  # type: ignore[call-overload,index]


@contextmanager
def _empty_http() -> Iterator[str]:
    """Yield the address of an empty server."""
    with subprocess.Popen([*EMPTY, "http"], cwd=ROOT, stdout=subprocess.PIPE, text=True) as made:
        try:
            if made.stdout is None:
                raise RuntimeError("the empty server has no output")
            yield made.stdout.readline().strip()
        finally:
            made.kill()
