"""`python -m arh` is `arh`."""

from __future__ import annotations

import sys

from arh.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
