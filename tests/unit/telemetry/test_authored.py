"""What may be written of an author's scenario, and of the state that a run begins with."""

from __future__ import annotations

import json
import typing
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from arh.canonical import digest
from arh.errors import AuthoringError, HarnessError
from arh.harness.authoring.plan import plan_runs
from arh.harness.evidence.evidence_store import EvidenceFolder, EvidenceWriter
from arh.harness.evidence.recorder import keep_all
from arh.harness.evidence.written_scenarios import written_scenario
from arh.harness.pipeline import judge_folder
from arh.records.control.scenario import Scenario
from arh.telemetry.authored import FREE, WITHHELD, withheld
from arh.telemetry.redaction import MASKED, Redactor
from arh.telemetry.scrubbing import Scrubber
from arh.telemetry.secrets import is_secret_name
from tests.unit.telemetry.golden import GOLDEN, Golden, Run, sensitive, suite_of
from tests.unit.telemetry.shapes import CANARIES

KEY = CANARIES["api_key"]
SCHEMAS = {"json_schema", "output_contract"}
PLAN = sensitive("get_account", "plan")


def kept(value: dict[str, Any], *fields: str) -> dict[str, Any]:
    """What is written of a scenario's data, with some fields sensitive."""
    return withheld(value, frozenset(fields), Scrubber())


def free_fields(model: type[BaseModel]) -> Iterator[str]:
    """The fields of a model, and of all models in it, that hold JSON of a workflow."""
    for name, field in model.model_fields.items():
        text = repr(field.annotation)
        if "JsonValue" in text:
            yield name
        for inner in models_in(field.annotation):
            yield from free_fields(inner)


def models_in(annotation: object) -> Iterator[type[BaseModel]]:
    """The models that an annotation names."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for each in typing.get_args(annotation):
        yield from models_in(each)


def names(model: type[BaseModel]) -> Iterator[str]:
    """The names of all fields of a model, and of all models in it."""
    for name, field in model.model_fields.items():
        yield name
        for inner in models_in(field.annotation):
            yield from names(inner)


def test_the_places_of_free_json_are_those_of_the_model() -> None:
    """Every field of a scenario that holds JSON is searched by name, but for the schemas."""
    assert set(free_fields(Scenario)) == FREE | SCHEMAS


def test_no_field_of_a_scenario_is_called_like_a_secret() -> None:
    """So a scenario keeps its shape: its own fields are never taken for secrets."""
    assert [name for name in names(Scenario) if is_secret_name(name)] == []


def test_the_suite_is_written_as_it_is() -> None:
    """No scenario of ours holds anything that would be withheld."""
    suite = suite_of("scenarios")
    redact = Redactor(suite.pack)
    runs = plan_runs(suite.loaded.scenarios, seed=1).runs

    assert [run.run_id for run in runs if written_scenario(run, redact)[1] is not run] == []


def test_fields_are_withheld_by_name_where_a_workflow_has_its_say() -> None:
    """In rows, selectors and arguments, at any depth; a scenario's own fields stay."""
    value = {"plan": "a", "row": {"plan": "b", "deep": [{"plan": 1, "pin": 2, "note": "c"}]}}

    assert kept(value, "plan") == {
        "plan": "a",
        "row": {"plan": WITHHELD, "deep": [{"plan": WITHHELD, "pin": WITHHELD, "note": "c"}]},
    }


def test_texts_are_withheld_by_shape_everywhere() -> None:
    """The mark differs from the one in events: nothing that was taken out matches anything."""
    assert kept({"why": f"see {KEY}", "where": {"body": [KEY]}}) == {
        "why": "see [withheld:api_key]",
        "where": {"body": ["[withheld:api_key]"]},
    }


def test_where_a_name_must_stand_a_name_stands() -> None:
    """A principal that is called like a key is still a principal."""
    assert kept({"agent": KEY}) == {"agent": "withheld:api_key"}


def test_what_an_author_wrote_of_redaction_stays() -> None:
    """A scenario may expect that something was redacted."""
    value = {"where": {"summary": "[redacted:api_key]"}, "why": "a secret in a summary"}

    assert kept(value, "other") == value


def test_what_holds_no_secret_is_not_copied() -> None:
    """The usual case costs one search."""
    value = {"where": {"body": "x"}}

    assert kept(value) is value


def test_a_scenario_that_needs_its_secret_is_refused_before_anything_runs(tmp_path: Path) -> None:
    """Its id is one: the place is named, the secret is not."""
    suite = suite_of(GOLDEN)
    located = suite.loaded.scenarios[0]
    named = replace(located, scenario=located.scenario.model_copy(update={"id": KEY.lower()}))

    with pytest.raises(AuthoringError, match="cannot do without it") as caught:
        EvidenceWriter(tmp_path, plan_runs((named,), seed=1), redact=Redactor(suite.pack))

    assert KEY.lower() not in str(caught.value)


