"""Script files load as they are meant, and every mistake in them is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from arh.canonical import JsonValue
from arh.errors import AuthoringError, Problem
from arh.model.scripted.scripts import load_scripts

ROOT = Path(__file__).resolve().parents[4]
PUBLISHED = {
    "after-commit-retry",
    "credit-attempt-blocked",
    "four-distinct-reads",
    "golden-001",
    "loop-reads",
    "multi-account",
    "negative-001",
    "oscillation",
    "recovery-faithful",
    "recovery-false-success",
    "stall-empty-search",
    "unsafe-credit",
}
FINAL: JsonValue = {"kind": "final_answer", "final_answer": "done"}
CALL: JsonValue = {"kind": "tool_call", "tool": "read", "arguments": {}}


def write(folder: Path, name: str, value: JsonValue | str) -> Path:
    """The folder of scripts, with one more file."""
    path = folder / "support" / "model_scripts" / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")
    return folder


def script(*rules: JsonValue, **more: JsonValue) -> JsonValue:
    """A script with these rules."""
    return {"config_id": "scripted:one", "rules": list(rules), **more}


def rule(when: JsonValue = None, then: JsonValue = FINAL, **more: JsonValue) -> JsonValue:
    """A rule that always matches and ends the task, unless told otherwise."""
    return {"when": when if when is not None else {}, "then": then, **more}


def problems(folder: Path) -> list[Problem]:
    """What is wrong with the folder's scripts."""
    with pytest.raises(AuthoringError) as caught:
        load_scripts(folder)
    return list(caught.value.problems)


def fields(folder: Path) -> list[tuple[str, str]]:
    """Where something is wrong with the folder's scripts, and what."""
    return [(problem.field, problem.found) for problem in problems(folder)]


# --- what loads ----------------------------------------------------------------------------------


def test_all_published_scripts_load() -> None:
    """The twelve published ids exist under the support workflow."""
    scripts = load_scripts(ROOT / "fixtures" / "support" / "model_scripts")

    assert {f"scripted:{name}" for name in PUBLISHED} <= set(scripts.by_id)


def test_the_published_format_loads(tmp_path: Path) -> None:
    """Description and `on_mismatch` are accepted, guards and kinds as published."""
    published = script(
        rule({"step": 0}, CALL),
        rule({"last_tool": "read", "result.active": True}, CALL),
        rule({"last_tool": "read", "last_status": "executed"}),
        description="one way",
        on_mismatch={"kind": "final_answer", "final_answer": "mismatch"},
    )

    scripts = load_scripts(write(tmp_path, "one", published))

    assert list(scripts.by_id) == ["scripted:one"]
    assert len(scripts.get("scripted:one").rules) == 3


def test_every_guard_and_kind_loads(tmp_path: Path) -> None:
    """The whole format in one file."""
    full = script(
        rule({"step": {"gte": 30}}, {"kind": "truncated"}),
        rule({"turn": {"in": [7, 8]}}, {"kind": "malformed", "detail": "x"}),
        rule({"attempt": 9}, {"kind": "unavailable", "reason": "timeout"}),
        rule({"called.read": 5}, {"kind": "refusal", "message": "no"}),
        rule({"last_tool": {"in": ["a", "b"]}}, {"kind": "ask_user", "message": "which?"}),
        rule(
            {"last_reason": "timeout"},
            {"kind": "tool_calls", "calls": [{"tool": "a", "arguments": {}}]},
        ),
        rule({"user_contains": ["a", "b"]}, {"kind": "final_answer", "envelope": {"message": "m"}}),
        rule(
            {"user_matches": "A-[0-9]+"}, {"kind": "final_answer", "final_answer": {"message": ""}}
        ),
        rule(
            {"any_result_contains": "x"}, {"kind": "tool_call", "tool": "a", "raw_arguments": "{{"}
        ),
        rule({"result.a": {"exists": False}}, {**CALL, "text": "hm"}),  # type: ignore[dict-item]
        rule({"result.a": {"contains": "x"}}, CALL, latency_ms=5),
        rule({"result.a.0.b": {"gte": 1.5}}, CALL, usage={"input_tokens": 1, "output_tokens": 2}),
        rule({"result.a": {"in": [1, "x", None]}}, CALL),
        rule({}, {"kind": "final_answer", "final_answer": "{{n}} {{results.read.a-b.0}}"}),
        bind={"n": "task ([0-9]+)"},
        defaults={"input_tokens": 1, "output_tokens": 2, "latency_ms": 3},
    )

    assert len(load_scripts(write(tmp_path, "one", full)).get("scripted:one").rules) == 14


