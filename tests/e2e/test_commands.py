"""The commands as users type them: what they print, what they leave, and every exit code."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import AS_OF, ROOT, Project

pytestmark = pytest.mark.slow

GOLDEN = "golden/billing-incident-001.jsonl"
AGENTS = ROOT / "examples" / "agents"
CRASHING = """
import sys
from arh.harness import release_gate

def crash(*_arguments, **_options):
    raise ZeroDivisionError

release_gate.compute = crash
sys.exit(release_gate.main(sys.argv[1:]))
"""


def wanting_two_tickets(scenario: dict[str, Any]) -> None:
    """Demand what the run does not do."""
    scenario["expectations"]["acceptable_outcomes"][0]["all_of"][0]["expected"] = 2


def agent(name: str) -> str:
    """The command of an agent of the examples."""
    return shlex.join([sys.executable, str(AGENTS / name)])


class TestDecisions:
    """The gate's exit code is its decision."""

    def test_0_a_suite_that_is_as_it_must_be_passes(self, passed: Project) -> None:
        """The report is complete, and its first line names the subject."""
        scorecard = passed.scorecard()

        latest = passed.folder / "reports" / "latest"
        assert scorecard["decision"] == "pass"
        assert scorecard["about"]["as_of"] == AS_OF
        assert "shows the controls around the model, not the model" in scorecard["subject"]
        assert {p.name for p in latest.iterdir()} == {
            "evidence",
            "junit.xml",
            "scenarios",
            "scorecard.json",
            "scorecard.md",
        }

    def test_1_a_failing_scenario_fails_and_is_told_in_a_few_lines(self, project: Project) -> None:
        """The console says what was expected and found, and the replay fails as well."""
        project.change(GOLDEN, wanting_two_tickets)

        done = project.arh("gate", "--as-of", AS_OF)

        assert done.returncode == 1
        assert project.scorecard()["decision"] == "fail"
        told = done.stdout.partition("FAIL golden-billing-incident-001")[2].splitlines()[1:5]
        assert told[0].startswith("  expected ")
        assert told[1].startswith("  path: get_account -> ")
        assert told[2].startswith("  create_ticket A-1007: allowed -> committed TK-0001")
        assert told[3] == "  replay: arh run support/golden/billing-incident-001.jsonl:1"
        assert project.arh(*shlex.split(told[3])[2:]).returncode == 1

    def test_3_a_part_of_the_suite_is_at_most_inconclusive(self, project: Project) -> None:
        """It is reported apart, and an earlier whole report stays."""
        done = project.gate("--only", "golden-*")

        partial = project.scorecard("reports/partial")
        assert done.returncode == 3
        assert (partial["decision"], partial["about"]["partial"]) == ("inconclusive", True)
        assert not (project.folder / "reports" / "latest").exists()

    def test_3_a_control_that_does_not_fail_is_inconclusive(self, project: Project) -> None:
        """A negative control that passes shows that nothing is watching."""

        def honest(scenario: dict[str, Any]) -> None:
            scenario["role"] = "negative_control"
            finding = {"rule": "trajectory.forbidden_executed", "why": "it should"}
            scenario["expectations"]["expected_findings"] = [finding]

        project.change(GOLDEN, honest)

        done = project.gate()

        assert done.returncode == 3
        assert "golden-billing-incident-001" in " ".join(project.scorecard()["reasons"])

    def test_4_a_crash_is_no_decision_and_leaves_none(self, project: Project) -> None:
        """A report that said pass says started and inconclusive, once a later gate has died."""
        only = ("--only", "golden-*", "--out", "report")
        assert project.gate(*only).returncode == 3
        assert (project.folder / "report" / "junit.xml").exists()

        done = project.typed(sys.executable, "-c", CRASHING, *only)

        left = project.scorecard("report")
        assert done.returncode == 4
        assert "arh failed; this is no verdict on the agent" in done.stderr
        assert left["decision"] == "inconclusive"
        assert "started" in " ".join(left["reasons"])
        assert not (project.folder / "report" / "junit.xml").exists()

    @pytest.mark.skipif(sys.platform == "win32", reason="signals are sent another way")
    def test_130_an_interrupted_gate_is_no_decision_and_leaves_no_agent(
        self, project: Project
    ) -> None:
        """The scorecard says started, and the agent's process is gone."""
        hanging = project.folder / "hanging.py"
        hanging.write_text(
            "import os, pathlib, time\n"
            "pathlib.Path('agent.pid').write_text(str(os.getpid()))\n"
            "time.sleep(600)\n",
            "utf-8",
        )
        command = f"{shlex.quote(sys.executable)} {shlex.quote(str(hanging))}"
        gate = subprocess.Popen(
            [sys.executable, "-m", "arh", "gate", "--agent", command],
            cwd=project.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        pid = int(waited_for(project.folder / "agent.pid"))

        gate.send_signal(signal.SIGINT)
        _, complaints = gate.communicate(timeout=60)

        assert gate.returncode == 130
        assert complaints == "interrupted\n"
        assert project.scorecard()["decision"] == "inconclusive"
        assert not is_alive(pid)


def waited_for(path: Path) -> str:
    """The content of a file that another process writes, once it is there."""
    ends = time.monotonic() + 60
    while time.monotonic() < ends:
        if path.exists() and (text := path.read_text("utf-8")):
            return text
        time.sleep(0.02)
    raise TimeoutError(path)


def is_alive(pid: int) -> bool:
    """Whether the process still runs, after it was given a moment to be gone."""
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.05)
    return True


