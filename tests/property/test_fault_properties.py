"""Whatever faults are planned, the store's truth is the table's, and nothing happens twice."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from arh.canonical import Json, Refused, parse
from arh.records.faults import FaultPlan
from arh.sim.fault_check import check
from arh.sim.fault_table import TABLE
from arh.sim.faulty_tools import cut
from tests.unit.sim.world import MANIFESTS, TIMEOUT_MS, World

KEYS = sorted(TABLE)
VALUES = {
    "ms": st.integers(1, 2 * TIMEOUT_MS),
    "retry_after_ms": st.integers(1, 9_999),
    "hidden_outcome": st.sampled_from(["committed", "not_committed"]),
    "raw": st.sampled_from(
        ["", "{", "<html>", "[]", '{"ok":'],
    ),
    "keep_fields": st.sampled_from([(), ("id",), ("id", "text")]),
    "revisions_back": st.integers(1, 3),
}


@st.composite
def plans(draw: st.DrawFn, *, targets: tuple[str, ...] = ()) -> FaultPlan:
    """Draw a plan of any row with the parameters that the row knows."""
    keys = [key for key in KEYS if not targets or key[0] in targets]
    target, phase, effect = draw(st.sampled_from(keys))
    found = TABLE[target, phase, effect]
    names = [*found.needs, *(n for n in found.allows if draw(st.booleans()))]
    given_values = {name: draw(VALUES[name]) for name in names}
    name = ""
    if target == "tool":
        name = "look" if found.access == "reads" else "note"
    trigger = draw(st.sampled_from(["first", "nth", "always"]))
    invocation = draw(st.integers(1, 4)) if trigger == "nth" else None
    plan = FaultPlan("f1", target, phase, effect, name, trigger, invocation)
    return replace(plan, **given_values)  # type: ignore[arg-type]


@given(plans())
def test_a_drawn_plan_is_one_that_authors_may_write(plan: FaultPlan) -> None:
    """The strategy stays within what the check lets through."""
    assert check(plan, MANIFESTS) == []


@given(plans(targets=("tool",)))
def test_the_effects_in_the_store_are_the_tables_truth(plan: FaultPlan) -> None:
    """Each struck write left in the store what its row says, each other one its effect."""
    world = World((plan,))
    row = TABLE[plan.target_type, plan.phase, plan.effect]

    expected = 0
    for number in range(3):
        before = len(world.of("fault_injected"))
        world.read()
        world.write(f"k{number}")
        struck = world.of("fault_injected")[before:]
        truth = row.truth
        if struck and struck[-1]["symptom"] == "timeout" and plan.effect == "slowdown":
            truth = row.late or truth
        if truth == "hidden":
            truth = "committed" if plan.hidden_outcome == "committed" else "unchanged"
        expected += 0 if struck and truth == "unchanged" else 1

    assert world.notes() == expected


@given(st.lists(plans(), max_size=4), st.lists(st.sampled_from(["k1", "k2"]), max_size=6))
def test_one_key_is_at_most_one_effect(drawn: list[FaultPlan], keys: list[str]) -> None:
    """Under any faults, however often a write is repeated, its effect is there at most once."""
    faults = [replace(plan, id=f"f{n}") for n, plan in enumerate(drawn)]
    world = World(tuple(faults))

    outcomes = [world.write(key) for key in keys]

    assert world.notes() <= len(set(keys))
    told = {k for k, o in zip(keys, outcomes, strict=True) if o.status == "executed"}
    assert world.notes() >= len(told)


@given(st.lists(plans(), max_size=3))
def test_a_fault_is_never_more_than_it_was(drawn: list[FaultPlan]) -> None:
    """Delivered faults were injected; two worlds of the same plans leave the same events."""
    faults = tuple(replace(plan, id=f"f{n}") for n, plan in enumerate(drawn))

    def run() -> World:
        world = World(faults)
        world.ask()
        world.read()
        world.write()
        world.write()
        return world

    one, other = run(), run()
    injected = {data["fault"] for data in one.of("fault_injected")}
    delivered = {f.fault_id for f in one.deliveries() if f.state == "delivered"}

    assert delivered <= injected
    assert [(e.kind, e.at_ms, e.data) for e in one.events] == [
        (e.kind, e.at_ms, e.data) for e in other.events
    ]


@given(plans())
def test_a_fault_that_struck_alone_is_always_witnessed(plan: FaultPlan) -> None:
    """The table's signs are what a real gateway records: no injection of one fault goes unseen."""
    world = World((plan,))

    world.ask()
    world.read("A2")
    world.read()
    world.write()
    world.write("k2")

    assert world.states()[0] in {"delivered", "not_exposed", "not_injected"}


@given(st.dictionaries(st.text(max_size=5), st.integers(-9, 9), max_size=4))
def test_a_cut_body_is_rejected_by_the_real_decoder(result: dict[str, int]) -> None:
    """No reply, cut, is still JSON."""
    body = Json.of({"ok": dict(result)}).data

    try:
        parse(cut(body))
    except Refused:
        return
    raise AssertionError(body)
