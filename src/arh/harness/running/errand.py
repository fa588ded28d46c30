"""A job in a thread of its own, to its end: what it raises is handed over, never lost.

A thread that an exception leaves prints a traceback and ends, and whoever waits for it waits for
ever. So the two places where agents get threads, the watchdog and the baton, run their jobs through
here, and whoever waits learns how the job ended and raises our own defects itself. What an agent
raises has been made a value by `arh.foreign.call` long before.
"""

from __future__ import annotations

from collections.abc import Callable

Job = Callable[[], None]
Ended = Callable[[BaseException | None], None]


def run_to_end(job: Job, ended: Ended) -> None:
    """Run the job, then tell `ended` what it raised, `None` if nothing."""
    try:
        job()
    except BaseException as error:  # noqa: BLE001 - handed over to whoever waits for the thread
        ended(error)
    else:
        ended(None)