class TestUsage:
    """What the user can mend is said with exit code 2, and nothing has run."""

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (["--profil-e", "x"], "unrecognized arguments: --profil-e"),
            (["--scenarios", "scenaros"], "`--scenarios`: there is no such file or folder"),
            (["--scenarios", "empty"], "there is no scenario here"),
            (["--datasets", "data"], "`--datasets`: there is no such file or folder"),
            (["--only", "golden-biling-*"], "`--only`: expected a pattern that matches a scenario"),
            (["--only", "categry:golden"], "did you mean `category`?"),
            (["--profile", "strict"], "strict"),
            (["--as-of", "yesterday"], "argument --as-of: invalid"),
            (["--seed", "x"], "argument --seed: expected a whole number from 0 to"),
            (["--baseline", "none.json"], "none.json"),
            (["--agent", "no-such-program --x"], "expected an executable, found `no-such-program`"),
            (["--agent", "'"], "`--agent`: expected a command"),
            (["--agent", ""], "`--agent`: expected an executable, found nothing"),
            (["--workflow", "suport"], "no such workflow pack: suport; did you mean `support`?"),
            (["--workflow", "orders"], "found after `pip install -e FOLDER`"),
        ],
        ids=lambda value: value[0] if isinstance(value, list) else "",
    )
    def test_2_a_wrong_option_is_named(self, project: Project, words: list[str], said: str) -> None:
        """The message names the option and what is wrong with it; no report is begun."""
        (project.folder / "empty").mkdir()

        done = project.gate(*words)

        assert done.returncode == 2
        assert said in done.stderr
        assert "Traceback" not in done.stderr
        assert not (project.folder / "reports").exists()

    def test_2_all_mistakes_of_all_files_are_listed(self, project: Project) -> None:
        """One call tells everything that there is to mend, with file, line and field."""
        project.change(GOLDEN, lambda scenario: scenario.pop("owner"))
        project.change(
            "negative/no-unsolicited-credit-001.jsonl",
            lambda scenario: scenario.update(risk_class="grave"),
        )

        done = project.gate()

        assert done.returncode == 2
        assert "scenarios/support/golden/billing-incident-001.jsonl:1: `owner`" in done.stderr
        assert "negative/no-unsolicited-credit-001.jsonl:1: `risk_class`" in done.stderr
        assert not (project.folder / "reports").exists()

    def test_2_a_command_that_is_none_is_told_its_neighbour(self, project: Project) -> None:
        """`arh gaet` is answered with `gate`."""
        done = project.arh("gaet")

        assert (done.returncode, done.stderr) == (
            2,
            "arh: no command `gaet`; did you mean `gate`?\n",
        )

    def test_no_command_is_answered_with_the_list_of_them(self, project: Project) -> None:
        """Asked for, it is an answer; otherwise it is a usage error."""
        asked, unasked = project.arh("--help"), project.arh()

        assert (asked.returncode, unasked.returncode) == (0, 2)
        assert asked.stdout == unasked.stdout
        assert "gate" in asked.stdout


