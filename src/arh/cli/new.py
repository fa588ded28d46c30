"""`arh new workflow NAME`: writes a small, complete workflow pack that passes, to start from."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from arh import bootstrap
from arh.errors import AuthoringError, safe
from arh.scaffold.workflow import write_workflow
from arh.sim.clock import today


def main(argv: Sequence[str]) -> int:
    """Write the pack and say what to do with it; nothing that exists is written over."""
    chosen = _parser().parse_args(argv)
    if chosen.name in bootstrap.pack_names():
        hint = "see arh packs"
        expected = "a name that no installed workflow has"
        raise AuthoringError.of(chosen.name, expected=expected, field="NAME", hint=hint)
    folder, files = write_workflow(chosen.name, chosen.into, today=today().isoformat())
    place = safe(str(folder))
    lines = (
        f"{place}: {len(files)} files",
        "next:",
        f"  cd {place}",
        '  pip install -e ".[test]"',
        f"  arh check-pack {chosen.name}",
        f"  arh gate --workflow {chosen.name}",
        "then answer the questions of its README, and change it step by step",
    )
    sys.stdout.writelines(f"{line}\n" for line in lines)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("arh new", description=__doc__)
    parser.add_argument("kind", choices=["workflow"], help="what to write")
    parser.add_argument("name", metavar="NAME", help="its name, as in invoice_review")
    parser.add_argument(
        "--into",
        type=Path,
        default=Path(),
        metavar="DIR",
        help="where its folder is made (default: here)",
    )
    return parser
