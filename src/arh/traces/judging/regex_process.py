"""The process that `regex_worker` starts: matches patterns with `re`, one request a line.

A script that imports nothing of ours, so that it starts at once. Processor time and memory are
bounded by the system where it can; there a pattern that explodes ends the process and nothing else.
"""

from __future__ import annotations

import json
import re
import sys
import time
from contextlib import suppress

CPU_SECONDS_MAX = 2  # for one request
CPU_SECONDS_TOTAL = 20  # for all requests together: many slow ones are no way around the former
MEMORY_BYTES_MAX = 512 * 2**20


def main() -> None:
    """Every request line is answered, until there are no more."""
    _limit_memory()
    for line in sys.stdin.buffer:
        request = json.loads(line)
        _limit_time()
        answer = _answer(request["use"], request["pattern"], request["text"])
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def _answer(use: str, pattern: str, text: str) -> bool | list[int]:
    """Return whether the text matches as a whole, or where the pattern is found."""
    if use == "full":
        return re.fullmatch(pattern, text) is not None
    found = re.search(pattern, text, re.IGNORECASE)
    return list(found.span()) if found else False


def _limit_time() -> None:
    """The process is ended by the system when this request takes too long, or all of them do."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        spent = int(time.process_time()) + 1
        most = min(spent + CPU_SECONDS_MAX, CPU_SECONDS_TOTAL)
        resource.setrlimit(resource.RLIMIT_CPU, (most, CPU_SECONDS_TOTAL))


def _limit_memory() -> None:
    """The process is ended by the system when it exceeds its memory."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))


if __name__ == "__main__":
    main()