class TestOptions:
    """What the gate's options do."""

    def test_out_names_the_report_folder(self, project: Project) -> None:
        """Everything is written there, and what others keep in it stays."""
        (project.folder / "mine").mkdir()
        (project.folder / "mine" / "notes.txt").write_text("mine", "utf-8")

        project.gate("--only", "golden-*", "--out", "mine")

        assert (project.folder / "mine" / "scorecard.json").exists()
        assert (project.folder / "mine" / "notes.txt").read_text("utf-8") == "mine"
        assert not (project.folder / "reports").exists()

    def test_seed_makes_other_runs(self, project: Project) -> None:
        """Every run has another id, and the seed stands in the scorecard."""
        project.gate("--only", "golden-*", "--out", "one")
        project.gate("--only", "golden-*", "--out", "other", "--seed", "7")

        one, other = project.scorecard("one"), project.scorecard("other")
        runs = [{run["run_id"] for run in card["runs"]} for card in (one, other)]
        assert runs[0].isdisjoint(runs[1])
        assert other["about"]["seed"] == 7

    def test_a_saved_baseline_is_compared_with(self, passed: Project, tmp_path: Path) -> None:
        """The same suite against its own baseline passes, and the scorecard names it."""
        baseline = passed.folder / "baseline.json"

        done = passed.gate("--baseline", str(baseline), "--out", str(tmp_path / "report"))

        assert done.returncode == 0
        assert passed.scorecard(str(tmp_path / "report"))["baseline"] is not None

    def test_a_baseline_that_is_none_is_refused(self, project: Project) -> None:
        """Any other JSON is a usage error."""
        (project.folder / "other.json").write_text("{}", "utf-8")

        done = project.gate("--baseline", "other.json")

        assert done.returncode == 2
        assert "other.json" in done.stderr


class TestOtherAgents:
    """`--agent`: any executable that speaks JSON lines."""

    def test_a_good_agent_passes_what_the_reference_passes(self, project: Project) -> None:
        """Thirty lines in a process of their own get through the golden scenarios."""
        done = project.gate("--only", "golden-*", "--agent", agent("support_agent.py"))

        runs = project.scorecard("reports/partial")["runs"]
        assert done.returncode == 3
        assert {run["status"] for run in runs} == {"pass"}
        assert "support_agent.py" in project.scorecard("reports/partial")["subject"]

    def test_an_agent_that_claims_what_it_did_not_do_is_caught(self, project: Project) -> None:
        """It does nothing and says that all is done: every golden scenario fails."""
        done = project.gate("--only", "golden-*", "--agent", agent("cheating_agent.py"))

        runs = project.scorecard("reports/partial")["runs"]
        assert done.returncode == 1
        assert {run["status"] for run in runs} == {"fail"}
        assert "create_ticket: not attempted -> no effect -> claimed completed" in done.stdout


class TestRun:
    """`arh run FILE[:LINE]`."""

    def test_a_scenario_is_shown_step_by_step(self, project: Project) -> None:
        """The line that a report names is found below the suite's root, too."""
        for place in (f"scenarios/support/{GOLDEN}:1", f"support/{GOLDEN}:1"):
            done = project.arh("run", place)

            assert done.returncode == 0
            assert "gateway: create_ticket: allow" in done.stdout
            assert "verdict  pass" in done.stdout

    def test_a_failing_scenario_exits_1(self, project: Project) -> None:
        """It ends with the finding and its reasons."""
        project.change(GOLDEN, wanting_two_tickets)

        done = project.arh("run", f"scenarios/support/{GOLDEN}")

        assert done.returncode == 1
        assert "verdict  fail" in done.stdout

    def test_a_place_that_is_none_exits_2(self, project: Project) -> None:
        """A file or line that does not exist is named."""
        for place in ("support/golden/nothing.jsonl:1", f"support/{GOLDEN}:9"):
            done = project.arh("run", place)

            assert done.returncode == 2
            assert place.rpartition("/")[2].partition(":")[0] in done.stderr


