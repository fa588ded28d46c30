"""Whatever stands in a file, loading it returns a suite or an authoring error, and nothing else."""

from __future__ import annotations

import copy
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arh.errors import AuthoringError
from arh.harness.authoring.datasets import DatasetCatalogue
from arh.harness.authoring.plan import plan_runs
from arh.harness.authoring.scenario_loader import load_scenarios
from arh.harness.authoring.setup import to_fault_plans, to_setup
from arh.records.control.scenario import DatasetRef
from tests.unit.harness.authored import BASE, ITEMS, PACK, RULES, SCRIPTS, catalogue, write

PUBLISHED = Path(__file__).resolve().parents[1] / "data" / "published" / "caught.json"
OLD: dict[str, Any] = json.loads(PUBLISHED.read_text("utf-8"))
RICH: dict[str, Any] = {
    **BASE,
    "expectations": {
        **BASE["expectations"],
        "invariants": [
            {"kind": "total", "collection": "orders", "field": "quantity", "maximum": 3}
        ],
        "response": {"deterministic": {"must_reference": "S-1", "json_schema": {"type": "string"}}},
        "guardrails": {"action_constraints": [{"tool": "refund_order", "why": "no refunds"}]},
        "expected_findings": [{"rule": "trajectory.forbidden_requested", "why": "by design"}],
    },
    "controls": {
        **BASE["controls"],
        "faults": [{"target_type": "model", "phase": "not_dispatched", "effect": "timeout"}],
    },
}
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-3, 10**9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20)
    | st.sampled_from(["read_item", "orders", "count", "(?=", "completed", "3.0", "2.0"])
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)


def places(value: Any, path: tuple[int | str, ...] = ()) -> list[tuple[int | str, ...]]:  # noqa: ANN401 - JSON
    """Every place in a JSON value, the whole left out."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    found: list[tuple[int | str, ...]] = []
    for key, inner in items:
        found.append((*path, key))
        if isinstance(inner, dict | list):
            found += places(inner, (*path, key))
    return found


@st.composite
def broken(draw: st.DrawFn, base: dict[str, Any]) -> dict[str, Any]:
    """A scenario with up to three values replaced, taken away or added."""
    value = copy.deepcopy(base)
    for _ in range(draw(st.integers(1, 3))):
        *parents, last = draw(st.sampled_from(places(value)))
        at: Any = value
        for step in parents:
            at = at[step]
        change = draw(st.sampled_from(["replace", "remove", "add"]))
        if change == "add" and isinstance(at, dict):
            at[draw(st.text(max_size=8))] = draw(VALUES)
        elif change == "remove":
            del at[last]
        else:
            at[last] = draw(VALUES)
        if not value:
            break
    return value


@pytest.mark.parametrize("base", [RICH, OLD], ids=["3.0", "2.0"])
def test_a_broken_scenario_is_an_authoring_error_or_a_suite(base: dict[str, Any]) -> None:
    """No mutation of a line raises anything else; what loads can be planned and composed."""

    @given(broken(base))
    def holds(value: dict[str, Any]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            data = catalogue(Path(folder, "datasets"))
            file = write(Path(folder), "a.jsonl", [json.dumps(value)])
            try:
                suite = load_scenarios(
                    file, pack=PACK, scripts=SCRIPTS, catalogue=data, rules=RULES
                )
                plan = plan_runs(suite.scenarios, seed=1)
            except AuthoringError:
                return
            setup = to_setup(plan.runs[0], PACK, data)

            assert setup.run_id == plan.runs[0].run_id
            assert len(to_fault_plans(suite.scenarios[0].scenario)) < 10

    holds()


def test_the_scenario_that_is_broken_was_right(tmp_path: Path) -> None:
    """What the mutations start from loads, so that they reach every rule."""
    file = write(tmp_path, "a.jsonl", [RICH])
    data = catalogue(tmp_path / "datasets")

    load_scenarios(file, pack=PACK, scripts=SCRIPTS, catalogue=data, rules=RULES)


@given(st.binary(max_size=200) | st.lists(st.binary(max_size=20)).map(b"\n".join))
def test_any_bytes_are_an_authoring_error(data: bytes) -> None:
    """Neither scenarios nor data sets are ever read out of noise."""
    with tempfile.TemporaryDirectory() as folder:
        file = write(Path(folder), "a.jsonl", [data])
        known = catalogue(Path(folder, "datasets"))
        with pytest.raises(AuthoringError):
            load_scenarios(file, pack=PACK, scripts=SCRIPTS, catalogue=known, rules=RULES)


@given(st.integers(0, len(ITEMS) - 1), st.binary(max_size=4))
def test_damaged_data_is_an_authoring_error_or_other_data(at: int, patch: bytes) -> None:
    """A file with some bytes replaced is refused or has another digest."""
    damaged = ITEMS[:at] + patch + ITEMS[at + len(patch) :]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        whole = catalogue(root / "whole").load_verified(DatasetRef(collection="items"))
        (root / "shop").mkdir()
        (root / "shop" / "items.jsonl").write_bytes(damaged)
        found = DatasetCatalogue(root, PACK).load("items")

        assert isinstance(found, tuple) or (found.digest == whole.digest) == (damaged == ITEMS)
