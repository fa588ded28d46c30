"""Scenarios as tests of pytest, in a session of its own, as its users run it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.slow

SUITE = Path(__file__).resolve().parents[2] / "scenarios" / "support"
GOLDEN = SUITE / "golden" / "billing-incident-001.jsonl"
EXPENSE = SUITE.parent / "expense" / "golden" / "travel-paid-001.jsonl"
NEGATIVE_CONTROL = SUITE / "adversarial" / "credit-denied-claimed-001.jsonl"

Change = Callable[[dict[str, Any]], None]


def unchanged(_scenario: dict[str, Any]) -> None:
    """Leave it as it is."""


@pytest.fixture
def folder(pytester: pytest.Pytester) -> Path:
    """An empty project, which is the working folder."""
    pytester.makeini("[pytest]\n")
    return pytester.path


def put(folder: Path, source: Path, change: Change = unchanged, *, name: str = "") -> None:
    """Put a scenario of the suite there, changed."""
    value = json.loads(source.read_bytes())
    change(value)
    target = folder / value["category"] / (name or source.name)
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("a", encoding="utf-8") as file:
        file.write(json.dumps(value) + "\n")


def renamed(identity: str) -> Change:
    """Give it another id."""
    return lambda scenario: scenario.update(id=identity)


def wanting_two_tickets(scenario: dict[str, Any]) -> None:
    """Demand what the run does not do."""
    outcome = scenario["expectations"]["acceptable_outcomes"][0]["all_of"][0]
    assert outcome["collection"] == "tickets"
    outcome["expected"] = 2


def test_each_line_is_a_test_and_its_id_the_name(pytester: pytest.Pytester, folder: Path) -> None:
    """Two lines are two tests; their node ids are the file and the scenario's id."""
    put(folder / "scenarios", GOLDEN)
    put(folder / "scenarios", GOLDEN, renamed("golden-second-002"))

    result = pytester.runpytest_subprocess("scenarios", "-v")

    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        [
            "scenarios/golden/billing-incident-001.jsonl::golden-billing-incident-001 PASSED*",
            "scenarios/golden/billing-incident-001.jsonl::golden-second-002 PASSED*",
        ]
    )


def test_scenarios_of_several_workflows_run_in_one_session(
    pytester: pytest.Pytester, folder: Path
) -> None:
    """Each is run by the workflow that its folder names; two of them may use one id."""
    put(folder / "scenarios" / "support", GOLDEN)
    put(folder / "scenarios" / "expense", EXPENSE, renamed("golden-billing-incident-001"))

    pytester.runpytest_subprocess("scenarios").assert_outcomes(passed=2)


@pytest.mark.parametrize(
    "selection",
    [
        ["-k", "second"],
        ["scenarios/golden/billing-incident-001.jsonl::golden-second-002"],
        ["-m", "arh", "-k", "golden and second"],
    ],
    ids=["keyword", "node id", "marker"],
)
def test_a_part_can_be_selected(
    pytester: pytest.Pytester, folder: Path, selection: list[str]
) -> None:
    """Keywords, node ids and the marker select as for any other test."""
    put(folder / "scenarios", GOLDEN)
    put(folder / "scenarios", GOLDEN, renamed("golden-second-002"))

    result = pytester.runpytest_subprocess("--strict-markers", *selection)

    assert result.parseoutcomes()["passed"] == 1


def test_a_failure_reads_in_a_few_lines_and_is_replayed(
    pytester: pytest.Pytester, folder: Path
) -> None:
    """Expected and found, the path, the effect with its claim, and a command that replays it."""
    put(folder / "scenarios", GOLDEN, wanting_two_tickets)

    result = pytester.runpytest_subprocess()

    result.assert_outcomes(failed=1)
    result.stdout.re_match_lines_random(
        [
            r"expected .*2.*, found .*1.*\[outcome\.\w+\]",
            r"path: get_account -> check_incident_status -> get_policy -> create_ticket",
            r"create_ticket A-1007: allowed -> committed TK-0001 -> claimed completed TK-0001",
            r"replay: arh run scenarios/golden/billing-incident-001.jsonl:1",
        ]
    )
    assert "Traceback" not in result.stdout.str()
    replay = re.search(r"replay: arh (run .*)", result.stdout.str())
    assert replay is not None
    again = subprocess.run(
        [sys.executable, "-m", "arh", *replay[1].split()], capture_output=True, check=False
    )
    assert again.returncode == 1


def test_a_run_that_cannot_be_judged_fails_with_its_reason(
    pytester: pytest.Pytester, folder: Path
) -> None:
    """Inconclusive is no pass: a script that does not fit the scenario is told as such."""
    never = {"when": {"step": 7}, "then": {"kind": "final_answer", "final_answer": "Done."}}
    script = {"config_id": "scripted:golden-001", "rules": [never]}
    scripts = folder / "fixtures" / "support" / "model_scripts"
    scripts.mkdir(parents=True)
    (scripts / "golden.json").write_text(json.dumps(script), "utf-8")
    put(folder / "scenarios", GOLDEN)

    result = pytester.runpytest_subprocess()

    result.assert_outcomes(failed=1)
    result.stdout.re_match_lines_random([r"could not be judged: fixture_mismatch: .*"])