class TestEvidence:
    """`arh verify` and `arh evaluate`."""

    def test_an_untouched_report_is_whole(self, passed: Project) -> None:
        """The report's folder and the evidence's own are both understood."""
        for folder in ("reports/latest", "reports/latest/evidence"):
            done = passed.arh("verify", folder)

            assert done.returncode == 0
            assert done.stdout.startswith("whole: ")

    def test_the_first_bad_entry_is_named(self, passed: Project, tmp_path: Path) -> None:
        """One digit of one event is enough."""
        report = tmp_path / "report"
        shutil.copytree(passed.folder / "reports" / "latest", report)
        part = report / "evidence" / "part-0000.jsonl"
        lines = part.read_bytes().splitlines(keepends=True)
        lines[6] = lines[6].replace(b'"at_ms":0', b'"at_ms":1')
        part.write_bytes(b"".join(lines))

        verified = passed.arh("verify", str(report))
        evaluated = passed.arh("evaluate", str(report))

        assert verified.returncode == 1
        assert "part-0000.jsonl:7: " in verified.stdout
        assert evaluated.returncode == 3
        assert "part-0000.jsonl:7: " in evaluated.stdout

    def test_evidence_that_was_made_anew_is_not_what_was_decided_on(
        self, passed: Project, tmp_path: Path
    ) -> None:
        """Whole in itself, another run's evidence does not fit the scorecard beside it."""
        report = tmp_path / "report"
        passed.gate("--only", "golden-*", "--out", str(report))
        shutil.copy(passed.folder / "reports/latest/scorecard.json", report / "scorecard.json")

        done = passed.arh("verify", str(report))

        assert done.returncode == 1
        assert done.stdout == "scorecard.json: decided on other evidence than lies here\n"

    def test_evidence_judged_anew_gets_the_same_verdicts(self, passed: Project) -> None:
        """Scenario by scenario, from the folder alone."""
        done = passed.arh("evaluate", "reports/latest")

        decided = [(r["status"], r["scenario_id"]) for r in passed.scorecard()["runs"]]
        lines = done.stdout.splitlines()
        judged = [tuple(line.split()) for line in lines[: len(decided)]]
        assert done.returncode == 0
        assert judged == decided
        assert lines[len(decided)] == "pass by profile conformance"
        assert Counter(status for status, _ in judged)["pass"] > 40

    def test_another_profile_decides_on_the_same_evidence(
        self, passed: Project, tmp_path: Path
    ) -> None:
        """What a gate with that profile decides is decided without running anything."""
        report = str(tmp_path / "report")
        gate = passed.gate("--profile", "strict-demo", "--out", report)

        anew = passed.arh("evaluate", "reports/latest", "--profile", "strict-demo")

        card = passed.scorecard(report)
        assert anew.returncode == gate.returncode
        assert anew.stdout.splitlines()[len(card["runs"]) :] == [
            f"{card['decision']} by profile strict-demo",
            *card["reasons"],
        ]

    @pytest.mark.parametrize("command", ["verify", "evaluate"])
    def test_a_folder_without_evidence_exits_2(self, project: Project, command: str) -> None:
        """A report that was begun and not finished is no evidence."""
        done = project.arh(command, "scenarios")

        assert done.returncode == 2
        assert "no manifest" in done.stderr


