"""The report's folder: a started scorecard first, the decided one last, nothing half written.

Whoever reads `scorecard.json` at any moment reads a whole file. From the first run on it says
inconclusive, reason `started`, and says so for good if the process dies; an older decision never
survives the start of a newer run. Files of others in the folder are left alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from arh.decision.scorecard import document, started
from arh.errors import AuthoringError
from arh.harness.evidence_store import replace_file
from arh.records.control.scorecard import About, Scorecard
from arh.records.control.verdict import ScenarioVerdict
from arh.render.junit import junit
from arh.render.markdown import scorecard_page
from arh.render.pages import FOLDER, MARK, page, page_paths

JSON_NAME: Final = "scorecard.json"
MARKDOWN_NAME: Final = "scorecard.md"
JUNIT_NAME: Final = "junit.xml"
EVIDENCE: Final = "evidence"


class ReportFolder:
    """One report: `scorecard.json`, `scorecard.md`, `junit.xml`, a page for each run, evidence."""

    def __init__(self, path: str | Path) -> None:
        """Name the folder; nothing is written yet."""
        self.path = Path(path)

    @property
    def evidence(self) -> Path:
        """The folder of the evidence, which its own writer fills."""
        return self.path / EVIDENCE

    def start(self, about: About) -> None:
        """Put a started scorecard in place of any older report.

        Raises:
            AuthoringError: The folder cannot be written.
        """
        scorecard = started(about)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            replace_file(self.path / JSON_NAME, scorecard_bytes(scorecard))
            replace_file(self.path / MARKDOWN_NAME, scorecard_page(scorecard).encode())
            (self.path / JUNIT_NAME).unlink(missing_ok=True)
            for old in self._old_pages():
                old.unlink()
        except OSError as error:
            raise AuthoringError.of(
                f"the report cannot be written: {type(error).__name__}",
                file=str(self.path),
                field="--out",
                hint="name a folder that may be written",
            ) from None

    def finish(self, scorecard: Scorecard, verdicts: Sequence[ScenarioVerdict]) -> None:
        """Write everything, `scorecard.json` last."""
        (self.path / FOLDER).mkdir(exist_ok=True)
        for verdict, path in zip(verdicts, page_paths(verdicts), strict=True):
            replace_file(self.path / path, page(verdict).encode("utf-8", "backslashreplace"))
        replace_file(self.path / JUNIT_NAME, junit(scorecard, verdicts))
        text = scorecard_page(scorecard).encode("utf-8", "backslashreplace")
        replace_file(self.path / MARKDOWN_NAME, text)
        replace_file(self.path / JSON_NAME, scorecard_bytes(scorecard))

    def _old_pages(self) -> Iterator[Path]:
        """Yield the pages of an earlier run: a file without the mark is somebody else's."""
        for path in sorted((self.path / FOLDER).glob("*.md")):
            with path.open("rb") as file:
                if file.read(len(MARK)) == MARK.encode():
                    yield path


def scorecard_bytes(scorecard: Scorecard) -> bytes:
    """Return the JSON of a scorecard: the same bytes for the same scorecard, and easy to diff."""
    text = json.dumps(document(scorecard), indent=1, ensure_ascii=True, allow_nan=False)
    return text.encode() + b"\n"
