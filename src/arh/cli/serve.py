"""`arh serve`: serves one scenario over MCP to an agent that somebody else starts, and judges it.

The agent is any client: it is told where, or has started this command as its stdio server. It ends
the task with a tool; then the run is shown and judged as `arh run` does it.
"""

from __future__ import annotations

import argparse
import os
import stat
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from arh import bootstrap
from arh.cli.run import found, shown
from arh.connect.mcp.agent import CONFIG, TOKEN, URL, PipedAgent, ServedAgent
from arh.connect.mcp.credentials import Principal
from arh.connect.mcp.messages import END_TOOL
from arh.errors import AuthoringError, safe
from arh.harness.authoring.plan import plan_runs
from arh.harness.option_types import seconds
from arh.ports.sue import Agent
from arh.records.control.plan import PlannedRun
from arh.records.tasks import Task

if TYPE_CHECKING:
    from arh.connect.mcp.place import Place

SECONDS = 600


def main(argv: Sequence[str]) -> int:
    """Serve the scenario until its agent ends, and return what `arh run` would."""
    chosen = _parser().parse_args(argv)
    suite = bootstrap.prepare(
        bootstrap.sources(chosen, scenarios=found(chosen.scenario, "--scenario"))
    )
    plan = plan_runs(suite.loaded.scenarios, seed=chosen.seed)
    run = _only(plan.runs)
    _require_servable(suite, run, stdio=chosen.stdio)
    wall_s_max = chosen.agent_seconds
    made = _piped(wall_s_max) if chosen.stdio else _served(wall_s_max, chosen.config)
    served = bootstrap.UnderTest(bootstrap.ServedUnderTest(made, wall_s_max))
    return shown(run, bootstrap.pipeline(suite, plan, served))


def _only(runs: Sequence[PlannedRun]) -> PlannedRun:
    """Return the one run that there is.

    Raises:
        AuthoringError: There are several: one agent is served one scenario.
    """
    if len(runs) != 1:
        raise AuthoringError.of(
            f"{len(runs)} scenarios are there", field="--scenario", hint="name one as FILE:LINE"
        )
    return runs[0]


def _require_servable(suite: bootstrap.Suite, run: PlannedRun, *, stdio: bool) -> None:
    """Refuse what a client could not tell apart, or what one pipe could not carry.

    Raises:
        AuthoringError: A tool has the name of ours, or a pipe would serve several tasks.
    """
    if any(tool.manifest.name == END_TOOL for tool in suite.pack.tools):
        raise AuthoringError.of(f"a tool is named `{END_TOOL}`", hint="that name is arh's own here")
    stimulus = run.located.scenario.stimulus
    if stdio and (stimulus.actors or stimulus.soak):
        raise AuthoringError.of(
            "a scenario of several actors or tasks", field="--stdio", expected="one task"
        )


def _piped(wall_s_max: int) -> bootstrap.MadeAgent:
    """Return what serves over our own input and output, which from now on belong to the client.

    Raises:
        AuthoringError: One of them is a file: nobody is at its other end.
    """
    for number, name in ((0, "input"), (1, "output")):
        if stat.S_ISREG(os.fstat(number).st_mode):
            raise AuthoringError.of(
                f"standard {name} is a file", field="--stdio", expected="a pipe to a client"
            )
    reader, writer = os.dup(0), os.dup(1)
    os.dup2(2, 1)

    def made(principal: Principal) -> Agent:
        return PipedAgent(principal, reader, writer, wall_s_max * 1000)

    return made


def _served(wall_s_max: int, config: str | None) -> bootstrap.MadeAgent:
    """Return what serves over HTTP and announces where."""

    def announce(task: Task, place: Place) -> None:
        sys.stderr.write(f"arh: {task.task_id} of {task.actor} is served until it is ended\n")
        key = f"{TOKEN}={place.token}"
        if config is not None:
            from arh.connect.mcp.place import client_config, private

            private(Path(config), client_config(place.url, place.token))
            key = f"{CONFIG}={safe(config)}"
        sys.stderr.write(f"{URL}={place.url}\n{key}\n")
        sys.stderr.flush()

    def made(principal: Principal) -> Agent:
        return ServedAgent(principal, announce, wall_s_max * 1000)

    return made


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("arh serve", description=__doc__)
    parser.add_argument(
        "--scenario", required=True, metavar="FILE[:LINE]", help="the scenario to serve"
    )
    parser.add_argument("--stdio", action="store_true", help="serve over standard input and output")
    parser.add_argument(
        "--config", metavar="FILE", help="write the address and the credential for clients to FILE"
    )
    parser.add_argument(
        "--agent-seconds",
        type=seconds,
        default=SECONDS,
        metavar="N",
        help=f"wall time of the agent for each task (default {SECONDS})",
    )
    bootstrap.add_sources(parser, scenarios=False)
    bootstrap.add_seed(parser)
    return parser