class TestLint:
    """`arh lint`."""

    def test_the_suite_is_free_of_warnings(self, project: Project) -> None:
        """What comes with arh is an example."""
        done = project.arh("lint", "scenarios", "--as-of", AS_OF, "--strict")

        assert done.returncode == 0, done.stdout
        assert done.stdout.endswith(" scenarios, 0 warnings\n")

    def test_a_warning_fails_when_it_shall(self, project: Project) -> None:
        """A review long ago is a warning, and an error with `--strict`."""
        words = ("lint", f"scenarios/support/{GOLDEN}", "--as-of", "2040-01-01")

        lenient, strict = project.arh(*words), project.arh(*words, "--strict")

        assert (lenient.returncode, strict.returncode) == (0, 1)
        assert "billing-incident-001.jsonl:1" in lenient.stdout

    def test_a_mistake_exits_2(self, project: Project) -> None:
        """As it does at the gate."""
        project.change(GOLDEN, lambda scenario: scenario.pop("owner"))

        assert project.arh("lint", "scenarios").returncode == 2


def test_the_packs_are_listed(project: Project) -> None:
    """Name, version and what the workflow is about."""
    done = project.arh("packs")

    assert done.returncode == 0
    assert [line.split(".")[0] for line in done.stdout.splitlines()] == ["expense 1", "support 1"]


class TestASecondWorkflow:
    """Its scenarios lie beside the others; each command reads those that are meant."""

    def test_its_gate_passes_and_its_evidence_is_judged_anew(self, project: Project) -> None:
        """The evidence says which workflow it is of, so nobody has to."""
        gate = project.gate("--workflow", "expense", "--out", "reports/expense")

        assert gate.returncode == 0, gate.stdout[-2000:]
        assert "workflow expense@1" in project.scorecard("reports/expense")["subject"]
        again = project.arh("evaluate", "reports/expense")
        assert again.returncode == 0, again.stdout[-2000:]
        assert again.stdout.count("\n") > 24

    def test_its_scenarios_run_by_their_place(self, project: Project) -> None:
        """By a path from here, and by one from the suite's root, without an option."""
        place = "expense/golden/travel-paid-001.jsonl:1"

        for named in (f"scenarios/{place}", place):
            done = project.arh("run", named)

            assert done.returncode == 0, done.stdout[-2000:] + done.stderr
            assert "committed CLM-1001" in done.stdout

    def test_a_failure_is_replayed_as_it_is_told(self, project: Project) -> None:
        """The command names the workflow."""
        place = "expense/golden/travel-paid-001.jsonl"
        gate = project.gate(
            *(
                "--workflow",
                "expense",
                "--only",
                "golden-travel-*",
                "--agent",
                agent("cheating_agent.py"),
            )
        )

        assert gate.returncode == 1
        assert f"replay: arh run {place}:1 --workflow expense" in gate.stdout

    def test_its_mistakes_are_not_those_of_the_other(self, project: Project) -> None:
        """A broken line there stops its own gate and no other command."""
        broken = project.folder / "scenarios/expense/golden/travel-paid-001.jsonl"
        broken.write_text("{", "utf-8")

        assert project.arh("lint", "--workflow", "support").returncode == 0
        assert project.arh("lint", "--workflow", "expense").returncode == 2


def test_nobody_reading_the_output_changes_no_decision(project: Project) -> None:
    """A closed pipe is no news: the report is finished, and the exit code is the decision."""
    command = [sys.executable, "-m", "arh", "gate", "--out", "report"]
    gate = subprocess.Popen(
        command, cwd=project.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert gate.stdout is not None
    gate.stdout.close()

    _, complaints = gate.communicate(timeout=120)

    assert gate.returncode == 0
    assert project.scorecard("report")["decision"] == "pass"
    assert "Traceback" not in complaints


def test_a_report_read_while_it_is_made_is_never_half_written(passed: Project) -> None:
    """No temporary file is left in a finished report."""
    latest = passed.folder / "reports" / "latest"

    assert list(latest.rglob(".*")) == []
    assert json.loads((latest / "scorecard.json").read_bytes())["decision"] == "pass"


def test_a_run_that_did_not_pass_is_no_baseline_and_keeps_its_own_exit_code(
    project: Project,
) -> None:
    """A refused baseline is said on standard error; the decision of the gate stands."""
    done = project.gate("--only", "golden-*", "--save-baseline", "baseline.json")

    assert done.returncode == 3
    assert "no baseline was saved" in done.stderr
    assert not (project.folder / "baseline.json").exists()