def test_a_negative_control_passes_by_failing_as_it_says(
    pytester: pytest.Pytester, folder: Path
) -> None:
    """The liar's scenario is a test that passes; one that fails by another rule does not."""

    def otherwise(scenario: dict[str, Any]) -> None:
        scenario["id"] = "adversarial-otherwise-002"
        scenario["expectations"]["expected_findings"] = [
            {"rule": "trajectory.watchdog", "why": "it never happens here"}
        ]

    put(folder / "scenarios", NEGATIVE_CONTROL)
    put(folder / "scenarios", NEGATIVE_CONTROL, otherwise)

    result = pytester.runpytest_subprocess()

    result.assert_outcomes(passed=1, failed=1)
    result.stdout.re_match_lines_random([r"negative_control: .*trajectory.watchdog.*"])


def test_a_mistake_in_a_file_is_an_error_of_its_collection(
    pytester: pytest.Pytester, folder: Path
) -> None:
    """All mistakes of the file are listed with file, line and field; other files still run."""

    def wrong(scenario: dict[str, Any]) -> None:
        scenario["id"] = "golden-second-002"
        scenario["ownr"] = scenario.pop("owner")

    put(folder / "scenarios", GOLDEN)
    put(folder / "scenarios", GOLDEN, wrong, name="wrong.jsonl")
    put(folder / "scenarios", GOLDEN, renamed("golden-billing-incident-001"), name="wrong.jsonl")

    result = pytester.runpytest_subprocess("--continue-on-collection-errors")

    result.assert_outcomes(passed=1, errors=1)
    result.stdout.re_match_lines_random(
        [
            r"scenarios/golden/wrong\.jsonl:1: `owner`: .*",
            r"scenarios/golden/wrong\.jsonl:1: `ownr`: .*",
        ]
    )


def test_an_id_occurs_once_in_all_files(pytester: pytest.Pytester, folder: Path) -> None:
    """Two files with one id would be two tests of one name: the second one is refused."""
    put(folder / "scenarios", GOLDEN, name="first.jsonl")
    put(folder / "scenarios", GOLDEN, name="second.jsonl")

    result = pytester.runpytest_subprocess("--continue-on-collection-errors")

    result.assert_outcomes(passed=1, errors=1)
    result.stdout.re_match_lines_random(
        [r"scenarios/golden/second\.jsonl:1: `id`: .*scenarios/golden/first\.jsonl:1.*"]
    )


def test_only_files_where_scenarios_are_kept_are_looked_at(
    pytester: pytest.Pytester, folder: Path
) -> None:
    """Other JSON lines of a project are none of our business, whatever is in them."""
    put(folder / "elsewhere", GOLDEN)
    (folder / "data.jsonl").write_text("{", "utf-8")
    (folder / "scenarios").mkdir()
    (folder / "scenarios" / "loose.jsonl").write_text("{", "utf-8")
    put(folder / "evals", GOLDEN)

    nothing = pytester.runpytest_subprocess()
    named = pytester.runpytest_subprocess("-o", "arh_scenarios=evals scenarios")

    nothing.assert_outcomes()
    named.assert_outcomes(passed=1)


def test_it_works_with_several_processes(pytester: pytest.Pytester, folder: Path) -> None:
    """pytest-xdist distributes scenarios like any other test."""
    put(folder / "scenarios", GOLDEN)
    put(folder / "scenarios", GOLDEN, renamed("golden-second-002"))
    put(folder / "scenarios", GOLDEN, wanting_two_tickets, name="third.jsonl")
    path = folder / "scenarios" / "golden" / "third.jsonl"
    path.write_text(path.read_text("utf-8").replace("golden-billing-incident-001", "golden-3"))

    result = pytester.runpytest_subprocess("-n", "2")

    result.assert_outcomes(passed=2, failed=1)


def test_another_agent_can_be_under_test(pytester: pytest.Pytester, folder: Path) -> None:
    """An agent that only says that it is done fails."""
    cheat = Path(__file__).resolve().parents[2] / "examples" / "agents" / "cheating_agent.py"
    put(folder / "scenarios", GOLDEN)

    result = pytester.runpytest_subprocess("-o", f"arh_agent={sys.executable} {cheat}")

    result.assert_outcomes(failed=1)


def test_an_agent_whose_library_asks_can_be_under_test(
    pytester: pytest.Pytester, folder: Path
) -> None:
    """With the ini option the run's model is where the agent's library looks."""
    agent = Path(__file__).resolve().parents[2] / "examples" / "agents" / "endpoint_agent.py"
    put(folder / "scenarios", GOLDEN)

    result = pytester.runpytest_subprocess(
        "-o", f"arh_agent={sys.executable} {agent}", "-o", "arh_model_endpoint=true"
    )

    result.assert_outcomes(passed=1)


def test_it_costs_other_projects_next_to_nothing(pytester: pytest.Pytester, folder: Path) -> None:
    """A run without scenarios imports of arh the plugin alone, whatever it collects."""
    (folder / "data.jsonl").write_text("{}", "utf-8")
    pytester.makepyfile(
        """
        import sys

        def test_imports():
            ours = {name for name in sys.modules if name.partition(".")[0] == "arh"}
            assert ours == {"arh", "arh.pytest_plugin"}
        """
    )

    result = pytester.runpytest_subprocess()

    result.assert_outcomes(passed=1)
