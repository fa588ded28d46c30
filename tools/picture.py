"""Takes the picture of a scorecard that the README shows: `python -m tools.picture`.

It is the top of `reports/latest/scorecard.md`, as a browser shows it; needs Chromium, and a gate
that has run. A picture does not follow the code: take it anew when the scorecard looks different.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from markdown_it import MarkdownIt

from tools.environment import ROOT

SCORECARD = ROOT / "reports" / "latest" / "scorecard.md"
PICTURE = ROOT / "docs" / "images" / "scorecard.png"
SIZE = "1280,760"
STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; color: #1f2328; background: #fff; margin: 28px 36px }
h1 { font-size: 24px; margin: 0 0 12px } h2 { font-size: 18px; margin: 22px 0 8px }
table { border-collapse: collapse } code { font: 13px ui-monospace, monospace; background: #f3f4f6 }
th, td { border: 1px solid #d0d7de; padding: 4px 10px; text-align: left; vertical-align: top }
th { background: #f6f8fa }
"""


def main() -> int:
    """The picture has been taken anew (0), or something that it needs is missing (1)."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None or not SCORECARD.exists():
        print("needs Chromium, and a report of `make gate`", file=sys.stderr)
        return 1
    PICTURE.parent.mkdir(exist_ok=True)
    body = MarkdownIt("commonmark").enable("table").render(SCORECARD.read_text("utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        page.write_text(f"<!doctype html><style>{STYLE}</style>{body}", "utf-8")
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        size = [f"--window-size={SIZE}", f"--user-data-dir={folder}/profile"]
        command = [browser, *options, *size, f"--screenshot={PICTURE}", page.as_uri()]
        return subprocess.run(command, check=False, capture_output=True).returncode


if __name__ == "__main__":
    sys.exit(main())
