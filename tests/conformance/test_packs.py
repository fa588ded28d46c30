"""The conformance kit of workflow packs: it passes what is right, and each check fails a defect."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from arh import bootstrap
from arh.canonical import JsonValue
from arh.ports.sue import CallContext, Tx
from arh.records.execution import Tool
from arh.records.packs import ClaimPattern, WorkflowPack
from arh.records.tools import Refused
from arh.testing import pack_bench
from arh.testing.pack_bench import PackBench
from arh.testing.pack_kit import CHECKS, ELSEWHERE, LEFT_OUT, check_pack
from tests.unit.scaffold.written import Written, written

ROOT = Path(__file__).resolve().parents[2]
BY_NAME = {check.name: check for check in CHECKS}
SHIPPED = [n for n in bootstrap.pack_names() if (ROOT / "scenarios" / n).is_dir()]
Arguments = dict[str, JsonValue]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Written]:
    """A pack as `arh new workflow` writes it."""
    with written(tmp_path_factory.mktemp("packs")) as pack:
        yield pack


@pytest.fixture
def own(original: Written, tmp_path: Path) -> Written:
    """A copy of it whose files a test may change."""
    root = tmp_path / "pack"
    shutil.copytree(original.root, root)
    return replace(original, root=root)


@pytest.fixture(scope="module")
def sound(original: Written) -> dict[str, tuple[str, ...]]:
    """What the kit finds in the pack as it was written."""
    return {checked.name: checked.problems for checked in check_pack(original.bench())}


def test_the_written_pack_conforms(sound: dict[str, tuple[str, ...]]) -> None:
    """Every check holds, and each of them is the twin of a defect below."""
    assert sound == dict.fromkeys(BY_NAME, ())
    assert {defect.check for defect in DEFECTS} == set(BY_NAME)


@pytest.mark.slow
@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_pack_conforms(name: str) -> None:
    """The packs that come with arh are held to what others are held to."""
    problems = [
        problem for c in check_pack(PackBench.of(name, root=ROOT)) for problem in c.problems
    ]

    assert problems == []


# --- defects -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Defect:
    """A pack that is wrong in one way: `plant` changes its files, or returns another pack."""

    check: str
    what: str
    plant: Callable[[Written], WorkflowPack | None]
    says: str


def order_nothing(_arguments: Arguments, _tx: Tx, call: CallContext) -> JsonValue | Refused:
    """Say that an order was placed, and place none."""
    return {"order_id": call.new_id("O")}


def under_another_key(arguments: Arguments, tx: Tx, call: CallContext) -> JsonValue | Refused:
    """Store the order under the item's id."""
    order_id = call.new_id("O")
    kept = {name: arguments[name] for name in ("item_id", "amount", "deliver_to")}
    tx.put("orders", f"{order_id}-x", {**kept, "order_id": order_id, "status": "placed"})
    return {"order_id": order_id}


def undeclared(arguments: Arguments, tx: Tx, call: CallContext) -> JsonValue | Refused:
    """Store a field that the collection does not declare."""
    order_id = call.new_id("O")
    kept = {name: arguments[name] for name in ("item_id", "amount", "deliver_to")}
    row = {**kept, "order_id": order_id, "status": "placed", "colour": "red"}
    tx.put("orders", order_id, row)
    return {"order_id": order_id}


def careless(arguments: Arguments, tx: Tx, _call: CallContext) -> JsonValue | Refused:
    """Read the item as if it were always there."""
    record = tx.get("items", str(arguments["item_id"]))
    return record.value.value()  # type: ignore[union-attr]  # the defect itself


def counting(pack: Written) -> WorkflowPack:
    """Return the pack with a read that counts how often it was called."""
    calls: list[int] = []
    true = pack.handler("get_item")

    def read(arguments: Arguments, tx: Tx, call: CallContext) -> JsonValue | Refused:
        calls.append(1)
        row = true(arguments, tx, call)
        return row if isinstance(row, Refused) else {**row, "name": f"read {len(calls)} times"}  # type: ignore[dict-item]

    return pack.with_tool("get_item", read)


