"""The process that `regex_worker` starts: matches patterns with `re`, one request a line.

A script that imports nothing of ours, so that it starts at once. Processor time and memory are
bounded by the system where it can; there a pattern that explodes ends the process and nothing else.
"""

from __future__ import annotations

import json
import re
import sys
from contextlib import suppress

CPU_SECONDS_MAX = 2
MEMORY_BYTES_MAX = 512 * 2**20


def main() -> None:
    """Every request line is answered, until there are no more."""
    _limit()
    for line in sys.stdin.buffer:
        request = json.loads(line)
        answer = _answer(request["use"], request["pattern"], request["text"])
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def _answer(use: str, pattern: str, text: str) -> bool | list[int]:
    """Return whether the text matches as a whole, or where the pattern is found."""
    if use == "full":
        return re.fullmatch(pattern, text) is not None
    found = re.search(pattern, text, re.IGNORECASE)
    return list(found.span()) if found else False


def _limit() -> None:
    """The process is ended by the system when it exceeds its limits."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS_MAX, CPU_SECONDS_MAX))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))


if __name__ == "__main__":
    main()
