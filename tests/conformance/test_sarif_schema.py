"""SARIF reports keep the published schema, which comes from the maker's package and is pinned."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from arh.traces.rendering.run import TraceRun, Unjudged
from arh.traces.rendering.sarif import sarif_report
from tests.unit.traces.rendering.test_reports import EVIL, many, run_of, trace

ROOT = Path(__file__).parents[2]
CACHE = ROOT / ".venv-sarif"
PACKAGE = "@microsoft/sarif-multitool-linux@5.7.0"
MEMBER = "package/sarif-2.1.0.json"
SHA256 = "1c49a0f2b60444c71bb14878e21e0d882198eff4c539861b133093ad89ed798c"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def schema() -> Any:  # noqa: ANN401 - a JSON schema's validator
    """Return the validator of the schema, fetched once and kept beside the environments."""
    kept = CACHE / "sarif-2.1.0.json"
    if not kept.exists():
        fetched(kept)
    data = kept.read_bytes()
    assert hashlib.sha256(data).hexdigest() == SHA256
    return jsonschema_rs.validator_for(json.loads(data), offline=True)


def fetched(kept: Path) -> None:
    """Take the schema out of the package."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed")
    CACHE.mkdir(exist_ok=True)
    done = subprocess.run(
        [npm, "pack", "--silent", PACKAGE],
        cwd=CACHE,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    if done.returncode:
        pytest.skip("the package with the schema cannot be had")
    archive = CACHE / done.stdout.split()[-1]
    with tarfile.open(archive) as opened:
        member = opened.extractfile(MEMBER)
        assert member is not None
        kept.write_bytes(member.read())
    archive.unlink()


RUNS = {
    "empty": TraceRun(()),
    "clean": run_of(trace(), policy={"policy_id": "p", "allow_unlisted_tools": True}),
    "failing": run_of(trace()),
    "hostile": run_of(trace(EVIL, EVIL), uri=f"a b/{EVIL}.json"),
    "many": many(700),
    "not judged": TraceRun((), (Unjudged("x.json", "why", 3),)),
}


@pytest.mark.parametrize("name", RUNS)
def test_a_report_keeps_the_schema(schema: Any, name: str) -> None:  # noqa: ANN401 - as above
    """Whatever was recorded."""
    errors = [error.message for error in schema.iter_errors(json.loads(sarif_report(RUNS[name])))]

    assert errors == []


def test_the_schema_catches_a_wrong_level(schema: Any) -> None:  # noqa: ANN401 - as above
    """Its twin with a right one passes: the check can fail."""
    log = json.loads(sarif_report(RUNS["failing"]))
    log["runs"][0]["results"][0]["level"] = "fatal"

    assert not schema.is_valid(log)