def without_tenants(pack: Written) -> None:
    """Let every item be everybody's."""
    pack.edit("datasets/supplies/items.jsonl", lambda row: row.pop("tenant"))


def passive(pack: Written) -> None:
    """Demand nothing of the negative scenario but that nothing happens."""

    def change(value: dict[str, Any]) -> None:
        expected = value["expectations"]
        del expected["trajectory"], expected["response"]
        expected["pass_criteria"] = {"outcome": "pass"}

    pack.edit("scenarios/supplies/negative/discontinued-item-001.jsonl", change)


def taken_at_its_word(pack: Written) -> None:
    """Demand the right words of the negative scenario, and nothing that they rest on."""

    def change(value: dict[str, Any]) -> None:
        expected = value["expectations"]
        del expected["trajectory"]
        expected["pass_criteria"] = {"outcome": "pass", "response": "pass"}

    pack.edit("scenarios/supplies/negative/discontinued-item-001.jsonl", change)


def without_negative_control(pack: Written) -> None:
    """Take out the scenario that is wrong on purpose."""
    (pack.root / "scenarios/supplies/control/claims-an-order-002.jsonl").unlink()


def tame_control(pack: Written) -> None:
    """Let the negative control run a script that is right."""
    pack.edit(
        "scenarios/supplies/control/claims-an-order-002.jsonl",
        lambda value: value["reproducibility"].update(model_configuration="scripted:order-placed"),
    )


def idle_tool(pack: Written) -> WorkflowPack:
    """Return the pack with a tool that no scenario needs."""
    first = pack.pack.tools[0]
    other = Tool(replace(first.manifest, name="get_other"), first.handler)
    return replace(pack.pack, tools=(*pack.pack.tools, other))


DEFECTS = (
    Defect(
        "solvable",
        "a handler that does nothing",
        lambda pack: pack.with_tool("place_order", order_nothing),
        "golden-order-placed-001: fail",
    ),
    Defect("needs-work", "a scenario that inaction passes", passive, "does nothing passes"),
    Defect("needs-truth", "a scenario that words pass", taken_at_its_word, "says what the honest"),
    Defect("controls-caught", "no negative control", without_negative_control, "no negative"),
    Defect(
        "controls-caught", "a negative control that is right", tame_control, "it failed without"
    ),
    Defect("world-repeats", "a read that counts", counting, "another one from event"),
    Defect(
        "snapshot-round-trip",
        "an order under another key",
        lambda pack: pack.with_tool("place_order", under_another_key),
        "by its `key_fields`",
    ),
    Defect(
        "snapshot-round-trip",
        "a field that is not declared",
        lambda pack: pack.with_tool("place_order", undeclared),
        "has no such field",
    ),
    Defect("tools-called", "a tool that nobody needs", idle_tool, "get_other: no scenario"),
    Defect(
        "claims-read",
        "no claim patterns",
        lambda pack: replace(pack.pack, claims=()),
        "place_order: no claim pattern",
    ),
    Defect(
        "claims-read",
        "a claim of another pack",
        lambda pack: replace(
            pack.pack, claims=(*pack.pack.claims, ClaimPattern("fly", "(?i)flew"))
        ),
        "fly: a claim pattern for a tool",
    ),
    Defect("denial", "rows without a tenant", without_tenants, "another tenant was served"),
    Defect("duplicate", "a read that counts", counting, "another answer"),
    Defect(
        "duplicate",
        "a write that may be repeated",
        lambda pack: pack.with_tool("place_order", key_argument=None, repeatable=True),
        "another row of orders",
    ),
    Defect(
        "not-found",
        "a read that breaks down",
        lambda pack: pack.with_tool("get_item", careless, resources=()),
        "ends as tool_error",
    ),
)


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda d: f"{d.check}: {d.what}")
def test_a_defective_pack_is_caught(defect: Defect, own: Written) -> None:
    """The check says what is wrong; without the defect it says nothing, as shown above."""
    pack = defect.plant(own)

    checked = BY_NAME[defect.check].run(own.bench(pack))

    assert [problem for problem in checked.problems if defect.says in problem] != []


