"""Options that the gate and other commands share, and what they mean."""

from __future__ import annotations

import argparse
from dataclasses import replace

from arh.bootstrap.suite import SEED, WORKFLOW, Sources, Suite
from arh.bootstrap.under_test import UnderTest
from arh.connect.callables import is_callable_name
from arh.harness.apart import CAN_INHERIT, add_confirmation
from arh.harness.option_types import seconds, seed


def add_sources(
    parser: argparse.ArgumentParser, *, scenarios: bool = True, workflow: bool = True
) -> None:
    """Let the user name where a suite comes from."""
    if scenarios:
        parser.add_argument("--scenarios", metavar="PATH", help="folder, file or FILE:LINE")
    parser.add_argument("--datasets", metavar="DIR", help="folder of the datasets")
    parser.add_argument("--fixtures", metavar="DIR", help="folder of the model scripts")
    if workflow:
        parser.add_argument(
            "--workflow",
            metavar="NAME",
            help=f"workflow pack (default: that of the scenarios' folder, else {WORKFLOW})",
        )


def add_seed(parser: argparse.ArgumentParser) -> None:
    """Let the user name the plan's seed."""
    parser.add_argument("--seed", type=seed, default=SEED, metavar="N", help="seed of the plan")


def add_agent(parser: argparse.ArgumentParser) -> None:
    """Let the user put an agent of their own under test."""
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument(
        "--agent",
        metavar="AGENT",
        help="agent to test: a command that speaks JSON lines, or a Python package.module:name "
        "(default the reference)",
    )
    kinds.add_argument(
        "--agent-mcp",
        metavar="COMMAND",
        help="agent to test: a command that is a client of the gateway over MCP",
    )
    parser.add_argument(
        "--agent-seconds",
        type=seconds,
        default=30,
        metavar="N",
        help="wall time of the agent for each task",
    )
    parser.add_argument(
        "--model-endpoint",
        action="store_true",
        help="let the command's OpenAI or Anthropic library reach the run's model on loopback",
    )
    add_confirmation(parser)


def shares_our_process(chosen: argparse.Namespace) -> bool:
    """Tell whether the agent is a callable that could end the very process that judges it."""
    named = chosen.agent
    is_in_here = named is not None and is_callable_name(named) and chosen.confirm_to is None
    return is_in_here and CAN_INHERIT


def sources(chosen: argparse.Namespace, *, scenarios: str | None = None) -> Sources:
    """Return where the suite comes from."""
    return Sources(
        scenarios=scenarios if scenarios is not None else getattr(chosen, "scenarios", None),
        datasets=chosen.datasets,
        fixtures=chosen.fixtures,
        workflow=chosen.workflow,
    )


def under_test(chosen: argparse.Namespace, suite: Suite | None = None) -> UnderTest:
    """Return what is under test, checked: it can be started.

    A model other than the scripted ones is asked for the workflow of `suite`.

    Raises:
        AuthoringError: It cannot.
    """
    made = UnderTest.of(
        chosen.agent,
        chosen.agent_seconds,
        model_endpoint=chosen.model_endpoint,
        mcp=chosen.agent_mcp,
    )
    made.agent.check()
    if suite is None:
        return made
    from arh.bootstrap.model_options import chosen_models

    models = chosen_models(chosen, suite, made.agent.name)
    return made if models is None else replace(made, models=models)
