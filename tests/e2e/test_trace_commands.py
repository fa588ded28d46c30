"""`arh validate`, `arh compare` and `arh convert` as users type them, with every exit code."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

POLICY = {
    "policy_id": "p",
    "allowed_tools": {"look": {"required_arguments": {"id": "str"}}},
    "completion": {"require_final_response": True},
}
MADE = {
    "look": [{"id": "call-1", "function": {"name": "look", "arguments": '{"id": "A"}'}}],
    "cut": [{"id": "call-9", "function": {"name": "cut", "arguments": "{}"}}],
}


def chat(tool: str = "look") -> dict[str, Any]:
    """Return a conversation in a provider's format."""
    (call,) = MADE[tool]
    return {
        "messages": [
            {"role": "user", "content": "Please."},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call["id"], "content": "ok"},
            {"role": "assistant", "content": "Done."},
        ]
    }


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a policy, a good and a bad recording."""
    written(tmp_path / "policy.json", POLICY)
    written(tmp_path / "good.json", chat())
    written(tmp_path / "bad.json", chat("cut"))
    return tmp_path


def written(path: Path, value: object) -> Path:
    """Write a value as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1), encoding="utf-8")
    return path


def arh(folder: Path, *words: object, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder."""
    return subprocess.run(
        [sys.executable, "-m", "arh", *map(str, words)],
        cwd=folder,
        input=stdin,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=60,
    )


def validate(folder: Path, *words: object, stdin: str | None = None) -> Any:  # noqa: ANN401 - a process
    """Run `arh validate` with the folder's policy."""
    return arh(folder, "validate", *words, "--policy", "policy.json", stdin=stdin)


@pytest.mark.parametrize(("file", "code"), [("good.json", 0), ("bad.json", 1)])
def test_a_recording_passes_or_fails(project: Path, file: str, code: int) -> None:
    """The exit code says which, and the report why."""
    done = validate(project, file)

    assert done.returncode == code, done.stderr
    assert ("ARH-SCH-001: tool `cut` is not listed" in done.stdout) is bool(code)


def test_every_report_is_written(project: Path) -> None:
    """Folders are made, and each file is named."""
    kinds = ("json", "md", "junit", "sarif", "html")
    outs = [word for kind in kinds for word in (f"--{kind}-out", f"out/{kind}")]

    done = validate(project, "good.json", "bad.json", *outs)

    assert done.returncode == 1
    assert sorted(path.name for path in (project / "out").iterdir()) == sorted(kinds)
    assert done.stdout.count("wrote out") == len(kinds)
    report: Any = json.loads((project / "out" / "json").read_bytes())
    assert report["summary"]["failed_traces"] == 1
    assert [each["source_path"] for each in report["reports"]] == ["good.json", "bad.json"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("junk.json", "[1, 2, 3]", "the format of the transcript is not recognised"),
        ("cut.json", '{"messages": [', "this is no strict JSON: cut short"),
        ("twice.json", '{"messages": [], "messages": []}', "duplicate key"),
        ("latin.json", '{"a": "\udce9"}', "invalid UTF-8"),
    ],
)
def test_a_bad_file_is_told_and_the_others_are_judged(
    project: Path, name: str, content: str, message: str
) -> None:
    """It is no failing trace, and no pass either."""
    (project / name).write_bytes(content.encode("utf-8", "surrogateescape"))

    done = validate(project, name, "good.json", "--json-out", "r.json")

    assert done.returncode == 1
    assert f"[NOT JUDGED] {name}: " in done.stdout
    assert message in done.stdout
    assert "SUMMARY: 1/1 traces passed, 1 input could not be judged" in done.stdout
    report: Any = json.loads((project / "r.json").read_bytes())
    assert [each["source_path"] for each in report["unjudged"]] == [name]


def test_standard_input_and_lines(project: Path) -> None:
    """A recording on each line, from a pipe."""
    lines = "".join(
        json.dumps({**chat(tool), "trace_id": name}) + "\n"
        for name, tool in (("one", "look"), ("two", "cut"))
    )

    done = validate(project, "-", stdin=lines)

    assert done.returncode == 1
    assert "[PASS] one" in done.stdout
    assert "[FAIL] two" in done.stdout