def test_a_script_is_identified_by_its_content(tmp_path: Path) -> None:
    """Spaces do not change the digest; a word does."""
    one = load_scripts(write(tmp_path / "1", "one", script(rule())))
    two = load_scripts(write(tmp_path / "2", "two", json.dumps(script(rule()), indent=3)))
    other = load_scripts(write(tmp_path / "3", "one", script(rule(), description="x")))

    assert one.digest("scripted:one") == two.digest("scripted:one")
    assert one.digest("scripted:one") != other.digest("scripted:one")


def test_only_folders_of_scripts_are_read(tmp_path: Path) -> None:
    """Another JSON file under the root is none of ours."""
    write(tmp_path, "one", script(rule()))
    (tmp_path / "support" / "other.json").write_text("not JSON", "utf-8")

    assert list(load_scripts(tmp_path).by_id) == ["scripted:one"]


def test_an_unknown_id_names_the_nearest_and_the_reference(tmp_path: Path) -> None:
    """The error says who asked for it."""
    scripts = load_scripts(write(tmp_path, "one", script(rule())))

    with pytest.raises(AuthoringError) as caught:
        scripts.get("scripted:ones", file="x.jsonl", line=3, field="model_configuration")

    assert str(caught.value) == (
        "x.jsonl:3: `model_configuration`: expected the config_id of a model script, found"
        " `scripted:ones`; did you mean `scripted:one`?"
    )


# --- what does not -------------------------------------------------------------------------------


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    """An absent folder is not an empty one."""
    assert problems(tmp_path / "nowhere")[0].expected == "a folder with model scripts"


def test_every_mistake_of_every_file_is_reported(tmp_path: Path) -> None:
    """One load, all the work."""
    write(tmp_path, "a", "{")
    write(tmp_path, "b", script(rule({"stepp": 0}), rule({"turnn": 0})))
    write(tmp_path, "c", {"config_id": "scripted:ok", "rules": [rule()]})
    write(tmp_path, "d", {"config_id": "scripted:ok", "rules": [rule()]})

    files = [problem.file.rpartition("/")[2] for problem in problems(tmp_path)]

    assert files == ["a.json", "b.json", "b.json", "d.json"]


def test_a_duplicate_key_is_found_where_it_stands(tmp_path: Path) -> None:
    """The last one does not win."""
    text = '{"config_id": "scripted:one",\n "rules": [],\n "rules": []}'

    (problem,) = problems(write(tmp_path, "one", text))

    assert (problem.found, problem.line) == ("not strict JSON: duplicate key", 3)


def test_one_id_in_two_files_is_an_error(tmp_path: Path) -> None:
    """Both files are named."""
    write(tmp_path, "a", script(rule()))

    (problem,) = problems(write(tmp_path, "b", script(rule())))

    assert problem.file.endswith("b.json")
    assert "scripted:one is also the id of" in problem.found
    assert "a.json" in problem.found


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ([], [("", "[]")]),
        ({}, [("config_id", "missing"), ("rules", "missing"), ("rules", "[]")]),
        ({"config_id": "golden", "rules": [rule()]}, [("config_id", "golden")]),
        ({"config_id": "scripted:A", "rules": [rule()]}, [("config_id", "scripted:A")]),
        ({"config_id": "scripted:a\n", "rules": [rule()]}, [("config_id", "scripted:a\n")]),
        (script(rule(), extra=1), [("extra", "extra")]),
        (script(), [("rules", "[]")]),
        (script(1), [("rules[0]", "1")]),
        (script({"when": {}}), [("rules[0].then", "missing")]),
        (script({**rule(), "note": ""}), [("rules[0].note", "note")]),  # type: ignore[dict-item]
        (script(rule(), on_mismatch="x"), [("on_mismatch", "x")]),
        (script(rule(), description=3), [("description", "3")]),
        (script(rule(), defaults={"tokens": 1}), [("defaults.tokens", "tokens")]),
        (script(rule(), defaults={"latency_ms": -1}), [("defaults.latency_ms", "-1")]),
        (script(rule(latency_ms=True)), [("rules[0].latency_ms", "true")]),
        (script(rule(usage={"latency_ms": 1})), [("rules[0].usage.latency_ms", "latency_ms")]),
        (script(rule(), bind={"n": "("}), [("bind.n", "(")]),
        (script(rule(), bind={"n": "[0-9]+"}), [("bind.n", "[0-9]+")]),
        (script(rule(), bind={"result": "(x)"}), [("bind.result", "result")]),
    ],
)
def test_a_file_with_a_wrong_part_is_refused(
    tmp_path: Path, value: JsonValue, found: list[tuple[str, str]]
) -> None:
    """The part is named by its path, with what stands there."""
    assert fields(write(tmp_path, "one", value)) == found


