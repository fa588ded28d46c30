"""`arh run FILE[:LINE]`: runs scenarios and shows each step by step.

It reproduces a failure of CI.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from arh import bootstrap
from arh.errors import AuthoringError, safe
from arh.harness.apart import apart, confirm
from arh.harness.authoring.plan import plan_runs
from arh.harness.authoring.roots import find_root, there_is
from arh.harness.exits import FAIL, INCONCLUSIVE, PASS
from arh.harness.pipeline import Pipeline, run_one
from arh.records.control.plan import PlannedRun
from arh.records.control.verdict import ScenarioVerdict
from arh.render.steps import run_lines, verdict_lines

SCENARIO: Final = "FILE[:LINE]"


def main(argv: Sequence[str]) -> int:
    """Run the scenario on the line, or all of the file, and return the worst exit code."""
    chosen = _parser().parse_args(argv)
    if bootstrap.shares_our_process(chosen):
        return apart(["-m", "arh", "run", *argv])
    suite = bootstrap.prepare(bootstrap.sources(chosen, scenarios=found(chosen.scenario, SCENARIO)))
    plan = plan_runs(suite.loaded.scenarios, seed=chosen.seed)
    under_test = bootstrap.under_test(chosen, suite)
    if chosen.show_prompt:
        return _prompt(suite, under_test)
    pipeline = bootstrap.pipeline(suite, plan, under_test)
    codes = [shown(run, pipeline) for run in plan.runs]
    for told in under_test.models.finish():
        sys.stdout.write(f"{safe(told)}\n")
    code = FAIL if FAIL in codes else INCONCLUSIVE if INCONCLUSIVE in codes else PASS
    return confirm(chosen.confirm_to, code)


def shown(run: PlannedRun, pipeline: Pipeline) -> int:
    """Run it, show its steps and its verdict, and return its exit code."""
    done = run_one(run, pipeline)
    if isinstance(done, str):
        sys.stdout.write(f"{run.located.location}: {done}\n")
        return INCONCLUSIVE
    output, verdict = done
    for told in (*run_lines(output.evidence.events), *verdict_lines(verdict)):
        sys.stdout.write(f"{told}\n")
    return _code(verdict)


def _prompt(suite: bootstrap.Suite, under_test: bootstrap.UnderTest) -> int:
    """Show all that a model is told besides the conversation, and run nothing."""
    bundle = bootstrap.prompt_bundle(suite.pack, under_test.agent.name, under_test.models)
    for located in suite.loaded.scenarios:
        contract = located.scenario.runtime.output_contract
        shown = "none" if contract is None else json.dumps(contract, ensure_ascii=True)
        sys.stdout.write(f"{located.location}: output contract {shown}\n")
    sys.stdout.write(json.dumps(bundle.document(), indent=2, ensure_ascii=True))
    sys.stdout.write(f"\nprompt bundle {bundle.digest}\n")
    return PASS


def _code(verdict: ScenarioVerdict) -> int:
    return {"pass": PASS, "fail": FAIL}.get(verdict.status, INCONCLUSIVE)


def found(named: str, argument: str) -> str:
    """Return the path as it is named, or below the suite's own root, as a report names it.

    Raises:
        AuthoringError: It is neither here nor there; `argument` is where it was named.
    """
    root = find_root("scenarios").path
    for path in (Path(named), root / named):
        if there_is(path):
            return str(path)
    hint = f"looked from this folder, and from {root}"
    raise AuthoringError.of(
        "there is no such file or folder", file=named, field=argument, hint=hint
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("arh run", description=__doc__)
    parser.add_argument("scenario", metavar=SCENARIO, help="a scenario file, or one line of it")
    bootstrap.add_sources(parser, scenarios=False)
    bootstrap.add_seed(parser)
    bootstrap.add_agent(parser)
    bootstrap.add_model(parser)
    parser.add_argument(
        "--show-prompt", action="store_true", help="show the prompt bundle, and run nothing"
    )
    return parser