def test_a_bad_line_is_told_and_the_others_are_judged(project: Path) -> None:
    """One that is cut, and one that nobody reads, each with its line."""
    good = [json.dumps({**chat(), "trace_id": name}) for name in ("one", "two")]
    lines = [good[0], '{"messages": [', good[1], '{"x": 1}', good[0][:40]]
    (project / "all.jsonl").write_text("\n".join(lines), encoding="utf-8")

    done = validate(project, "all.jsonl", "--json-out", "r.json")

    assert done.returncode == 1
    assert "SUMMARY: 2/2 traces passed, 3 inputs could not be judged" in done.stdout
    report: Any = json.loads((project / "r.json").read_bytes())
    assert sorted(each["line"] for each in report["unjudged"]) == [2, 4, 5]


def test_a_log_with_a_cut_line_is_not_judged_in_part(project: Path) -> None:
    """Its lines are one conversation, and what is missing could be a call."""
    messages = [json.dumps(each) for each in chat()["messages"]]
    (project / "log.jsonl").write_text("\n".join([*messages, '{"role": "assi']), encoding="utf-8")

    done = validate(project, "log.jsonl")

    assert done.returncode == 1
    assert "SUMMARY: 0/0 traces passed, 1 input could not be judged" in done.stdout


@pytest.mark.parametrize("text", ["{} x\n[] y\n", "1 2\n\n3 4"])
def test_lines_that_are_all_broken_are_told(project: Path, text: str) -> None:
    """And nothing breaks."""
    (project / "all.jsonl").write_text(text, encoding="utf-8")

    done = validate(project, "all.jsonl")

    assert done.returncode == 1
    assert "[NOT JUDGED] all.jsonl: line 1: this is no strict JSON" in done.stdout


def test_an_id_that_is_taken_is_not_judged(project: Path) -> None:
    """Two traces of one id could not be told apart in a comparison."""
    for name in ("one", "two"):
        written(project / f"{name}.json", {**chat(), "trace_id": "t"})

    done = validate(project, "one.json", "two.json")

    assert done.returncode == 1
    assert "[NOT JUDGED] two.json: the trace_id `t` is that of one.json" in done.stdout


def test_recordings_of_one_name_in_two_folders_need_ids(project: Path) -> None:
    """They are called alike, within a repository or not; a report of both would be no baseline."""
    written(project / "again" / "good.json", chat())
    written(project / "other" / "good.json", {**chat(), "trace_id": "other"})

    done = validate(project, "good.json", "again/good.json", "other/good.json")

    assert done.returncode == 1, done.stdout
    assert "2/2 traces passed, 1 input could not be judged" in done.stdout
    assert "the trace_id `good` is that of good.json" in done.stdout


@pytest.mark.parametrize(
    "words",
    [
        ("--fail-under", "101"),
        ("--fail-under", "nan"),
        ("--no-such-flag",),
        ("--compat", "0.1"),
    ],
)
def test_a_wrong_flag_is_usage(project: Path, words: tuple[str, ...]) -> None:
    """Exit code 2."""
    assert validate(project, "good.json", *words).returncode == 2


def test_a_wrong_policy_names_file_line_and_field(project: Path) -> None:
    """And nothing is judged by a part of it."""
    written(project / "policy.json", {"policy_id": "p", "sequence": {"forbiden_tools": ["rm"]}})

    done = validate(project, "good.json")

    assert done.returncode == 1
    assert "error: policy.json:4: `sequence.forbiden_tools`: unknown policy field" in done.stderr
    assert "did you mean `forbidden_tools`?" in done.stderr


def test_an_output_that_cannot_be_written_fails(project: Path) -> None:
    """The report is printed, and the exit code says that a file is missing."""
    done = validate(project, "good.json", "--json-out", "good.json/r.json")

    assert done.returncode == 1
    assert "error: failed to write good.json/r.json: " in done.stderr


def test_a_report_in_the_place_of_a_folder_is_told_with_the_reason(project: Path) -> None:
    """Whoever reads it knows what to do."""
    (project / "reports").mkdir()

    done = validate(project, "good.json", "--json-out", "reports")

    assert done.returncode == 1
    assert "error: failed to write reports: Is a directory" in done.stderr


