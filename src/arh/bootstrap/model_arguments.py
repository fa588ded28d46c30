"""The options that choose a model, and what each of them may be; nothing heavy is imported here."""

from __future__ import annotations

import argparse
import re
from argparse import ArgumentTypeError
from fractions import Fraction
from typing import Final

from arh.errors import quoted
from arh.model.live.price import Price

_AMOUNT: Final = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")


def add_model(parser: argparse.ArgumentParser) -> None:
    """Let the user put a live model, or a recording of one, under test."""
    group = parser.add_argument_group("models")
    add = group.add_argument
    add(
        "--model",
        metavar="MODEL",
        help="scripted (default), openai:NAME, openai-responses:NAME, anthropic:NAME, "
        "local:FILE.gguf, cassette:DIR, or an installed adapter's NAME:...",
    )
    add("--base-url", metavar="URL", help="where the model is asked (default the provider's)")
    add("--live", action="store_true", help="let a live model be asked")
    add("--sanitised", action="store_true", help="you say that the data may be sent")
    add("--max-cost-usd", type=amount, metavar="N", help="ceiling of the cost of all calls")
    add("--max-model-calls", type=count, metavar="N", help="ceiling of the number of calls")
    add("--max-tokens", type=count, metavar="N", help="ceiling of the tokens of all calls")
    add("--max-minutes", type=count, metavar="N", help="ceiling of the wall time of all calls")
    add(
        "--price",
        type=price,
        metavar="IN,OUT[,CACHED]",
        help="US dollars for a million tokens: input, output, cached input",
    )
    add("--max-output-tokens", type=count, metavar="N", help="tokens of one reply (default 4096)")
    add("--parameters", metavar="JSON", help='sent with each request, like {"temperature": 0}')
    add("--record", metavar="DIR", help="record the live model into a new folder")
    add(
        "--trust-environment",
        action="store_true",
        help="use the proxy and certificates that the environment names",
    )


def count(text: str) -> int:
    """Return a ceiling.

    Raises:
        ArgumentTypeError: It is no whole number from 1 to 10^12.
    """
    if not (text.isascii() and text.isdigit() and len(text) <= 12 and int(text) > 0):  # noqa: PLR2004 - see above
        raise ArgumentTypeError(f"expected a whole number above 0, found {quoted(text)}")
    return int(text)


def amount(text: str) -> Fraction:
    """Return an amount of US dollars, exactly.

    Raises:
        ArgumentTypeError: It is none.
    """
    if not _AMOUNT.fullmatch(text):
        raise ArgumentTypeError(f"expected an amount like 2.50, found {quoted(text)}")
    return Fraction(text)


def price(text: str) -> Price:
    """Return a price; cached input costs what input costs unless it is said.

    Raises:
        ArgumentTypeError: It is none.
    """
    parts = [amount(part) for part in text.split(",")]
    if len(parts) not in (2, 3):
        raise ArgumentTypeError(f"expected INPUT,OUTPUT[,CACHED], found {quoted(text)}")
    return Price(parts[0], parts[1], parts[2] if len(parts) > 2 else parts[0])  # noqa: PLR2004 - see above
