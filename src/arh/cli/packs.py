"""`arh packs`: lists the installed workflow packs; one that does not load is an error."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from arh.bootstrap import load_pack, pack_names
from arh.errors import safe


def main(argv: Sequence[str]) -> int:
    """Print a line for each pack: name, version, description."""
    argparse.ArgumentParser("arh packs", description=__doc__).parse_args(argv)
    for name in pack_names():
        pack = load_pack(name)
        sys.stdout.write(f"{safe(name)} {safe(pack.version)}: {safe(pack.description)}\n")
    return 0