def test_what_cannot_be_redacted_is_not_written(tmp_path: Path) -> None:
    """Neither a scenario nor an initial state; a run without a state is our own error."""

    def failing(kind: str, data: dict[str, object]) -> dict[str, object]:
        return {"redaction_failed": True} if kind in {"authored", "initial_state"} else data

    plan = plan_runs(suite_of(GOLDEN).loaded.scenarios, seed=1)
    with pytest.raises(HarnessError, match="could not be redacted"):
        EvidenceWriter(tmp_path, plan, redact=failing)
    with pytest.raises(HarnessError, match="could not be redacted"):
        Golden(redact=lambda _pack: failing).run()


def test_a_run_is_judged_from_disk_as_it_was_judged(tmp_path: Path) -> None:
    """What depends on a withheld name matches nothing, live or later."""

    def named(value: dict[str, Any]) -> None:
        value["trusted_environment"]["principal"]["agent"] = KEY

    run = Golden(scenario=named).run()
    writer = EvidenceWriter(tmp_path, run.plan, redact=run.redact)
    writer.add(run.output)
    writer.close({})

    (again,) = judge_folder(EvidenceFolder(tmp_path), run.suite.evaluators, run.suite.pack)
    assert (again.status, again.results) == (run.verdict.status, run.verdict.results)


def state(run: Run) -> dict[str, Any]:
    """The initial state of a run as it is written."""
    found: dict[str, Any] = json.loads(run.output.initial)
    return found


def test_a_seeded_row_loses_its_sensitive_fields() -> None:
    """The rest of the row stays, and so do the rows without such a field."""
    plain, run = state(Golden().run()), state(Golden(pack=PLAN).run())
    accounts = [row for row in plain["rows"] if row[1] == "accounts"]
    masked = [row for row in run["rows"] if row[1] == "accounts"]

    assert [row[5] for row in masked] == [{**row[5], "plan": MASKED} for row in accounts]
    assert [row for row in run["rows"] if row not in masked] == [
        row for row in plain["rows"] if row not in accounts
    ]


def test_no_digest_over_a_seeded_sensitive_value_is_left() -> None:
    """Neither the row's nor the state's, in no line: whoever tries all values learns nothing."""
    plain = state(Golden().run())
    true = [plain["digest"], *(row[4] for row in plain["rows"] if row[1] == "accounts")]
    run = Golden(pack=PLAN).run()
    text = run.text + run.output.initial.decode()

    assert [found for found in true if found in text] == []
    assert state(run)["digest"] == digest([state(run)["collections"], state(run)["rows"]])


@pytest.mark.parametrize("key", [b"", b"the auditor's key"])
def test_a_run_on_a_masked_state_is_whole_and_judged_alike(key: bytes) -> None:
    """The sources still agree about where the run began, and nothing else is judged differently."""
    run = Golden(pack=PLAN, redact=lambda pack: Redactor(pack, key=key)).run()
    evidence = run.output.evidence

    assert (evidence.problems, evidence.discrepancies) == ((), ())
    assert evidence.initial is not None
    assert evidence.commits[0].state_before == evidence.initial.digest
    assert run.verdict.status == Golden().run().verdict.status == "pass"


def test_runs_on_one_masked_state_share_it() -> None:
    """The stand-in is the same for all runs of a suite, whatever a run before has left."""
    shared = Redactor(PLAN(suite_of(GOLDEN).pack), key=b"k")
    runs = [Golden(pack=PLAN, redact=lambda _pack: shared).run() for _ in range(2)]

    assert runs[0].output.initial == runs[1].output.initial
    assert runs[0].output.lines == runs[1].output.lines


def test_a_key_that_is_a_sensitive_value_is_masked_too() -> None:
    """A ticket that is named by its sensitive number is not named."""
    redact = Redactor(sensitive("create_ticket", "ticket_id")(suite_of(GOLDEN).pack))
    value = {"ticket_id": "TK-0077", "summary": "about TK-0077"}
    row = ["tenant-a", "tickets", "TK-0077", 1, "d" * 64, value]

    found = redact("initial_state", {"digest": "s", "collections": ["tickets"], "rows": [row]})
    masked = {"ticket_id": MASKED, "summary": f"about {MASKED}"}
    assert found["rows"] == [
        ["tenant-a", "tickets", MASKED, 1, digest({"key": MASKED, "value": masked}), masked]
    ]


def test_secrets_by_name_and_shape_leave_the_state_and_keep_its_digests() -> None:
    """A long random value cannot be tried out: what is joined by digests stays joined."""

    def seeded(value: dict[str, Any]) -> None:
        row = {"doc_id": "KB-9", "title": "t", "body": KEY, "api_key": "hunter2"}
        value["runtime"]["changes"] = [{"collection": "knowledge_base", "row": row}]

    plain, run = (
        state(Golden(scenario=seeded, redact=redact).run())
        for redact in (lambda _pack: keep_all, Redactor)
    )
    (found,) = [row for row in run["rows"] if row[2] == "KB-9"]

    assert found[5]["body"] == "[redacted:api_key]"
    assert found[5]["api_key"] == "[redacted:secret]"
    assert [row[:5] for row in run["rows"]] == [row[:5] for row in plain["rows"]]
