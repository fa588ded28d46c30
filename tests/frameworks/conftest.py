"""These tests need an environment for each framework: `make test-frameworks` makes them."""

from __future__ import annotations

import os

from tools.frameworks import OBSERVED

collect_ignore_glob = [] if os.environ.get(OBSERVED) else ["test_*.py"]