@pytest.mark.parametrize(
    ("when", "field"),
    [
        ({"stepp": 0}, "stepp"),
        ({"result": 1}, "result"),
        ({"result.": 1}, "result."),
        ({"result.a..b": 1}, "result.a..b"),
        ({"called": 1}, "called"),
        ({"called.read": "x"}, "called.read"),
        ({"step": -1}, "step"),
        ({"step": True}, "step"),
        ({"step": {"gte": "x"}}, "step.gte"),
        ({"step": {"exists": True}}, "step"),
        ({"step": {"in": []}}, "step.in"),
        ({"last_tool": 1}, "last_tool"),
        ({"last_tool": ""}, "last_tool"),
        ({"last_status": "ok"}, "last_status"),
        ({"last_status": {"in": ["executed", "ok"]}}, "last_status"),
        ({"result.a": {}}, "result.a"),
        ({"result.a": {"equals": 1}}, "result.a"),
        ({"result.a": {"in": [1], "gte": 1}}, "result.a"),
        ({"result.a": {"in": []}}, "result.a.in"),
        ({"result.a": {"exists": 1}}, "result.a.exists"),
        ({"result.a": {"contains": ""}}, "result.a.contains"),
        ({"result.a": {"gte": True}}, "result.a.gte"),
        ({"user_contains": ""}, "user_contains"),
        ({"user_contains": []}, "user_contains"),
        ({"user_matches": "(?=x)"}, "user_matches"),
        ({"user_matches": "("}, "user_matches"),
    ],
)
def test_a_guard_that_means_nothing_is_refused(tmp_path: Path, when: JsonValue, field: str) -> None:
    """A guard that would never or always hold by mistake is not accepted."""
    assert [f for f, _ in fields(write(tmp_path, "one", script(rule(when))))] == [
        f"rules[0].when.{field}"
    ]


@pytest.mark.parametrize(
    ("then", "field"),
    [
        ("done", ""),
        ({}, ".kind"),
        ({"kind": "tool_cal"}, ".kind"),
        ({"kind": "tool_call", "arguments": {}}, ".tool"),
        ({"kind": "tool_call", "tool": "a"}, ""),
        ({"kind": "tool_call", "tool": "a", "arguments": {}, "raw_arguments": ""}, ""),
        ({"kind": "tool_call", "tool": "a", "arguments": "{}"}, ".arguments"),
        ({"kind": "tool_call", "tool": "a", "args": {}}, ".args"),
        ({"kind": "tool_calls", "calls": []}, ".calls"),
        ({"kind": "tool_calls", "calls": [{"arguments": {}}]}, ".calls[0].tool"),
        ({"kind": "final_answer"}, ""),
        ({"kind": "final_answer", "final_answer": 1}, ".final_answer"),
        ({"kind": "final_answer", "final_answer": "a", "envelope": {}}, ""),
        ({"kind": "final_answer", "envelope": "a"}, ".envelope"),
        ({"kind": "final_answer", "final_answer": "{{name}}"}, ""),
        ({"kind": "final_answer", "final_answer": "{{ results.a }}"}, ""),
        ({"kind": "final_answer", "final_answer": "{{result.a"}, ""),
        ({"kind": "final_answer", "envelope": {"message": ["{{user}}"]}}, ""),
        ({"kind": "ask_user"}, ".message"),
        ({"kind": "refusal", "message": ""}, ".message"),
        ({"kind": "truncated", "detail": 1}, ".detail"),
        ({"kind": "unavailable"}, ".reason"),
        ({"kind": "unavailable", "reason": "tired"}, ".reason"),
        ({"kind": "unavailable", "reason": "timeout", "retry_after_ms": -1}, ".retry_after_ms"),
    ],
)
def test_an_action_that_cannot_be_carried_out_is_refused(
    tmp_path: Path, then: JsonValue, field: str
) -> None:
    """Nothing is filled in for the author."""
    assert [f for f, _ in fields(write(tmp_path, "one", script(rule(None, then))))] == [
        f"rules[0].then{field}"
    ]


