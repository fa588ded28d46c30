"""The report's folder: a started scorecard first, the decided one last, nothing half written.

Whoever reads `scorecard.json` at any moment reads a whole file. From the first run on it says
inconclusive, reason `started`, and says so for good if the process dies; an older decision never
survives the start of a newer run. Files of others in the folder are left alone, and where one of
them stands in the way nothing is begun. What was decided is read again in the end.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from pathlib import Path

from arh.decision.scorecard import document, started
from arh.errors import AuthoringError, WriteFailure
from arh.harness.evidence.evidence_store import replace_file
from arh.harness.evidence.ownership import EVIDENCE, JUNIT, PAGE, SCORECARD, check_report, is_page
from arh.records.control.scorecard import About, Scorecard
from arh.records.control.verdict import ScenarioVerdict
from arh.render.junit import junit
from arh.render.markdown import scorecard_page
from arh.render.pages import FOLDER, page, page_paths


class ReportFolder:
    """One report: `scorecard.json`, `scorecard.md`, `junit.xml`, a page for each run, evidence."""

    def __init__(self, path: str | Path) -> None:
        """Name the folder; nothing is written yet."""
        self.path = Path(path)

    @property
    def evidence(self) -> Path:
        """The folder of the evidence, which its own writer fills."""
        return self.path / EVIDENCE

    def start(self, about: About, *, pages: Collection[str] = ()) -> None:
        """Put a started scorecard in place of any older report; `pages` will be written later.

        Raises:
            AuthoringError: The folder cannot be written, or holds what is not arh's.
        """
        check_report(self.path, pages=pages)
        scorecard = started(about)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            replace_file(self.path / SCORECARD, scorecard_bytes(scorecard))
            replace_file(self.path / PAGE, scorecard_page(scorecard).encode())
            (self.path / JUNIT).unlink(missing_ok=True)
            for old in self._old_pages():
                old.unlink()
        except OSError as error:
            raise AuthoringError.of(
                f"the report cannot be written: {type(error).__name__}",
                file=str(self.path),
                field="--out",
                hint="name a folder that may be written",
            ) from None

    def finish(self, scorecard: Scorecard, verdicts: Sequence[ScenarioVerdict]) -> tuple[str, ...]:
        """Write everything, `scorecard.json` last, and return what else could not be written.

        Raises:
            WriteFailure: `scorecard.json` could not be written, or does not say what was decided.
        """
        unwritten = tuple(self._rest(scorecard, verdicts))
        self._decide(scorecard_bytes(scorecard))
        return unwritten

    def _rest(self, scorecard: Scorecard, verdicts: Sequence[ScenarioVerdict]) -> Iterator[str]:
        """Write what people and other programs read; yield each file that could not be."""
        paths = page_paths(verdicts)
        made: list[tuple[str, Callable[[], bytes]]] = [
            (path, partial(_page, verdict)) for verdict, path in zip(verdicts, paths, strict=True)
        ]
        made.append((JUNIT, lambda: junit(scorecard, verdicts)))
        made.append((PAGE, lambda: _text(scorecard_page(scorecard))))
        for path, content in made:
            try:
                (self.path / path).parent.mkdir(exist_ok=True)
                replace_file(self.path / path, content())
            except OSError as error:
                yield f"{path} cannot be written: {type(error).__name__}"

    def _decide(self, content: bytes) -> None:
        """Write the decision and read it again: somebody else may be writing here too."""
        path = self.path / SCORECARD
        try:
            replace_file(path, content)
            found = path.read_bytes()
        except OSError as error:
            raise WriteFailure(f"{path}: cannot be written: {type(error).__name__}") from None
        if found != content:
            raise WriteFailure(f"{path}: not what was decided: another process writes here")

    def _old_pages(self) -> Iterator[Path]:
        """Yield the pages of an earlier run: a file without the mark is somebody else's."""
        return (path for path in sorted((self.path / FOLDER).glob("*.md")) if is_page(path))


def _page(verdict: ScenarioVerdict) -> bytes:
    return _text(page(verdict))


def _text(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")


def scorecard_bytes(scorecard: Scorecard) -> bytes:
    """Return the JSON of a scorecard: the same bytes for the same scorecard, and easy to diff."""
    text = json.dumps(document(scorecard), indent=1, ensure_ascii=True, allow_nan=False)
    return text.encode() + b"\n"
