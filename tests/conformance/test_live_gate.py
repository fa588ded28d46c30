"""The gate over a live model, and over recordings of one: what it takes, decides and keeps."""

from __future__ import annotations

import json
import shutil
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from arh import bootstrap
from arh.bootstrap.model_options import chosen_models
from arh.cli.main import main
from arh.errors import AuthoringError
from arh.model.scripted.script import Script
from tests.conformance.provider_server import (
    KEY,
    NAME,
    Behaviour,
    Said,
    Server,
    chat_stream,
    chat_whole,
    cut,
    follows,
    says,
    serving,
)

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "scenarios" / "support" / "golden"
BILLING = "billing-incident-001.jsonl"
GITHUB = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
# The adapters themselves are tried on every Python, in test_live_models.py.
pytestmark = pytest.mark.slow
CEILINGS = {
    "max-cost-usd": "1",
    "max-model-calls": "50",
    "max-tokens": "1000000",
    "max-minutes": "5",
    "price": "2.5,10,1.25",
}


@dataclass
class Trial:
    """A place to run the gate in, over the scenarios in `scenarios`."""

    folder: Path
    capture: pytest.CaptureFixture[str] | None = None
    told: str = ""

    def words(self, server: Server, **changed: str | None) -> list[str]:
        """The options of a live model; `None` leaves one out."""
        options = {**CEILINGS, "live": "", "sanitised": "", **_dashed(changed)}
        given = [("base-url", f"{server.url}/v1"), *options.items()]
        model = ["--model", f"openai:{NAME}"]
        return model + [w for n, v in given if v is not None for w in (f"--{n}", v) if w]

    def gate(self, *words: str, out: str = "report") -> int:
        """Run the gate; what it said is in `told`."""
        at = ["--scenarios", str(self.folder / "scenarios"), "--out", str(self.folder / out)]
        return self.run("gate", *at, "--as-of", "2026-01-01", *words)

    def run(self, *words: str) -> int:
        """Run a command; what it said is in `told`."""
        code = main(words)
        if self.capture is not None:
            captured = self.capture.readouterr()
            self.told += captured.out + captured.err
        return code

    def scorecard(self, out: str = "report") -> dict[str, Any]:
        """The scorecard that was written."""
        found: dict[str, Any] = json.loads((self.folder / out / "scorecard.json").read_text())
        return found

    def evidence(self, out: str = "report") -> bytes:
        """Every line of evidence."""
        return b"".join(p.read_bytes() for p in sorted((self.folder / out).glob("**/part-*.jsonl")))

    def everything(self) -> str:
        """All that was said and written."""
        files = [path for path in self.folder.rglob("*") if path.is_file()]
        return self.told + "".join(path.read_text("utf-8", "replace") for path in files)


def _dashed(changed: dict[str, str | None]) -> dict[str, str | None]:
    return {name.replace("_", "-"): value for name, value in changed.items()}