@pytest.mark.parametrize("name", ["empty", "no*.json"])
def test_what_names_nothing_is_told_and_the_others_are_judged(project: Path, name: str) -> None:
    """A folder of last week's recordings hides nothing of today's."""
    (project / "empty").mkdir()

    done = validate(project, name, "good.json")

    assert done.returncode == 1
    assert f"[NOT JUDGED] {name}: no file " in done.stdout
    assert "SUMMARY: 1/1 traces passed, 1 input could not be judged" in done.stdout


@pytest.mark.parametrize("command", ["validate", "convert", "replay-policy"])
def test_an_unknown_format_is_usage(project: Path, command: str) -> None:
    """It is a slip of whoever typed it, and says nothing of the recording."""
    policy = () if command == "convert" else ("--policy", "policy.json")

    done = arh(project, command, "good.json", *policy, "--format", "openai-chit")

    assert done.returncode == 2
    assert "did you mean `openai-chat`?" in done.stderr


def test_quiet_prints_nothing_but_errors(project: Path) -> None:
    """What could not be judged is one."""
    assert validate(project, "good.json", "--quiet").stdout == ""
    assert "error: gone.json: " in validate(project, "gone.json", "--quiet").stderr


def baseline(project: Path, *files: str) -> None:
    """Write the report on files as the baseline."""
    validate(project, *files, "--json-out", "base.json")


def compare(project: Path, *words: object) -> Any:  # noqa: ANN401 - a process
    """Run `arh compare` against the baseline."""
    return arh(project, "compare", "--baseline", "base.json", *words)


def test_nothing_new_passes(project: Path) -> None:
    """Also where what is known to fail fails again, under new call ids of the provider."""
    baseline(project, "bad.json")
    again = chat("cut")
    again["messages"][1]["tool_calls"][0]["id"] = "call-77"
    again["messages"][2]["tool_call_id"] = "call-77"
    written(project / "bad.json", again)

    done = compare(project, "bad.json", "--policy", "policy.json")

    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("before", "now", "reason"),
    [
        (["good.json"], ["good.json", "bad.json"], "was added and fails"),
        (["good.json", "bad.json"], ["good.json"], "gone: 1 trace: bad"),
    ],
)
def test_what_got_worse_fails(
    project: Path, before: list[str], now: list[str], reason: str
) -> None:
    """A trace that fails, and one that is not there any more."""
    baseline(project, *before)

    done = compare(project, *now, "--policy", "policy.json", "--json-out", "c.json")

    assert done.returncode == 1
    assert reason in done.stdout
    comparison: Any = json.loads((project / "c.json").read_bytes())
    assert comparison["gate"]["passed"] is False


def test_a_candidate_with_an_input_that_was_not_judged_fails(project: Path) -> None:
    """Whatever it hides could be a failure; every report says so."""
    baseline(project, "good.json")
    validate(project, "good.json", "gone.json", "--json-out", "now.json")

    for candidate in (
        ("--candidate", "now.json"),
        ("good.json", "gone.json", "--policy", "policy.json"),
    ):
        done = compare(project, *candidate, "--md-out", "c.md", "--json-out", "c.json")

        assert done.returncode == 1
        assert "[NOT JUDGED] gone.json: there is no such file" in done.stdout
        assert "GATE: FAIL\n  1 input could not be judged\n" in done.stdout
        assert "**Gate: FAIL**" in (project / "c.md").read_text("utf-8")
        comparison: Any = json.loads((project / "c.json").read_bytes())
        assert comparison["gate"] == {
            "passed": False,
            "reasons": ["1 input could not be judged"],
        }


def test_a_candidate_that_is_only_reported_still_names_what_was_not_judged(project: Path) -> None:
    """The gate lets everything through, and the command fails for what it never saw."""
    baseline(project, "good.json")

    words = ("good.json", "gone.json", "--policy", "policy.json", "--fail-on", "never")
    done, quiet = compare(project, *words), compare(project, *words, "--quiet")

    assert (done.returncode, quiet.returncode) == (1, 1)
    assert "[NOT JUDGED] gone.json: there is no such file" in done.stdout
    assert quiet.stderr == "error: gone.json: there is no such file\n"


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("good.json",),
        ("--candidate", "x.json", "good.json", "--policy", "policy.json"),
        ("--candidate", "x.json", "--fail-on", "never", "--max-score-drop", "3"),
        ("--candidate", "x.json", "--max-score-drop", "-1"),
    ],
)
def test_options_that_do_not_go_together_are_usage(project: Path, words: tuple[str, ...]) -> None:
    """Exit code 2."""
    baseline(project, "good.json")

    assert compare(project, *words).returncode == 2


