"""Prints the chain roots of the golden runs; `leak` lets a memory address into a tool's result.

A program of its own, so that it can be started with another environment.
"""

from __future__ import annotations

import sys
from dataclasses import replace

from arh import bootstrap
from arh.canonical import JsonValue
from arh.harness.authoring.plan import plan_runs
from arh.harness.evidence.recorder import keep_all
from arh.harness.running.composition import compose
from arh.harness.running.runner import Bench, execute
from arh.records.execution import Tool
from arh.records.tools import Refused
from arh.records.transactions import CallContext, Tx
from arh.testing.workbench import Workbench


def leaking(tool: Tool) -> Tool:
    """The tool, whose results say where in memory they are and how texts are hashed today."""
    inner = tool.handler

    def handler(
        arguments: dict[str, JsonValue], tx: Tx, context: CallContext
    ) -> JsonValue | Refused:
        result = inner(arguments, tx, context)
        if not isinstance(result, dict):
            return result
        return {**result, "trace": f"{id(result)}-{hash('trace')}"}

    return replace(tool, handler=handler)


def main(mode: str) -> None:
    """Print a root for each run."""
    suite = Workbench.of().suite
    if mode == "leak":
        pack = replace(suite.pack, tools=tuple(map(leaking, suite.pack.tools)))
        configuration = bootstrap.configure(pack, suite.configuration.scripts)
        suite = replace(suite, configuration=configuration)
    golden = [one for one in suite.loaded.scenarios if one.scenario.category == "golden"]
    plan = plan_runs(golden, seed=1)
    bench = Bench(bootstrap.Composer(suite.configuration), suite.pack, plan.digest, redact=keep_all)
    for run in plan.runs:
        print(execute(compose(run, suite.pack, suite.catalogue), bench).root)


if __name__ == "__main__":
    main(sys.argv[1])