def test_a_misspelt_word_gets_a_suggestion(tmp_path: Path) -> None:
    """Keys, guards, kinds and statuses are matched with the known ones."""
    value = script(rule({"last_stat": "x"}, {"kind": "final_anwser", "final_answer": ""}))

    hints = [problem.hint for problem in problems(write(tmp_path, "one", value))]

    assert hints == ["did you mean `last_status`?", "did you mean `final_answer`?"]


# --- rules that never fire -----------------------------------------------------------------------

UNREACHABLE = [
    ({}, {"step": 1}),
    ({"last_tool": "a"}, {"last_tool": "a", "last_status": "error"}),
    ({"step": {"gte": 2}}, {"step": 3}),
    ({"step": {"gte": 2}}, {"step": {"in": [2, 4]}}),
    ({"last_tool": {"in": ["a", "b"]}}, {"last_tool": "b"}),
    ({"result.a": {"exists": True}}, {"result.a": None}),
    ({"result.a": {"contains": "X"}}, {"result.a": "axe"}),
    ({"user_contains": "a"}, {"user_contains": ["abc", "d"]}),
    ({"user_matches": "x+"}, {"user_matches": "x+", "turn": 1}),
]
REACHABLE = [
    ({"step": 1}, {}),
    ({"last_tool": "a", "last_status": "error"}, {"last_tool": "a"}),
    ({"step": 3}, {"step": {"gte": 2}}),
    ({"step": {"in": [2, 4]}}, {"step": {"gte": 2}}),
    ({"result.a": True}, {"result.a": 1}),
    ({"result.a": 1}, {"result.b": 1}),
    ({"result.a": {"exists": True}}, {"result.a": {"exists": False}}),
    ({"called.a": 1}, {"called.b": 1}),
    ({"user_contains": ["abc", "d"]}, {"user_contains": "a"}),
    ({"user_matches": "x"}, {"user_matches": "x+"}),
]


@pytest.mark.parametrize(("first", "second"), UNREACHABLE)
def test_a_rule_that_an_earlier_one_always_beats_is_an_error(
    tmp_path: Path, first: JsonValue, second: JsonValue
) -> None:
    """The earlier rule is named."""
    folder = write(tmp_path, "one", script(rule(first), rule(second)))

    found = "unreachable: rules[0] matches whenever it does"
    assert fields(folder) == [("rules[1].when", found)]


@pytest.mark.parametrize(("first", "second"), REACHABLE)
def test_a_rule_that_can_be_reached_is_spared(
    tmp_path: Path, first: JsonValue, second: JsonValue
) -> None:
    """A narrower rule before a wider one is how scripts are written."""
    folder = write(tmp_path, "one", script(rule(first), rule(second)))

    assert len(load_scripts(folder).get("scripted:one").rules) == 2


@pytest.mark.parametrize(
    "when",
    [
        {"step": 0, "last_tool": "a"},
        {"step": 0, "result.a": 1},
        {"step": 0, "any_result_contains": "a"},
        {"last_status": "error", "result.a": 1},
        {"last_status": {"in": ["error", "rejected"]}, "result.a": {"exists": True}},
    ],
)
def test_a_rule_that_nothing_can_match_is_an_error(tmp_path: Path, when: JsonValue) -> None:
    """Guards that exclude each other are a mistake."""
    ((field, found),) = fields(write(tmp_path, "one", script(rule(when))))

    assert (field, found.partition(":")[0]) == ("rules[0].when", "can never match")


def test_guards_that_agree_are_spared(tmp_path: Path) -> None:
    """The absence of a result is possible at any step and with any status."""
    folder = write(
        tmp_path,
        "one",
        script(
            rule({"step": 0, "result.a": {"exists": False}}),
            rule({"last_status": "error", "result.a": {"exists": False}}),
        ),
    )

    assert len(load_scripts(folder).get("scripted:one").rules) == 2


def test_the_scripts_of_another_workflow_are_left_for_that_one(tmp_path: Path) -> None:
    """One id in two workflows is no clash, and what is wrong with theirs is not ours."""
    ours = write(tmp_path, "one", script(rule()))
    theirs = tmp_path / "bank" / "model_scripts"
    theirs.mkdir(parents=True)
    (theirs / "one.json").write_text(json.dumps(script(rule())), "utf-8")
    (theirs / "two.json").write_text("broken", "utf-8")

    assert set(load_scripts(ours, others=("bank",)).by_id) == {"scripted:one"}
    with pytest.raises(AuthoringError):
        load_scripts(ours)