@pytest.fixture
def trial(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Trial:
    """One scenario, and a key in the environment."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    (tmp_path / "scenarios").mkdir()
    shutil.copy(GOLDEN / BILLING, tmp_path / "scenarios")
    monkeypatch.chdir(ROOT)
    return Trial(tmp_path, capsys)


@pytest.fixture(scope="module")
def suite() -> bootstrap.Suite:
    """The support workflow with its scripts."""
    return bootstrap.prepare(bootstrap.Sources(scenarios=str(GOLDEN / BILLING)))


@pytest.fixture(scope="module")
def script(suite: bootstrap.Suite) -> Script:
    """What the model of the billing scenario does."""
    return suite.configuration.scripts.get("scripted:golden-001")


@pytest.fixture
def good(script: Script) -> Iterator[Server]:
    """A provider whose model does the right thing."""
    with serving(follows(script)) as server:
        yield server


def test_a_live_gate_is_at_most_inconclusive(trial: Trial, good: Server) -> None:
    """Every gate passes, and once is still no sample: the first line and the reasons say so."""
    code = trial.gate(*trial.words(good))

    scorecard = trial.scorecard()
    assert (code, scorecard["decision"]) == (3, "inconclusive")
    assert {gate["status"] for gate in scorecard["gates"]} <= {
        "pass",
        "skipped",
        "warn",
        "inconclusive",
    }
    assert scorecard["subject"].endswith(
        f"with model openai:{NAME} (in place of the scenarios' scripts), mode B"
    )
    assert (
        f"the model is openai:{NAME} and ran once on each scenario: no sample, so no pass"
        in scorecard["reasons"]
    )
    assert [run["status"] for run in scorecard["runs"]] == ["pass"]
    spent = "live model: calls 5 of 50, tokens 285 of 1000000, 0.0008 of 1.00 USD"
    assert spent in scorecard["warnings"]
    assert f"the server says that {NAME}-2026-11-01 fp_1 answered" in scorecard["warnings"]
    assert len(good.asked) == 5


def test_evidence_says_who_answered(trial: Trial, good: Server) -> None:
    """Model, fingerprint, request id and time to the first token stand beside each answer."""
    trial.gate(*trial.words(good))

    events = [json.loads(line) for line in trial.evidence().splitlines()]
    answers = [event for event in events if event["kind"] == "model_answered"]
    assert len(answers) == 5
    for answer in answers:
        assert answer["served_model"] == f"{NAME}-2026-11-01"
        assert (answer["served_fingerprint"], answer["reply_id"]) == ("fp_1", "req-77")
        assert (answer["metered"], answer["trouble"]) == (True, "")
        assert 0 <= answer["first_token_ms"] <= answer["latency_ms"]
        assert (answer["input_tokens"], answer["cached_tokens"]) == (50, 20)
    (header,) = [event for event in events if event["kind"] == "run_started"]
    assert (header["clock"], header["sue"]["model"]) == ("hybrid", f"openai:{NAME}")


@pytest.mark.parametrize("left_out", [*CEILINGS, "live", "sanitised"])
def test_nothing_is_asked_without_each_precaution(
    trial: Trial, good: Server, left_out: str
) -> None:
    """A flag, the user's word, a price and four ceilings: each of them alone stops the command."""
    code = trial.gate(*trial.words(good, **{left_out: None}))

    assert (code, good.asked) == (2, [])
    assert f"a live model needs --{left_out}" in trial.told


def test_all_that_is_missing_is_said_at_once(trial: Trial, good: Server) -> None:
    """Not one after the other."""
    assert trial.gate("--model", f"openai:{NAME}") == 2
    assert trial.told.count("a live model needs ") == 7
    assert good.asked == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--model", "opnai:x"), "did you mean `openai`?"),
        (("--model", "openai:"), "openai:NAME"),
        (("--live",), "this option goes with a live model"),
        (("--record", "somewhere"), "this option goes with a live model"),
        (("--model", "cassette:nowhere"), "there is no recording here"),
        (("--base-url", "http://example.org/v1"), "begins with https://"),
        (("--base-url", "https://user:pass@example.org"), "holds no user, key"),
        (("--base-url", "https://example.org/?key=1"), "holds no user, key"),
        (("--base-url", "ftp://example.org"), "begins with https://"),
        (("--parameters", "[1]"), "a JSON object"),
        (("--parameters", '{"a": 1, "a": 2}'), "duplicate key"),
        (("--parameters", '{"messages": []}'), "`messages` is not for you to set"),
        (("--parameters", '{"api_key": "x"}'), "`api_key` is not for you to set"),
        (("--parameters", f'{{"user": "{GITHUB}"}}'), "this looks like a secret"),
        (("--base-url", f"https://example.org/{GITHUB}/v1"), "this looks like a secret"),
        (("--model", f"openai:{GITHUB}"), "this looks like a secret"),
    ],
)
def test_a_wrong_model_option_is_refused(
    trial: Trial, good: Server, words: tuple[str, ...], said: str
) -> None:
    """With what is wrong, before anything runs."""
    alone = words[0] in ("--live", "--record") or "cassette" in words[-1]
    given = [] if alone else trial.words(good)

    assert trial.gate(*given, *words) == 2
    assert said in trial.told
    assert GITHUB not in trial.told
    assert good.asked == []


@pytest.mark.parametrize("value", ["0", "-1", "x", "1e3", "nan"])
def test_a_ceiling_is_a_number_above_zero(trial: Trial, good: Server, value: str) -> None:
    """What cannot be compared with is refused."""
    with pytest.raises(SystemExit) as ended:
        trial.gate(*trial.words(good, max_model_calls=value))

    assert ended.value.code == 2
    assert good.asked == []


def test_without_a_key_nothing_is_sent_elsewhere(
    trial: Trial, monkeypatch: pytest.MonkeyPatch, good: Server
) -> None:
    """Only a server of this machine may be asked without one."""
    monkeypatch.delenv("OPENAI_API_KEY")

    assert trial.gate(*trial.words(good, base_url="https://example.org/v1")) == 2
    assert "OPENAI_API_KEY is not set" in trial.told
    assert trial.gate(*trial.words(good)) == 3
    assert good.asked
    assert not any(KEY in str(asked.headers) for asked in good.asked)


