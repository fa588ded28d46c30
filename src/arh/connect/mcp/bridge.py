"""A stdio server for clients that start one: it passes lines on to the gateway, and back.

A script that needs nothing but Python's own library, so that it starts at once. The file that it is
given names a port of the loopback interface and the credential, which thus stands in no command
line. What it passes on is read by the gateway alone.
"""

import json
import os
import socket
import sys
import threading
from contextlib import suppress
from pathlib import Path

BLOCK = 65536
TIMEOUT_S = 10


def main(words: list[str]) -> int:
    """Pass everything on until either side ends."""
    link = json.loads(Path(words[0]).read_text(encoding="utf-8"))
    connection = socket.create_connection(("127.0.0.1", link["port"]), TIMEOUT_S)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.sendall(link["token"].encode() + b"\n")
    if connection.recv(1) != b"+":
        sys.stderr.write("the gateway does not know this credential (any more)\n")
        return 1
    connection.settimeout(None)
    threading.Thread(target=_to_gateway, args=(connection,), daemon=True).start()
    with suppress(OSError):
        while block := connection.recv(BLOCK):
            _write(block)
    return 0


def _to_gateway(connection: socket.socket) -> None:
    with suppress(OSError):
        while block := os.read(0, BLOCK):
            connection.sendall(block)
        connection.shutdown(socket.SHUT_WR)


def _write(block: bytes) -> None:
    left = memoryview(block)
    while left:
        left = left[os.write(1, left) :]


if __name__ == "__main__":
    # A thread may still be reading: it keeps nobody from ending.
    os._exit(main(sys.argv[1:]))
