"""`arh packs`: lists the installed workflow packs; one that does not load is an error."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from arh.bootstrap import Installed, installed_packs
from arh.errors import safe
from arh.harness.exits import PASS, USAGE


def main(argv: Sequence[str]) -> int:
    """Print a line for each pack, then what is wrong with those that are broken.

    One broken pack makes the exit code 2, and hides none of the others.
    """
    argparse.ArgumentParser("arh packs", description=__doc__).parse_args(argv)
    packs = tuple(installed_packs())
    sys.stdout.writelines(f"{safe(_line(each))}\n" for each in packs)
    broken = [each for each in packs if each.problem is not None]
    sys.stderr.writelines(f"{each.problem}\n" for each in broken)
    return USAGE if broken else PASS


def _line(installed: Installed) -> str:
    pack = installed.pack
    if pack is None:
        return f"{installed.name} BROKEN ({installed.source})"
    writing, digest = len(pack.writing), installed.tools_digest[:12]
    counted = f"{len(pack.tools)} tools, {writing} of them write, {digest}; {installed.source}"
    return f"{installed.name} {pack.version}: {pack.description} ({counted})"
