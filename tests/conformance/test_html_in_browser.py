"""The HTML page in a real browser: hostile text is shown and does nothing."""

from __future__ import annotations

import http.server
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest

from arh.traces.rendering.html import html_report
from tests.unit.traces.rendering.test_reports import run_of, trace

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next((path for name in BROWSERS if (path := shutil.which(name))), None)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed"),
]


class Asked(http.server.BaseHTTPRequestHandler):
    """Answers nothing, and keeps what it was asked."""

    paths: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        """Keep the path."""
        self.paths.append(self.path)
        self.send_response(404)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def elsewhere() -> Iterator[str]:
    """The address of a server on loopback that keeps what it is asked."""
    Asked.paths.clear()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Asked)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def shown(page: str, folder: Path) -> str:
    """Return the document as the browser has it after everything has loaded."""
    path = folder / "page.html"
    path.write_text(page, encoding="utf-8")
    command = [
        str(BROWSER),
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={folder / 'profile'}",
        "--virtual-time-budget=2000",
        "--dump-dom",
        path.as_uri(),
    ]
    done = subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", check=False, timeout=90
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def hostile(address: str) -> str:
    """Return a text that tries to run and to fetch."""
    return (
        f"<script>document.title='owned';fetch('{address}/script')</script>"
        f"<img src='{address}/image' onerror=\"document.title='owned'\">"
        f"</title><style>@import '{address}/style'</style>"
    )


def test_hostile_text_is_shown_and_does_nothing(tmp_path: Path, elsewhere: str) -> None:
    """Nothing runs, nothing is fetched, and the reader sees what was recorded."""
    evil = hostile(elsewhere)

    document = shown(html_report(run_of(trace(evil[:300], evil))), tmp_path)

    assert "<title>Recorded traces: FAIL</title>" in document
    assert "&lt;script&gt;document.title=" in document
    assert "ARH-SCH-001" in document
    assert Asked.paths == []


def test_the_policy_holds_even_where_text_were_markup(tmp_path: Path, elsewhere: str) -> None:
    """A page with the same text as markup still runs nothing and fetches nothing."""
    page = html_report(run_of(trace())).replace("<body>", f"<body>{hostile(elsewhere)}")

    document = shown(page, tmp_path)

    assert "<title>Recorded traces: FAIL</title>" in document
    assert Asked.paths == []


def test_without_the_policy_the_same_text_does_something(tmp_path: Path, elsewhere: str) -> None:
    """The check can fail: a page that lets scripts run is noticed."""
    page = f"<!doctype html><title>x</title><body>{hostile(elsewhere)}</body>"

    assert "<title>owned</title>" in shown(page, tmp_path)
    assert Asked.paths
