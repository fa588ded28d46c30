"""`arh selftest --against PACK_OR_AGENT`: breaks one control of a configuration at a time.

Shows which of the scenarios noticed: the kill matrix.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from dataclasses import asdict
from pathlib import Path
from shutil import which

from arh import bootstrap
from arh.connect.callables import is_callable_name
from arh.errors import AuthoringError, WriteFailure, safe
from arh.harness.exits import FAIL, INCONCLUSIVE, PASS
from arh.records.control.kills import KillMatrix
from arh.render.kill_matrix import matrix_html, matrix_page, row_lines, summary_lines
from arh.testing.kill_controls import CONTROLS
from arh.testing.kill_matrix import chosen_controls, kill_matrix
from arh.testing.pack_bench import PackBench

SCHEMA = "arh.kill-matrix/1.0"


def against(chosen: argparse.Namespace) -> int:
    """Print a line for each control, write what was asked for, and return the exit code.

    1: a control survives everywhere; 3: none does, and a scenario could notice nothing; else 0.
    """
    controls = chosen_controls(chosen.only)
    width = max(len(control.id) for control in CONTROLS)
    if chosen.list:
        listed = (f"{control.id:<{width}}  {control.breaks}\n" for control in controls)
        sys.stdout.writelines(listed)
        return PASS
    _name(chosen)
    suite = bootstrap.prepare(bootstrap.sources(chosen))
    bench = PackBench(suite, bootstrap.under_test(chosen))
    matrix = kill_matrix(
        bench,
        controls,
        first=bool(chosen.first),
        told=lambda row: sys.stdout.writelines(f"{line}\n" for line in row_lines(row, width)),
    )
    sys.stdout.writelines(f"{line}\n" for line in summary_lines(matrix))
    _write_all(chosen, matrix)
    if matrix.of("survived"):
        return FAIL
    return INCONCLUSIVE if matrix.unfit else PASS


def _name(chosen: argparse.Namespace) -> None:
    """Take what is named for a workflow, or else for an agent to try on the scenarios at hand."""
    named: str = chosen.against
    is_agent = named not in bootstrap.pack_names() and is_agent_name(named)
    chosen.workflow = None if is_agent else named
    if is_agent:
        if chosen.agent is not None or chosen.agent_mcp is not None:
            raise AuthoringError.of(named, expected="one agent, here or there", field="--against")
        chosen.agent = named


def is_agent_name(text: str) -> bool:
    """Tell whether a text names a Python callable, or a command that could be started."""
    try:
        words = shlex.split(text)
    except ValueError:
        return False
    return is_callable_name(text) or (bool(words) and which(words[0]) is not None)


def _write_all(chosen: argparse.Namespace, matrix: KillMatrix) -> None:
    """Write the reports that the user asked for.

    Raises:
        WriteFailure: One of them could not be written.
    """
    forms = (
        (chosen.md_out, matrix_page),
        (chosen.html_out, matrix_html),
        (chosen.json_out, _json),
    )
    for path, form in forms:
        if path is not None:
            _write(path, form(matrix))


def _json(matrix: KillMatrix) -> str:
    return json.dumps({"schema": SCHEMA, **asdict(matrix)}, indent=2) + "\n"


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, "utf-8", newline="\n")
    except OSError as error:
        raise WriteFailure(f"{safe(str(path))} cannot be written: {error.strerror}") from None
