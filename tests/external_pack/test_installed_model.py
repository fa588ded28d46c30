"""A model adapter of another distribution, in an environment of its own: found, held, under test.

The environment holds the wheels of arh and of the adapter in `examples/model_adapter`, and nothing
of this tree.
"""

from __future__ import annotations

import pytest

from tests.external_pack.elsewhere import ROOT, Elsewhere, installed

EXAMPLE = ROOT / "examples" / "model_adapter"
LINES_MAX = 40
LIVE = (
    *("--live", "--sanitised", "--price", "1,1", "--max-cost-usd", "1"),
    *("--max-model-calls", "9", "--max-tokens", "99999", "--max-minutes", "1"),
)
KIT = """
from arh.records.models import ModelSettings
from arh.testing.model_kit import Adapter, violations
from arh_parrot_model import make
settings = ModelSettings("parrot", "polly")
print(violations(Adapter(lambda: make(settings), deterministic=True)))
"""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Elsewhere:
    """The environment, and an empty folder to work in."""
    folder = tmp_path_factory.mktemp("adapter")
    empty = folder / "empty"
    empty.mkdir()
    return installed(EXAMPLE, folder, empty)


def test_the_example_is_short() -> None:
    """An adapter is some forty lines, and most of them are words."""
    lines = (EXAMPLE / "arh_parrot_model.py").read_text("utf-8").splitlines()

    assert len([line for line in lines if line.strip()]) <= LINES_MAX


def test_the_adapter_passes_the_kit(elsewhere: Elsewhere) -> None:
    """The kit is a part of the wheel and needs no test runner."""
    done = elsewhere.typed("python", "-c", KIT)

    assert (done.stdout, done.stderr, done.returncode) == ("()\n", "", 0)


def test_the_adapter_is_found_by_its_entry_point(elsewhere: Elsewhere) -> None:
    """It acts through the gateway and is judged as any model is."""
    scenario = "support/golden/billing-incident-001.jsonl:1"
    done = elsewhere.typed("arh", "run", scenario, "--model", "parrot:polly", *LIVE)

    assert done.returncode == 1
    assert "model: calls get_account" in done.stdout
    assert "outcome: fail" in done.stdout
    assert "live model: calls 2 of 9" in done.stdout
    assert "the server says that polly answered" in done.stdout


def test_it_is_a_live_model_like_any_other(elsewhere: Elsewhere) -> None:
    """Nobody's code runs without the user's flags, and a wrong name is helped."""
    scenario = "support/golden/billing-incident-001.jsonl:1"
    bare = elsewhere.typed("arh", "run", scenario, "--model", "parrot:polly")
    wrong = elsewhere.typed("arh", "run", scenario, "--model", "parot:polly", *LIVE)

    assert (bare.returncode, wrong.returncode) == (2, 2)
    assert "a live model needs --live" in bare.stderr
    assert "did you mean `parrot`?" in wrong.stderr
