"""Fuzzes one target until its time is up or it breaks: `python -m tools.fuzz_one NAME CORPUS`.

Runs in the fuzzer's own environment; what follows the corpus are the fuzzer's options, or a file
that is tried once.
"""

from __future__ import annotations

import sys
from hashlib import sha256
from pathlib import Path

import atheris  # type: ignore[import-not-found,import-untyped,unused-ignore]

with atheris.instrument_imports(include=["arh.traces", "arh.render", "arh.canonical"]):
    from tests.fuzzing.targets import seeds, targets


def main(words: list[str]) -> None:
    """Hand the target to the fuzzer, which ends the process."""
    name, corpus = words[1], Path(words[2])
    for seed in seeds(name):
        (corpus / sha256(seed).hexdigest()).write_bytes(seed)
    atheris.Setup([words[0], *words[2:]], targets()[name])
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv)