@pytest.mark.parametrize(
    ("ceiling", "value", "calls"),
    [
        ("max_model_calls", "3", 3),
        ("max_tokens", "8000", None),
        ("max_cost_usd", "0.045", None),
        ("max_cost_usd", "0.0001", 0),
        ("max_tokens", "100", 0),
    ],
)
def test_a_ceiling_holds_and_is_nobodys_failure(
    trial: Trial, good: Server, ceiling: str, value: str, calls: int | None
) -> None:
    """The call that could go beyond it is not made; the run is an error, the gate inconclusive."""
    code = trial.gate(*trial.words(good, **{ceiling: value}))

    scorecard = trial.scorecard()
    assert (code, scorecard["decision"]) == (3, "inconclusive")
    assert [(r["status"], r["termination"]) for r in scorecard["runs"]] == [
        ("error", "live_budget")
    ]
    assert len(good.asked) < 5 if calls is None else len(good.asked) == calls


@pytest.mark.parametrize(
    "behaviour",
    [says({}, status=500), says({}, status=429), says({}, status=307), cut(chat_whole(Said("x")))],
)
def test_a_provider_that_fails_is_never_the_agents_failure(
    trial: Trial, behaviour: Behaviour
) -> None:
    """The agent tries again as it may; if there was no reply, there is no verdict on it."""
    with serving(behaviour) as server:
        code = trial.gate(*trial.words(server))

        assert len(server.asked) > 1
    (run,) = trial.scorecard()["runs"]
    assert (code, run["status"], run["termination"]) == (3, "error", "live_outage")


def test_a_provider_that_recovers_spoils_nothing(trial: Trial, script: Script) -> None:
    """One failed call that the agent made good by asking again is on record, and no more."""
    with serving(says({}, status=500), follows(script)) as server:
        trial.gate(*trial.words(server))

    (run,) = trial.scorecard()["runs"]
    assert (run["status"], run["termination"]) == ("pass", "completed")
    assert b'"trouble":"status 500"' in trial.evidence()


def test_a_model_that_writes_nonsense_fails_the_run(trial: Trial) -> None:
    """A server that answers is there: what the model makes of it is its own."""
    with serving(says(chat_whole(Said()))) as server:
        assert trial.gate(*trial.words(server)) == 1

    (run,) = trial.scorecard()["runs"]
    assert (run["status"], run["termination"]) == ("fail", "dependency_unavailable")


def test_a_wrong_key_is_tried_once(trial: Trial) -> None:
    """Over all runs of a suite."""
    shutil.copy(GOLDEN / BILLING, trial.folder / "scenarios" / "again.jsonl")
    text = (trial.folder / "scenarios" / "again.jsonl").read_text()
    again = text.replace("golden-billing-incident-001", "golden-billing-incident-901")
    (trial.folder / "scenarios" / "again.jsonl").write_text(again)
    with serving(says({"error": {"message": KEY}}, status=401)) as server:
        assert trial.gate(*trial.words(server)) == 3
        assert len(server.asked) == 1

    ends = [run["termination"] for run in trial.scorecard()["runs"]]
    assert ends == ["live_outage", "live_outage"]


@pytest.mark.parametrize(
    "behaviour",
    [
        says({"error": {"message": f"wrong key {KEY}"}}, status=401),
        says({"error": {"message": KEY}}, status=500, x_request_id=KEY),
        says(chat_whole(Said(f"My key is {KEY}"), model=KEY), x_request_id=KEY),
        chat_stream(Said(calls=((KEY, KEY, f'{{"a": "{KEY}"}}'),))),
        says(KEY.encode()),
        says({"choices": KEY, KEY: KEY}),
    ],
)
def test_no_sink_shows_the_key(trial: Trial, behaviour: Behaviour) -> None:
    """Console, reports, evidence and recording: however the provider echoes it."""
    with serving(behaviour) as server:
        record = str(trial.folder / "cassette")
        trial.gate(*trial.words(server, record=record), "--telemetry")
        scenario = str(trial.folder / "scenarios" / BILLING)
        trial.run("run", scenario, *trial.words(server))

        assert any(KEY in str(asked.headers) for asked in server.asked)
    assert KEY not in trial.everything()
    assert "sealed" in (trial.folder / "cassette" / "cassette.jsonl").read_text()