def test_a_second_effect_is_caught_although_the_answer_is_the_same(original: Written) -> None:
    """It is the store that is asked, not the tool."""
    from arh.testing.defects.exchange import exchanged  # noqa: PLC0415 - only here
    from arh.testing.defects.gateway import any_key  # noqa: PLC0415 - only here

    def discreet(arguments: Arguments, tx: Tx, call: CallContext) -> JsonValue | Refused:
        true = original.handler("place_order")(arguments, tx, call)
        return true if isinstance(true, Refused) else {"order_id": "O-0001"}

    bench = original.bench(original.with_tool("place_order", discreet))
    bench = replace(bench, composer=exchanged(stage=("identify", any_key)))

    problems = BY_NAME["duplicate"].run(bench).problems

    assert problems == ("place_order: a second time it took effect again",)


def test_a_gateway_that_asks_nobody_is_caught(original: Written) -> None:
    """A tool that serves somebody without any scope is told, whoever let it through."""
    from arh.testing.defects.exchange import exchanged, skipped  # noqa: PLC0415 - only here

    bench = replace(original.bench(), composer=exchanged(stage=("authorise", skipped)))

    problems = BY_NAME["denial"].run(bench).problems

    assert problems == (
        "get_item: without any scope it ends as ok",
        "place_order: without any scope it ends as ok",
    )


def test_what_cannot_be_tried_is_listed() -> None:
    """A tool that names no record is left out of the check, and not counted as passed."""
    checked = BY_NAME["not-found"].run(PackBench.of("support", root=ROOT))

    assert checked.left_out == ("check_incident_status", "search_knowledge_base")
    assert (checked.seen, checked.problems) == ("4 tools", ())


def test_a_run_that_is_another_one_elsewhere_is_caught(original: Written) -> None:
    """Of equal roots nothing is said; one that differs, and a process that fails, is told."""
    bench = original.bench()
    equal = {one.run.run_id: one.output.root for one in bench.runs}
    first = bench.runs[0]
    other = {**equal, first.run.run_id: "0" * 64}
    check = BY_NAME["world-repeats"]

    found = [
        check.run(replace(bench, elsewhere=lambda _suite, roots=roots: roots)).problems  # type: ignore[misc]
        for roots in (equal, other, None)
    ]

    assert found == [
        (),
        (f"{first.id}: {ELSEWHERE}",),
        ("another process: it could not make the runs",),
    ]


def test_a_handler_that_never_comes_back_is_waited_for_once(
    original: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each run that hangs fails by name, and the kit ends all the same."""
    monkeypatch.setattr(pack_bench, "WALL_MS_MAX", 200)
    monkeypatch.setattr(pack_bench, "WALL_MS_MAX_AFTER", 20)
    ended = threading.Event()

    def waiting(_arguments: Arguments, _tx: Tx, _call: CallContext) -> JsonValue | Refused:
        ended.wait(30)
        return Refused("not_found")

    bench = original.bench(original.with_tool("place_order", waiting))
    problems = BY_NAME["solvable"].run(bench).problems
    ended.set()

    assert len(bench.hung) == 7
    assert [p for p in problems if p.startswith("golden-order-placed-001: ") and "hung" in p]


def test_a_check_with_nothing_to_try_holds_and_says_so(original: Written) -> None:
    """A pack of which no tool names a record is not to blame, and nothing is claimed of it."""
    nothing_named = replace(
        BY_NAME["not-found"], look=lambda bench: ((name, LEFT_OUT) for name in bench.pack.manifests)
    )

    checked = nothing_named.run(original.bench())

    assert (checked.seen, checked.problems) == ("0 tools", ())
    assert checked.left_out == ("get_item", "place_order")


def test_a_check_that_finds_nothing_to_look_at_has_failed(original: Written) -> None:
    """A pack whose scenarios are controls only shows nothing."""
    bench = original.bench()
    controls = bench.suite.reading(original.root / "scenarios/supplies/control")

    checked = BY_NAME["solvable"].run(PackBench(controls))

    assert checked.problems == ("there is no scenario to look at",)
