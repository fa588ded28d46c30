"""A workflow pack of another distribution, in an environment of its own: found, listed, gated.

The environment holds the wheel of arh and the wheel of a pack that `arh new workflow` wrote, and
nothing of this tree. A second pack in it is broken in a way that only loading shows.
"""

from __future__ import annotations

import json
import shutil

import pytest

from arh.scaffold.workflow import write_workflow
from tests.external_pack.elsewhere import Elsewhere, installed

TODAY = "2026-11-01"
BREAKS = "raise ZeroDivisionError\n"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Elsewhere:
    """The environment, and the pack's folder without the code that is installed."""
    folder = tmp_path_factory.mktemp("external")
    pack, _ = write_workflow("supplies", folder, today=TODAY)
    made = installed(pack, folder, pack)
    shutil.rmtree(pack / "src")
    return made


def test_it_is_listed_with_where_it_comes_from(elsewhere: Elsewhere) -> None:
    """Beside the packs that come with arh."""
    done = elsewhere.typed("arh", "packs")

    assert (done.returncode, done.stderr) == (0, "")
    lines = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    assert {"supplies", "support"} <= set(lines)
    assert lines["supplies"].endswith("supplies-workflow 1.0)")


def test_it_conforms_and_passes_the_gate(elsewhere: Elsewhere) -> None:
    """With its own scenarios, datasets and scripts, which lie in the working folder."""
    checked = elsewhere.typed("arh", "check-pack", "supplies")
    gated = elsewhere.typed("arh", "gate", "--workflow", "supplies")

    scorecard = json.loads((elsewhere.folder / "reports/latest/scorecard.json").read_bytes())
    assert (checked.returncode, checked.stderr) == (0, ""), checked.stdout
    assert (gated.returncode, gated.stderr) == (0, ""), gated.stdout
    assert scorecard["about"]["workflow"] == "supplies@1.0"
    assert (scorecard["decision"], scorecard["about"]["root"]) == ("pass", "working")


def test_its_tests_and_scenarios_run_under_pytest(elsewhere: Elsewhere) -> None:
    """The kit, the handlers' tests, and each scenario as a test."""
    done = elsewhere.typed("python", "-m", "pytest", "-q", "-p", "no:cacheprovider")

    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert "36 passed" in done.stdout


def test_each_control_of_it_is_missed_by_a_scenario(elsewhere: Elsewhere) -> None:
    """The kill matrix of a pack as it is written has no survivor."""
    done = elsewhere.typed("arh", "selftest", "--against", "supplies", "--json-out", "kills.json")

    matrix = json.loads((elsewhere.folder / "kills.json").read_bytes())
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert {row["status"] for row in matrix["rows"]} == {"killed", "not applicable"}


def test_what_depends_on_the_order_of_a_set_is_found(elsewhere: Elsewhere) -> None:
    """It is the same in every run of one process, so it takes another process to see it."""
    tools = elsewhere.site / "supplies_workflow" / "tools.py"
    sound = tools.read_text("utf-8")
    row = 'return {name: row[name] for name in ("item_id", "name", "price", "status")}'
    assert row in sound
    tools.write_text(sound.replace(row, f"{row} | {{'name': ' '.join(set('abcdefgh'))}}"), "utf-8")

    done = elsewhere.typed("arh", "check-pack", "supplies")
    tools.write_text(sound, "utf-8")

    assert (done.returncode, done.stderr) == (1, "")
    assert "FAIL  world-repeats" in done.stdout
    assert "another process makes another run of it" in done.stdout
    assert done.stdout.count("FAIL") == 1


def test_a_broken_pack_is_named_and_hides_no_other(elsewhere: Elsewhere) -> None:
    """It is an error wherever it is asked for, and the others are listed all the same."""
    elsewhere.site.joinpath("broken_workflow.py").write_text(BREAKS, "utf-8")
    described = elsewhere.site / "broken_workflow-2.0.dist-info"
    described.mkdir()
    described.joinpath("METADATA").write_text(
        "Metadata-Version: 2.1\nName: broken-workflow\nVersion: 2.0\n", "utf-8"
    )
    described.joinpath("entry_points.txt").write_text(
        "[arh.workflows]\nbroken = broken_workflow:pack\n", "utf-8"
    )

    listed = elsewhere.typed("arh", "packs")
    gated = elsewhere.typed("arh", "gate", "--workflow", "broken")
    other = elsewhere.typed("arh", "check-pack", "supplies")

    named = "workflow pack broken (broken-workflow 2.0) does not load: ZeroDivisionError"
    assert (listed.returncode, gated.returncode, other.returncode) == (2, 2, 0)
    assert "broken BROKEN (broken-workflow 2.0)" in listed.stdout
    assert "supplies 1.0: " in listed.stdout
    assert named in listed.stderr
    assert named in gated.stderr
    assert 'python -c "import broken_workflow; broken_workflow.pack()" shows why' in gated.stderr
