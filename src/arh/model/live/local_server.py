"""A model file behind an OpenAI-compatible server on loopback: a script, run as a process.

It stands alone and imports nothing of arh, so that a crash of native code ends this process and no
other, and so that the interpreter that runs it needs llama.cpp's bindings and nothing else. Its
first line on standard output is the address. It ends when its standard input does.
"""

import json
import sys
from typing import Any


def main(path: str, name: str, context_tokens: int) -> None:
    """Serve the model until nobody holds the other end of standard input any more."""
    import xllamacpp  # type: ignore[import-not-found]  # noqa: PLC0415 - optional

    server: Any = xllamacpp.Server(settings(xllamacpp, path, name, context_tokens))
    sys.stdout.write(json.dumps({"address": server.listening_address}) + "\n")
    sys.stdout.flush()
    sys.stdin.buffer.read()


def settings(library: Any, path: str, name: str, context_tokens: int) -> Any:  # noqa: ANN401 - it is optional
    """Return one thread and one request at a time: two threads wait for each other under load."""
    made = library.CommonParams()
    made.model.path = path
    made.port = 0
    made.n_ctx = context_tokens
    made.n_parallel = 1
    made.cpuparams.n_threads = 1
    made.cpuparams_batch.n_threads = 1
    made.n_threads_http = 1
    made.warmup = False
    made.offline = True
    made.ui = False
    made.model_alias = {name}
    return made


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
