"""Diagnostics: one JSON object a line for a machine, a line for a person, never a secret."""

from __future__ import annotations

import io
import json
import subprocess
import sys

import pytest

from arh.telemetry.logs import logger
from tests.unit.telemetry.shapes import CANARIES, ENCODINGS, traces_of


def logged(*, as_json: bool = True, level: str = "info", **values: object) -> str:
    """Return what one entry writes."""
    stream = io.StringIO()
    logger(stream, as_json=as_json, level=level, stamped=False).info("run done", **values)
    return stream.getvalue()


def test_an_entry_is_one_json_line() -> None:
    """With its level and its values, names in order."""
    assert logged(run="run-1", count=2) == (
        '{"count": 2, "event": "run done", "level": "info", "run": "run-1"}\n'
    )


def test_a_person_gets_plain_lines() -> None:
    """Without colours, so that a file of them can be read."""
    text = logged(as_json=False, run="run-1")

    assert "run done" in text
    assert "run=run-1" in text
    assert "\x1b" not in text


def test_what_is_below_the_level_is_not_written() -> None:
    """By default only warnings are."""
    assert logged(level="warning", run="run-1") == ""


@pytest.mark.parametrize("as_json", [True, False])
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("shape", CANARIES)
def test_no_secret_is_logged(shape: str, encoding: str, as_json: bool) -> None:  # noqa: FBT001
    """In the message, a value, a bound value, a nested value or an exception."""
    stream = io.StringIO()
    text = ENCODINGS[encoding](CANARIES[shape])
    log = logger(stream, as_json=as_json, level="info", stamped=False).bind(bound=text)
    log.error(text, value=text, nested={"list": [text]}, password="x9", exc_info=ValueError(text))

    assert traces_of(CANARIES[shape], stream.getvalue()) == []
    assert "x9" not in stream.getvalue()


def test_an_entry_that_cannot_be_redacted_is_dropped() -> None:
    """What is left says that there was one."""
    assert json.loads(logged(value="\ud800", level="info")) == {
        "event": "an entry could not be redacted",
        "level": "info",
        "redaction_failed": True,
    }


def test_a_value_that_is_no_json_is_shown_by_its_type() -> None:
    """Its text might say anything."""
    assert json.loads(logged(value=object()))["value"] == "<object>"


def test_importing_telemetry_imports_no_library() -> None:
    """Whoever does not log or export does not pay for it."""
    code = (
        "import sys, arh.telemetry.logs, arh.telemetry.otlp, arh.telemetry.redaction;"
        "print(sorted({'structlog', 'opentelemetry', 're2'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
