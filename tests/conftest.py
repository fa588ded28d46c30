"""What holds for every test: no network beyond this machine, and repeatable property tests.

Hypothesis profiles: `default` draws new examples on each run, `ci` (chosen by the variable CI)
draws the same ones every time, `fuzz` (`make fuzz`) draws very many.
"""

from __future__ import annotations

import ipaddress
import os
import signal
import sys

from hypothesis import HealthCheck, settings

SLOW_IS_FINE = (HealthCheck.too_slow,)

settings.register_profile("default", deadline=None, print_blob=True)
settings.register_profile(
    "ci", deadline=None, derandomize=True, print_blob=True, suppress_health_check=SLOW_IS_FINE
)
settings.register_profile(
    "fuzz",
    deadline=None,
    max_examples=20_000,
    print_blob=True,
    suppress_health_check=SLOW_IS_FINE,
)
settings.load_profile("ci" if os.environ.get("CI") else "default")


def refuse_the_outside_world(event: str, arguments: tuple[object, ...]) -> None:
    """A connection to anything but this machine raises, whoever opens it."""
    if event != "socket.connect":
        return
    address = arguments[1]
    if isinstance(address, tuple) and not is_this_machine(str(address[0])):
        message = f"a test tried to reach `{address[0]}`: tests talk to this machine only"
        raise ConnectionRefusedError(message)


def is_this_machine(host: str) -> bool:
    """True for the loopback addresses and names."""
    if host in {"", "localhost"}:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


sys.addaudithook(refuse_the_outside_world)

# What a shell starts in its background is deaf to interrupts, and what a test starts would be too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
