"""The command line: finds the command, imports it, runs it, maps every end to an exit code.

    0 pass   1 fail   2 authoring or usage error   3 inconclusive   4 no result could be written
    130 interrupted

Nothing heavy may be imported here: `arh --help` must answer at once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module  # noqa: TID251 - names come from the table below

from arh import __version__

COMMANDS = {
    "gate": ("arh.cli.gate", "run a suite of scenarios and decide: pass, fail or inconclusive"),
    "run": ("arh.cli.run", "run one scenario and show it step by step"),
    "serve": ("arh.cli.serve", "serve one scenario over MCP to an agent that you start"),
    "evaluate": ("arh.cli.evaluate", "judge the evidence in a folder anew"),
    "verify": ("arh.cli.verify", "check that the evidence in a folder is whole and unaltered"),
    "lint": ("arh.cli.lint", "check scenarios, and warn of weak ones"),
    "selftest": ("arh.cli.selftest", "show that seeded defects are caught"),
    "validate": ("arh.cli.validate", "judge recorded traces by a policy"),
    "compare": ("arh.cli.compare", "judge what became of recorded traces since a baseline"),
    "convert": ("arh.cli.convert", "write a recording as a trace of the canonical format"),
    "replay-policy": ("arh.cli.replay_policy", "try policies on recorded calls"),
    "cases": ("arh.cli.cases", "hold recorded outputs against cases and decide"),
    "packs": ("arh.cli.packs", "list the installed workflow packs"),
    "new": ("arh.cli.new", "write a workflow pack to start from"),
    "check-pack": ("arh.cli.check_pack", "check that a workflow pack conforms"),
}
OK, USAGE = 0, 2

Command = Callable[[Sequence[str]], int]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    from arh.harness.exits import guarded

    return guarded(_run, list(sys.argv[1:] if argv is None else argv))


def _run(words: Sequence[str]) -> int:
    if not words or words[0] in {"-h", "--help", "help"}:
        sys.stdout.write(usage())
        return OK if words else USAGE
    if words[0] in {"-V", "--version"}:
        sys.stdout.write(f"arh {__version__}\n")
        return OK
    if words[0] not in COMMANDS:
        return _unknown(words[0])
    return _command(words[0])(words[1:])


def usage() -> str:
    """Return the help text."""
    width = max(map(len, COMMANDS))
    lines = [f"  {name:<{width}}  {about}" for name, (_, about) in COMMANDS.items()]
    return "\n".join(
        [
            "usage: arh COMMAND [OPTIONS]",
            "",
            "Decides whether a tool-using, state-changing AI agent may ship.",
            "",
            "commands:",
            *lines,
            "",
            "  arh COMMAND --help shows a command's options; arh --version shows the version",
            "",
        ]
    )


def _command(name: str) -> Command:
    """Return the command, which is imported when it runs: failing to is a crash like any other."""

    def command(words: Sequence[str]) -> int:
        code: int = import_module(COMMANDS[name][0]).main(words)
        return code

    return command


def _unknown(word: str) -> int:
    from arh.errors import closest, safe

    near = closest(word, COMMANDS)
    sys.stderr.write(f"arh: no command `{safe(word)}`; {near or 'see arh --help'}\n")
    return USAGE