def test_a_run_that_failed_is_repeated_with_the_same_model(trial: Trial) -> None:
    """The replay line holds every option, and no key."""
    with serving(chat_stream(Said("Nothing to do."))) as server:
        assert trial.gate(*trial.words(server, parameters='{"temperature": 0}')) == 1

    (line,) = [x for x in trial.told.splitlines() if x.strip().startswith("replay:")]
    assert f"--model openai:{NAME} --base-url {server.url}/v1" in line
    assert "--live --sanitised" in line
    assert "--max-cost-usd 1 --price 2.5,10,1.25" in line
    assert "--parameters '{\"temperature\": 0}'" in line


def test_an_agent_of_the_users_own_asks_the_live_model(trial: Trial, good: Server) -> None:
    """Its `complete` goes to the provider; the key does not go to it."""
    agent = f"python {ROOT / 'examples' / 'agents' / 'support_agent.py'}"

    assert trial.gate(*trial.words(good), "--agent", agent) == 3
    assert [run["status"] for run in trial.scorecard()["runs"]] == ["pass"]
    assert len(good.asked) == 5


def test_kept_evidence_of_a_live_run_is_decided_anew_alike(trial: Trial, recorded: Path) -> None:
    """`arh evaluate` asks nobody, and a live run is no sample on the second day either."""
    assert trial.run("evaluate", str(recorded.with_name("live"))) == 3

    (reason,) = [line for line in trial.scorecard("live")["reasons"] if "no sample" in line]
    assert "inconclusive by profile" in trial.told
    assert reason in trial.told


# --- recordings ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def recording(script: Script, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recording]:
    """The billing scenario, recorded once."""
    folder = tmp_path_factory.mktemp("recording")
    with pytest.MonkeyPatch.context() as patch, serving(follows(script)) as server:
        patch.setenv("OPENAI_API_KEY", KEY)
        patch.chdir(ROOT)
        words = Trial(folder).words(server, record=str(folder / "cassette"))
        at = ["--scenarios", str(GOLDEN / BILLING), "--out", str(folder / "live")]
        with redirect_stdout(StringIO()):
            assert main(["gate", *at, "--as-of", "2026-01-01", *words]) == 3
        yield Recording(folder, server)


@dataclass
class Recording:
    """A folder with a recording in `cassette` and the report of the live run in `live`."""

    folder: Path
    server: Server


@pytest.fixture
def recorded(trial: Trial, recording: Recording) -> Path:
    """A copy of the recording, to be altered."""
    for name in ("cassette", "live"):
        shutil.copytree(recording.folder / name, trial.folder / name)
    return trial.folder / "cassette"