def test_a_converted_recording_is_judged_alike(project: Path) -> None:
    """Same findings, whatever the provider's format could not say."""
    chatting = chat("cut")
    chatting["messages"].append({"role": "assistant", "tool_calls": MADE["look"]})
    written(project / "bad.json", chatting)

    done = arh(project, "convert", "bad.json", "-o", "canonical.json")
    reports = []
    for file in ("bad.json", "canonical.json"):
        validate(project, file, "--json-out", "r.json")
        (entry,) = json.loads((project / "r.json").read_bytes())["reports"]
        reports.append({**entry, "source_path": "", "trace_id": ""})

    assert done.returncode == 0, done.stderr
    assert reports[0] == reports[1]


def replay(project: Path, *words: object) -> Any:  # noqa: ANN401 - a process
    """Run `arh replay-policy` over both recordings."""
    return arh(project, "replay-policy", "good.json", "bad.json", *words)


def test_a_trace_policy_is_tried_on_recorded_calls(project: Path) -> None:
    """Which calls it flags, and which of its rules had nothing to say."""
    done = replay(project, "--policy", "policy.json", "--json-out", "r.json")

    assert done.returncode == 0, done.stderr
    assert "cut#1 cut: flagged by ARH-SCH-001" in done.stdout
    assert "rules that never fired: ARH-SCH-003, ARH-SCH-004, ARH-CMP-001" in done.stdout
    calls: Any = json.loads((project / "r.json").read_bytes())["calls"]
    assert [call["flagged"] for call in calls] == [[], ["ARH-SCH-001"]]


def test_an_authorisation_policy_is_tried_on_recorded_calls(project: Path) -> None:
    """What it would deny is told, what it cannot know too, by name."""
    rule = {"id": "look", "tool": "look", "scope": "read:thing", "tenant": "any"}
    written(project / "auth.json", {"policy": "a", "version": "1.0", "rules": [rule]})

    unknown = replay(project, "--authorization", "auth.json")
    known = replay(
        project, "--authorization", "auth.json", "--scopes", "read:*", "--actor-scopes", "*:*"
    )

    assert "look (scope_granted), not known: scopes, actor_scopes" in unknown.stdout
    assert "cut: deny (no_policy_for_tool)" in unknown.stdout
    assert "2 calls: 0 flagged, 1 denied, 0 unknown, 1 allow" in known.stdout


@pytest.mark.parametrize(("fail_on", "code"), [("flagged", 1), ("denied", 0)])
def test_replaying_fails_on_what_it_is_told_to(project: Path, fail_on: str, code: int) -> None:
    """And on nothing else."""
    assert replay(project, "--policy", "policy.json", "--fail-on", fail_on).returncode == code


def test_replaying_needs_a_policy(project: Path) -> None:
    """Exit code 2."""
    assert replay(project).returncode == 2


def test_no_call_is_hidden_from_replaying(project: Path) -> None:
    """Neither behind a long name nor behind more findings than are kept."""
    call = {"type": "tool_call", "tool_name": "cut"}
    trace = {"trace_id": "t", "agent_name": "a", "workflow": "w"}
    long = {**trace, "steps": [{**call, "step_id": "x" * 500}]}
    said = [{"type": "model_response", "step_id": str(at), "text": "word"} for at in range(501)]
    many = {**trace, "steps": [*said, {**call, "step_id": "c", "arguments": {"a": "word"}}]}
    words = {"policy_id": "p", "allow_unlisted_tools": True, "unsafe_patterns": ["word"]}
    written(project / "long.json", long)
    written(project / "many.json", many)
    written(project / "words.json", words)
    options = ("--fail-on", "flagged", "--policy")

    named = arh(project, "replay-policy", "long.json", *options, "policy.json")
    hidden = arh(project, "replay-policy", "many.json", *options, "words.json")

    assert (named.returncode, hidden.returncode) == (1, 1)
    assert "1 calls: 1 flagged" in named.stdout
    assert "more calls may be flagged: 2 findings of ARH-SAF-001" in hidden.stdout
