"""The composition root: what it refuses before anything runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from arh import bootstrap
from arh.errors import AuthoringError
from arh.model.scripted.scripts import Scripts
from arh.records.execution import Tool
from arh.records.packs import WorkflowPack

CANARY = "canary-credential-0001"
NO_SCRIPTS = Scripts({})


def pack_with_credential(**changes: object) -> WorkflowPack:
    """Return the support pack with a credit tool that needs a credential."""
    pack = bootstrap.load_pack("support")
    tools = [
        Tool(replace(tool.manifest, credential="payments", **changes), tool.handler)  # type: ignore[arg-type]
        if tool.manifest.name == "issue_credit"
        else tool
        for tool in pack.tools
    ]
    return replace(pack, tools=tuple(tools))


def test_a_credential_belongs_to_the_gateway(monkeypatch: pytest.MonkeyPatch) -> None:
    """A configuration whose credential nobody else can read is accepted."""
    monkeypatch.setenv("ARH_CREDENTIAL_PAYMENTS", CANARY)

    configuration = bootstrap.configure(pack_with_credential(), NO_SCRIPTS)

    assert configuration.pack.name == "support"


def test_a_credential_in_a_tool_description_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the model is shown may not hold a credential, and no message shows it either."""
    monkeypatch.setenv("ARH_CREDENTIAL_PAYMENTS", CANARY)
    pack = pack_with_credential(description=f"Credits an account with {CANARY}.")

    with pytest.raises(AuthoringError, match="can be read by the agent or the model") as refusal:
        bootstrap.configure(pack, NO_SCRIPTS)

    assert CANARY not in str(refusal.value)


def test_a_credential_in_the_agents_environment_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A variable that is passed on to a foreign agent may not hold a credential."""
    monkeypatch.setenv("ARH_CREDENTIAL_PAYMENTS", CANARY)
    monkeypatch.setenv("LANG", CANARY)

    with pytest.raises(AuthoringError, match="can be read by the agent or the model"):
        bootstrap.configure(pack_with_credential(), NO_SCRIPTS)


def test_a_missing_credential_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tool that needs a credential does not start without it."""
    monkeypatch.delenv("ARH_CREDENTIAL_PAYMENTS", raising=False)

    with pytest.raises(AuthoringError, match="ARH_CREDENTIAL_PAYMENTS is not set"):
        bootstrap.configure(pack_with_credential(), NO_SCRIPTS)


def test_a_pack_loads_as_often_as_it_is_asked_for() -> None:
    """Loading a pack changes nothing that loading it again depends on."""
    assert bootstrap.load_pack("support") is bootstrap.load_pack("support")


def test_an_unknown_workflow_names_the_nearest() -> None:
    """A misspelt workflow is an authoring error with a hint."""
    with pytest.raises(AuthoringError, match="did you mean `support`"):
        bootstrap.load_pack("suport")


def test_every_authored_part_is_checked_before_anything_runs(tmp_path: Path) -> None:
    """A scenario folder without scenarios is refused; an empty suite can never be a pass."""
    with pytest.raises(AuthoringError, match="there is no scenario here"):
        bootstrap.prepare(bootstrap.Sources(scenarios=str(tmp_path)))


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("scenarios/expense/golden/a.jsonl", "expense"),
        ("scenarios/expense/golden/a.jsonl:1", "expense"),
        ("scenarios/expense/golden", "expense"),
        ("scenarios/expense", "expense"),
        ("scenarios/support/golden/a.jsonl:1", "support"),
        ("scenarios/golden/a.jsonl", "support"),
        ("expense/scenarios/golden/a.jsonl", "support"),
        ("expense/scenarios/support/golden/a.jsonl", "support"),
        ("a.jsonl", "support"),
        ("scenarios", "support"),
    ],
)
def test_the_folder_says_which_workflow_scenarios_are_of(
    place: str, expected: str, tmp_path: Path
) -> None:
    """It is the folder above the category's; no other folder on the way counts."""
    assert bootstrap.workflow_at(tmp_path / place) == expected


def test_a_folder_with_one_workflow_is_of_that_one(tmp_path: Path) -> None:
    """With two of them nobody can tell, and the default holds."""
    (tmp_path / "expense").mkdir()
    assert bootstrap.workflow_at(tmp_path) == "expense"

    (tmp_path / "support").mkdir()
    assert bootstrap.workflow_at(tmp_path) == bootstrap.WORKFLOW


def test_every_packaged_suite_is_read_alone_and_whole() -> None:
    """Each scenario of each workflow is read by one of them, and none by another."""
    names = bootstrap.pack_names()
    suites = {name: bootstrap.prepare(bootstrap.Sources(workflow=name)) for name in names}
    read = {name: len(suite.loaded.scenarios) for name, suite in suites.items()}
    lines = {
        name: sum(
            len(file.read_text("utf-8").splitlines())
            for file in Path("scenarios", name).rglob("*.jsonl")
        )
        for name in names
    }

    assert read == lines
    assert all(suite.loaded.passed_over == () for suite in suites.values())


def test_a_workflow_without_a_suite_here_is_told_where_to_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The suites that come with arh are not those of another team's workflow."""
    monkeypatch.chdir(tmp_path)
    other = replace(bootstrap.load_pack("support"), name="elsewhere")
    monkeypatch.setattr("arh.bootstrap.suite.load_pack", lambda _name: other)

    with pytest.raises(AuthoringError, match="change to the folder of its pack") as refusal:
        bootstrap.prepare(bootstrap.Sources(workflow="elsewhere"))

    assert "there are no scenarios of elsewhere here" in str(refusal.value)