def test_a_recording_replays_byte_for_byte(
    trial: Trial, recorded: Path, recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twice the same evidence, without key, flag or network."""
    monkeypatch.delenv("OPENAI_API_KEY")
    server = recording.server
    asked = len(server.asked)
    codes = [trial.gate("--model", f"cassette:{recorded}", out=out) for out in ("one", "two")]

    assert (codes, len(server.asked)) == ([3, 3], asked)
    assert trial.evidence("one") == trial.evidence("two") != b""
    scorecard = trial.scorecard("one")
    assert [run["status"] for run in scorecard["runs"]] == ["pass"]
    assert f"model openai:{NAME}, recorded" in scorecard["subject"]
    assert scorecard["subject"].endswith("mode B replayed")


def test_a_replay_does_what_was_recorded(trial: Trial, recorded: Path) -> None:
    """Beside who is said to have run, the evidence is that of the live run."""
    trial.gate("--model", f"cassette:{recorded}", out="one")

    live, replayed = (_deeds(trial.evidence(out)) for out in ("live", "one"))
    assert live == replayed
    assert len(live) > 10


def _deeds(evidence: bytes) -> list[dict[str, Any]]:
    events = [json.loads(line) for line in evidence.splitlines()]
    changing = ("chain", "root")
    return [
        {k: v for k, v in event.items() if k not in changing}
        for event in events
        if event["kind"] != "run_started"
    ]


def test_a_request_that_was_not_recorded_is_an_error(trial: Trial, recorded: Path) -> None:
    """Never the network, never a guess, never the agent's failure."""
    path = trial.folder / "scenarios" / BILLING
    path.write_text(path.read_text().replace("charged twice in the last hour", "charged twice"))

    assert trial.gate("--model", f"cassette:{recorded}") == 3
    (run,) = trial.scorecard()["runs"]
    assert (run["status"], run["termination"]) == ("error", "fixture_mismatch")
    assert "request 1 of this run was never recorded" in str(run["reasons"])


def _edited(number: int, old: str, new: str) -> Callable[[list[str]], list[str]]:
    def edit(lines: list[str]) -> list[str]:
        assert old in lines[number]
        return [*lines[:number], lines[number].replace(old, new), *lines[number + 1 :]]

    return edit


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (_edited(1, "A-1007", "A-1008"), ":2: this line is not what was recorded"),
        (_edited(0, "small-1", "small-2"), ":1: this line is not what was recorded"),
        (lambda lines: lines[:-1], "the recording has no end"),
        (lambda lines: lines[:2] + lines[3:], ":3: this line is not what was recorded"),
        (lambda lines: [*lines[:2], lines[1], *lines[2:]], ":3: this line is not what"),
        (lambda lines: [lines[0], lines[2], lines[1], *lines[3:]], ":2: this line is not"),
        (lambda lines: [*lines, lines[-1]], ":8: this line is not what was recorded"),
        (lambda _: ["{}"], ":1: this line is not what was recorded"),
        (lambda _: [""], ":1: this line is not what was recorded"),
    ],
)
def test_a_recording_that_was_altered_is_refused(
    trial: Trial, recorded: Path, edit: Callable[[list[str]], list[str]], said: str
) -> None:
    """With the line; nothing runs."""
    file = recorded / "cassette.jsonl"
    lines = file.read_text().splitlines()
    file.write_text("\n".join(edit(lines)) + "\n")

    assert trial.gate("--model", f"cassette:{recorded}") == 2
    assert said in trial.told


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("prompt", ("the prompt bundle changed",)),
        ("tool", ("the prompt bundle changed", "the tool manifest changed")),
        ("version", ("the workflow changed",)),
    ],
)
def test_a_stale_recording_is_refused(
    recorded: Path, suite: bootstrap.Suite, what: str, said: tuple[str, ...]
) -> None:
    """A prompt, a tool or a workflow that changed since is named."""
    pack = suite.pack
    first = pack.tools[0]
    tool = replace(first, manifest=replace(first.manifest, description="Another description."))
    changed = {
        "prompt": replace(pack, system_prompt="Be brief."),
        "tool": replace(pack, tools=(tool, *pack.tools[1:])),
        "version": replace(pack, version="1.999"),
    }
    stale = replace(suite, configuration=replace(suite.configuration, pack=changed[what]))
    options = _options("--model", f"cassette:{recorded}")

    assert chosen_models(options, suite, "reference") is not None
    with pytest.raises(AuthoringError) as refused:
        chosen_models(options, stale, "reference")
    assert all(text in str(refused.value) for text in said)
    assert len(refused.value.problems) == len(said)


def _options(*words: str) -> Namespace:
    parser = ArgumentParser()
    bootstrap.add_model(parser)
    return parser.parse_args(words)


def test_a_folder_with_a_recording_is_not_recorded_into(
    trial: Trial, recorded: Path, good: Server
) -> None:
    """A recording is made once."""
    before, asked = (recorded / "cassette.jsonl").read_bytes(), len(good.asked)

    assert trial.gate(*trial.words(good, record=str(recorded))) == 2
    assert "it holds a recording already" in trial.told
    assert before == (recorded / "cassette.jsonl").read_bytes()
    assert len(good.asked) == asked


def test_a_secret_in_a_conversation_is_not_recorded(trial: Trial) -> None:
    """What evidence leaves out, a recording leaves out; such a reply is not replayed."""
    path = trial.folder / "scenarios" / BILLING
    path.write_text(path.read_text().replace("Can you sort that out?", f"My key is {GITHUB}."))
    with serving(chat_stream(Said(f"You said {GITHUB}."))) as server:
        folder = trial.folder / "cassette"
        trial.gate(*trial.words(server, record=str(folder)), out="live")

    assert GITHUB in str(server.asked[0].body)
    assert GITHUB not in (folder / "cassette.jsonl").read_text()
    assert trial.gate("--model", f"cassette:{folder}") == 3
    (run,) = trial.scorecard()["runs"]
    assert "the recorded reply was redacted" in str(run["reasons"])


def test_the_prompt_bundle_is_shown_with_its_digest(trial: Trial, good: Server) -> None:
    """The one that the scorecard names; a live model's holds its tools to ask and decline with."""
    scenario = str(trial.folder / "scenarios" / BILLING)
    trial.gate()
    digest = trial.scorecard()["about"]["prompt_digest"]

    trial.told = ""
    assert trial.run("run", scenario, "--show-prompt") == 0
    assert f"prompt bundle {digest}" in trial.told
    assert '"ask_user"' not in trial.told
    trial.told = ""
    assert trial.run("run", scenario, "--show-prompt", *trial.words(good)) == 0
    assert '"ask_user"' in trial.told
    assert digest not in trial.told
    assert good.asked == []
