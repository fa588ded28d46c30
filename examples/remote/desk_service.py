"""A ticket desk of a team's own: the service that the example's tool talks to, on loopback.

    POST /tickets               files a ticket, once for each Idempotency-Key
    GET  /tickets/by-key/KEY    what became of a key
    GET  /state                 all tickets, with a revision
    POST /reset                 begins anew: for tests only

`python desk_service.py [PORT]` serves until it is stopped. With `--lies` it answers and files
nothing; with `--forgets` it takes no notice of keys.
"""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock

LIES, FORGETS = "--lies" in sys.argv, "--forgets" in sys.argv
TICKETS: list[dict[str, str]] = []
LOCK = Lock()


class Desk(BaseHTTPRequestHandler):
    """Answers one request."""

    wbufsize = 65536
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        """Show all tickets, or the one of a key."""
        if self.path == "/state":
            self.answer(200, {"revision": len(TICKETS), "tickets": TICKETS})
            return
        key = self.path.removeprefix("/tickets/by-key/")
        found = [ticket for ticket in TICKETS if ticket["key"] == key]
        self.answer(200, found[0]) if found else self.answer(404, {})

    def do_POST(self) -> None:
        """File a ticket, or forget all of them."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with LOCK:
            if self.path == "/reset":
                TICKETS[:] = body["tickets"]
                self.answer(200, {})
                return
            key = self.headers.get("Idempotency-Key", "")
            known = [] if FORGETS else [t for t in TICKETS if key and t["key"] == key]
            ticket = known[0] if known else {"ticket_id": f"D-{len(TICKETS) + 1:04d}", "key": key}
            if not known and not LIES:
                TICKETS.append({**ticket, "account_id": body["account_id"]})
            self.answer(201, {"ticket_id": ticket["ticket_id"]})

    def answer(self, status: int, value: object) -> None:
        """Send a value as JSON."""
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_args: object) -> None:
        """Say nothing."""


def main() -> None:
    """Serve on loopback, and say where."""
    ports = [int(argument) for argument in sys.argv[1:] if argument.isdecimal()]
    server = ThreadingHTTPServer(("127.0.0.1", ports[0] if ports else 8765), Desk)
    print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
