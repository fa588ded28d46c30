"""The runs of a suite in a process of its own, whose hashes are seeded otherwise.

Within one process a set of texts has one order; in the next it has another. What a pack's code
lets depend on it is found by running the suite once more, elsewhere.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Final

from arh.bootstrap.suite import Suite
from arh.canonical import Refused, parse

ROOTS_FLAG: Final = "--roots"
_SEED: Final = "PYTHONHASHSEED"
_WAIT_S_MAX: Final = 600


def roots_elsewhere(suite: Suite) -> Mapping[str, str] | None:
    """Return the root of each run's evidence, by run id, as another process makes it.

    `None` if it could not be made there.
    """
    named = {name: str(root.path) for name, root in suite.roots.items()}
    flags = [word for name, path in named.items() for word in (f"--{name}", path)]
    command = [sys.executable, "-m", "arh", "check-pack", suite.pack.name, ROOTS_FLAG, *flags]
    seed = "2" if os.environ.get(_SEED) == "1" else "1"
    try:
        done = subprocess.run(  # noqa: S603 - our own command, no shell
            command,
            env={**os.environ, _SEED: seed},
            capture_output=True,
            timeout=_WAIT_S_MAX,
            check=False,
        )
        found = parse(done.stdout.strip()) if done.returncode == 0 else None
    except (OSError, subprocess.TimeoutExpired, Refused):
        return None
    if not isinstance(found, dict):
        return None
    return {run: root for run, root in found.items() if isinstance(root, str)}
