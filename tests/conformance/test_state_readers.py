"""Outcomes judged by a team's own system: SQLite, PostgreSQL and HTTP, at a consistency point."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from arh import bootstrap
from arh.canonical import JsonValue
from arh.errors import AuthoringError, DependencyFailure
from arh.records.external import ExternalState, Reading, Row
from arh.records.packs import WorkflowPack
from arh.records.tools import Effect, Refused
from arh.state.sources import postgres_source, sqlite_source
from arh.testing.workbench import Tried
from tests.conformance.databases import (
    QUERIES,
    REVISION,
    Database,
    postgres_database,
    sqlite_database,
    why_no_postgres,
)
from tests.conformance.desk import Desk, serving
from tests.conformance.desk_pack import (
    ARGUMENTS,
    MANIFEST,
    QUICK,
    desk_pack,
    desk_state,
    scenario,
    script,
    suite_of,
    tried,
)

OTHER_TOOL = replace(MANIFEST, service=None)


@pytest.fixture(scope="module")
def server() -> Iterator[Database]:
    """Return a PostgreSQL database that all tests of this file share."""
    why = why_no_postgres()
    if why:
        pytest.skip(why)
    with postgres_database() as database:
        yield database


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    """Return each kind of database in turn, without tickets."""
    if request.param == "sqlite":
        return sqlite_database(tmp_path)
    found: Database = request.getfixturevalue("server")
    found.empty()
    return found


@pytest.fixture
def desk() -> Desk:
    """Return a desk without defects."""
    return Desk()


@pytest.fixture
def url(desk: Desk) -> Iterator[str]:
    """Return where the desk is served."""
    with serving(desk) as address:
        yield address


def database_pack(database: Database, *, lies: bool = False) -> WorkflowPack:
    """Return a pack whose tool writes to a database; one that lies only says so."""

    def file(arguments: Any, _tx: object, about: Any) -> JsonValue | Refused:  # noqa: ANN401 - as a pack writes it
        if not lies:
            database.file("T-1", arguments["account_id"], about.key)
        return {"ticket_id": "T-1"}

    def find(_arguments: object, _tx: object, about: Any) -> JsonValue | Refused:  # noqa: ANN401 - as a pack writes it
        found = database.found(about.key)
        return {"ticket_id": found[0]} if found else Refused("not_found")

    source = sqlite_source if database.kind == "sqlite" else postgres_source
    state = ExternalState(
        "desk",
        ("tickets",),
        connect=source(QUERIES, revision=REVISION),
        address=database.address,
        tools=("file_ticket",),
        prepare=lambda _address, _rows: database.empty(),
        operation_field="key",
        consistency=QUICK,
    )
    pack = desk_pack("", state=state, handler=file, lookup=find, manifest=OTHER_TOOL)
    return replace(pack, services=())


def rules(found: Tried) -> set[str]:
    """Return the rules of what was found."""
    return {f.rule for r in found.verdict.results for f in r.findings if f.severity != "warning"}


def readings(found: Tried) -> list[tuple[object, ...]]:
    """Return what is on record of each reading."""
    return [
        (e.data["point"], e.data["met"], e.data["revision"], e.data["problem"])
        for e in found.output.evidence.events
        if e.kind == "state_read"
    ]


def tickets(found: Tried) -> list[Mapping[str, JsonValue]] | None:
    """Return the tickets at the end as evaluators see them."""
    final = found.output.evidence.final
    rows = None if final is None else final.rows("tickets")
    return None if rows is None else [row.value for row in rows]


# --- databases -----------------------------------------------------------------------------------


def test_a_database_decides_that_the_ticket_is_there(database: Database, tmp_path: Path) -> None:
    """The outcome is read from the database, as a change of the operation that brought it about."""
    found = tried(database_pack(database), tmp_path)

    row = {"account_id": "A-1", "key": "r-1", "paid": "12.5", "ticket_id": "T-1"}
    (given,) = tickets(found) or [{}]
    commit = found.output.evidence.commits[-1]
    call = found.output.evidence.calls[0]
    assert found.verdict.status == "pass"
    assert {**given, "paid": str(given["paid"])} == row
    assert (commit.operation_id, commit.call_id) == (call.operation_id, call.call_id)
    assert readings(found) == [
        ("start", True, 0, ""),
        ("attempt", True, 1, ""),
        ("end", True, 1, ""),
    ]


def test_a_tool_that_only_says_so_fails(database: Database, tmp_path: Path) -> None:
    """The tool reports success and the database is as it was: the outcome is a failure."""
    found = tried(database_pack(database, lies=True), tmp_path)

    assert found.verdict.status == "fail"
    assert "outcome.no_alternative_holds" in rules(found)
    assert found.output.evidence.calls[0].commit_belief == "committed"


def test_a_copy_that_lags_behind_its_database_decides_nothing(
    database: Database, tmp_path: Path
) -> None:
    """A watermark that the reading names itself, and never reaches, leaves the run undecided."""
    pack = database_pack(database)
    source = sqlite_source if database.kind == "sqlite" else postgres_source
    behind = source(QUERIES, revision=REVISION, watermark="SELECT COUNT(*) * 9 FROM journal")
    late = replace(pack, external=(replace(pack.external[0], connect=behind),))

    found = tried(late, tmp_path)

    assert found.verdict.status == "indeterminate"
    assert readings(found)[-1] == ("end", False, 1, "late")


# --- a service -----------------------------------------------------------------------------------


def test_a_service_decides_that_the_ticket_is_there(desk: Desk, url: str, tmp_path: Path) -> None:
    """The same over HTTP, where the tool's result names the revision that must be reached."""
    found = tried(desk_pack(url), tmp_path)

    assert found.verdict.status == "pass"
    assert readings(found)[-1] == ("end", True, 1, "")
    assert found.output.evidence.sourced == frozenset({"file_ticket"})
    assert len(desk.tickets) == 1


def test_a_service_that_lies_fails(desk: Desk, url: str, tmp_path: Path) -> None:
    """A service that answers with a ticket and files none is found out."""
    desk.lies = True
    pack = desk_pack(url, state=desk_state(url, watermark_field=None))

    found = tried(pack, tmp_path)

    assert found.verdict.status == "fail"
    assert "outcome.no_alternative_holds" in rules(found)


def test_each_run_begins_with_what_was_prepared(url: str, tmp_path: Path) -> None:
    """A second run does not see the tickets of the first."""
    first, second = tried(desk_pack(url), tmp_path), tried(desk_pack(url), tmp_path)

    assert (first.verdict.status, second.verdict.status) == ("pass", "pass")
    assert first.output.lines == second.output.lines


def test_a_state_that_catches_up_is_waited_for(desk: Desk, url: str, tmp_path: Path) -> None:
    """A copy that lags behind is read again until it has come as far as it must."""
    desk.lag = 1
    catching_up = threading.Timer(0.15, lambda: setattr(desk, "lag", 0))
    catching_up.start()
    patient = replace(QUICK, attempts_max=1000)

    found = tried(desk_pack(url, state=desk_state(url, consistency=patient)), tmp_path)

    assert found.verdict.status == "pass"
    assert readings(found)[-1] == ("end", True, 1, "")
    assert _attempts(found) > QUICK.quiet_reads


def _attempts(found: Tried) -> int:
    return int(found.output.evidence.events[-1].data["consistency"]["external"][0]["attempts"])


def test_a_state_that_never_gets_there_is_indeterminate(
    desk: Desk, url: str, tmp_path: Path
) -> None:
    """A watermark that is not reached by the deadline is no pass, and no failure either."""
    desk.lag = 1

    found = tried(desk_pack(url), tmp_path)

    assert found.verdict.status == "indeterminate"
    assert readings(found)[-1] == ("end", False, 0, "late")
    assert tickets(found) is None
    assert any("watermark" in reason for reason in found.verdict.reasons)


def state_with(
    url: str,
    read: Callable[[Desk, int], Any],
    desk: Desk,
    **changes: Any,  # noqa: ANN401 - hostile ones too
) -> ExternalState:
    """Return the desk's state read by a function of the desk and the number of the reading."""

    class Source:
        def __init__(self) -> None:
            self.number = 0

        def read(self) -> Reading:
            self.number += 1
            reading: Reading = read(desk, self.number)
            return reading

        def close(self) -> None:
            """Do nothing."""

    source = Source()
    return desk_state(url, connect=lambda _address: source, watermark_field=None, **changes)


def plainly(desk: Desk, revision: int | None = None) -> Reading:
    """Return the tickets of the desk."""
    rows = [dict(ticket) for ticket in desk.tickets]
    return Reading(len(rows) if revision is None else revision, {"tickets": rows})


def _raises(_desk: Desk, _number: int) -> Reading:
    raise ConnectionError


def _hangs(desk: Desk, number: int) -> Reading:
    if number > 2:
        desk.released.wait(5)
    return plainly(desk)


def _runs_back(desk: Desk, number: int) -> Reading:
    return plainly(desk, 9 if number <= 2 else 3)


def _restless(desk: Desk, number: int) -> Reading:
    return plainly(desk, 0 if number <= 3 else number)


def _key_twice(_desk: Desk, number: int) -> Reading:
    rows = [{"ticket_id": "D-9"}, {"ticket_id": "D-9"}] if number > 3 else []
    return Reading(len(rows), {"tickets": rows})


def _no_key(_desk: Desk, number: int) -> Reading:
    bad = number > 3
    return Reading(int(bad), {"tickets": [{"account_id": "A-1"}] if bad else []})


def _no_rows(desk: Desk, number: int) -> Reading:
    return plainly(desk) if number <= 3 else Reading(number, {})


def _no_json(desk: Desk, number: int) -> Reading:
    row: Row = {"ticket_id": "D-1", "at": object()}  # type: ignore[dict-item]  # a hostile row
    return plainly(desk) if number <= 3 else Reading(number, {"tickets": [row]})


def _no_watermark(desk: Desk, number: int) -> Reading:
    rows = [dict(ticket) for ticket in desk.tickets]
    return Reading(len(rows), {"tickets": rows}, watermark="9" if number > 3 else 0)  # type: ignore[arg-type]  # hostile


def _no_reading(desk: Desk, number: int) -> Any:  # noqa: ANN401 - a hostile source
    return plainly(desk) if number <= 3 else {"tickets": []}


@pytest.mark.parametrize(
    ("read", "problem"),
    [
        (_raises, "unread"),
        (_hangs, "timeout"),
        (_runs_back, "ran_back"),
        (_restless, "restless"),
        (_key_twice, "unreadable"),
        (_no_key, "unreadable"),
        (_no_rows, "unreadable"),
        (_no_json, "unreadable"),
        (_no_watermark, "unreadable"),
        (_no_reading, "unreadable"),
    ],
)
def test_a_source_that_cannot_be_trusted_decides_nothing(
    desk: Desk,
    url: str,
    tmp_path: Path,
    read: Callable[[Desk, int], Any],
    problem: str,
) -> None:
    """Whatever is wrong with a source, its run is indeterminate and its collections unread."""
    limits = replace(QUICK, deadline_ms=500) if read is _hangs else QUICK
    pack = desk_pack(url, state=state_with(url, read, desk, consistency=limits))

    found = tried(pack, tmp_path)
    desk.released.set()

    assert found.verdict.status == "indeterminate"
    assert readings(found)[-1][3] == problem
    assert tickets(found) is None
    assert "evidence.gap" in rules(found)


def test_the_honest_twin_of_those_sources_decides(desk: Desk, url: str, tmp_path: Path) -> None:
    """The same source without a defect passes, so that it is the defect which was caught."""
    pack = desk_pack(url, state=state_with(url, lambda desk, _number: plainly(desk), desk))

    assert tried(pack, tmp_path).verdict.status == "pass"


def test_a_change_without_an_attempt_is_out_of_band(desk: Desk, url: str, tmp_path: Path) -> None:
    """What somebody did past the gateway is a failure, whoever did it."""

    def read(desk: Desk, number: int) -> Reading:
        if number == 3:
            desk.file({"account_id": "A-1"}, "by-hand")
        return plainly(desk)

    def refuse(_arguments: object, _tx: object, _about: object) -> Refused:
        return Refused("precondition_failed")

    state = state_with(url, read, desk, operation_field="key")
    pack = desk_pack(url, state=state, handler=refuse)

    found = tried(pack, tmp_path)

    assert found.verdict.status == "fail"
    assert {"guardrails.out_of_band_effect", "evidence.conflict"} <= rules(found)


def test_without_every_attempt_only_the_ends_are_read(url: str, tmp_path: Path) -> None:
    """A source that is expensive to read is read before and after the run alone."""
    found = tried(desk_pack(url, state=desk_state(url, every_attempt=False)), tmp_path)

    assert found.verdict.status == "pass"
    assert [point for point, *_ in readings(found)] == ["start", "end"]


def test_a_handler_cannot_write_what_is_mirrored(url: str, tmp_path: Path) -> None:
    """A transactional tool that writes an outside collection fails, and nothing is committed."""
    manifest = replace(OTHER_TOOL, effect=Effect.TRANSACTIONAL)

    def forge(_arguments: object, tx: Any, _about: object) -> JsonValue:  # noqa: ANN401 - as a pack writes it
        tx.put("tickets", "D-001", {"ticket_id": "D-001", "account_id": "A-1"})
        return {"ticket_id": "D-001"}

    state = desk_state(url, tools=(), watermark_field=None)
    pack = desk_pack(url, state=state, handler=forge, lookup=None, manifest=manifest)

    found = tried(pack, tmp_path)

    assert found.verdict.status == "fail"
    assert found.output.evidence.commits == ()
    assert tickets(found) == []


def test_what_the_agent_says_is_held_against_the_system(
    desk: Desk, url: str, tmp_path: Path
) -> None:
    """A claim that the tool bore out and the system does not is a false claim."""
    desk.lies = True
    claim = {"action": "file_ticket", "status": "completed", "resource_id": "D-001"}
    says = {"message": "Filed.", "workflow_status": "completed", "claimed_actions": [claim]}
    model = script(ARGUMENTS, retries=0)
    model["rules"][1]["then"] = {"kind": "final_answer", "envelope": says}
    pack = desk_pack(url, state=desk_state(url, watermark_field=None))

    lying = tried(pack, tmp_path, model=model)
    desk.lies = False
    honest = tried(pack, tmp_path, model=model)

    statuses = [_status(found, "grounding") for found in (lying, honest)]
    assert statuses == ["fail", "pass"]


def _status(found: Tried, evaluator: str) -> str:
    (status,) = (r.status for r in found.verdict.results if r.evaluator == evaluator)
    return status


@pytest.mark.parametrize("operation_field", ["key", None])
def test_a_change_of_a_call_under_way_is_its_own(
    url: str, tmp_path: Path, operation_field: str | None
) -> None:
    """With two actors, what one reads while the other's call is out belongs to that call."""
    who = {"caller": "clerk", "authority": ["write:ticket"]}
    row = scenario()
    row["stimulus"] = {
        "actors": [
            {"actor": name, "messages": [{"content": "File a ticket for A-1."}], "principal": who}
            for name in ("one", "two")
        ]
    }
    pack = desk_pack(url, state=desk_state(url, operation_field=operation_field))

    found = tried(pack, tmp_path, row)

    evidence = found.output.evidence
    (effect,) = [commit for commit in evidence.commits if commit.effective]
    assert found.verdict.status == "pass", found.verdict.reasons
    assert {effect.operation_id} == {call.operation_id for call in evidence.calls}
    assert sorted(call.commit_belief for call in evidence.calls) == ["committed", "replayed"]


def test_a_late_effect_is_not_laid_to_a_refused_call(desk: Desk, url: str, tmp_path: Path) -> None:
    """What shows after a later call was refused still belongs to the one that was carried out."""

    def file(arguments: Any, _tx: object, about: Any) -> JsonValue | Refused:  # noqa: ANN401 - as a pack writes it
        if arguments["ref"] != "r-1":
            return Refused("precondition_failed")
        desk.file({"account_id": "A-1"}, about.key)
        raise DependencyFailure("timeout")

    def read(desk: Desk, number: int) -> Reading:
        return plainly(desk, number) if number > 3 else Reading(number, {"tickets": []})

    limits = replace(QUICK, quiet_reads=1)
    state = state_with(url, read, desk, consistency=limits)
    model = script(retries=0)
    other = {**model["rules"][0]["then"], "arguments": {**ARGUMENTS, "ref": "r-2"}}
    model["rules"].insert(1, {"when": {"step": 1}, "then": other})

    found = tried(desk_pack(url, state=state, handler=file), tmp_path, model=model)

    evidence = found.output.evidence
    effects = [commit.call_id for commit in evidence.commits if commit.effective]
    assert [call.reason for call in evidence.calls] == ["timeout", "precondition_failed"]
    assert effects == [evidence.calls[0].call_id]
    assert evidence.discrepancies == ()
    assert found.verdict.status == "pass", found.verdict.reasons


def test_a_refused_call_contradicts_nothing(url: str, tmp_path: Path) -> None:
    """A remote that refuses leaves its intent taken back: no effect, and no conflict of sources."""
    row = scenario(acceptable_outcomes=[{"all_of": [{"kind": "absent", "collection": "tickets"}]}])
    model = script({"account_id": "closed", "ref": "r-1"}, retries=0)

    found = tried(desk_pack(url), tmp_path, row, model=model)

    evidence = found.output.evidence
    assert found.verdict.status == "pass", found.verdict.reasons
    assert evidence.calls[0].commit_belief == "not_committed"
    assert [commit.effective for commit in evidence.commits] == [False, False]
    assert evidence.discrepancies == ()


def test_a_state_that_was_not_read_violates_no_invariant(url: str, tmp_path: Path) -> None:
    """Where the first reading failed nobody knows what holds, and the run is not stopped for it."""
    invariant = {"kind": "count", "collection": "tickets", "expected": 3, "id": "three"}
    pack = desk_pack(url, state=desk_state(url, connect=_unreachable))

    found = tried(pack, tmp_path, scenario(invariants=[invariant]))

    assert found.verdict.status == "indeterminate"
    assert found.output.evidence.termination == "completed"


def _unreachable(_address: str) -> Any:  # noqa: ANN401 - it never returns
    raise ConnectionRefusedError


def test_an_effect_that_was_undone_again_is_seen(desk: Desk, url: str, tmp_path: Path) -> None:
    """What violates an invariant after an attempt stops the run, though it is gone in the end."""

    def read(desk: Desk, number: int) -> Reading:
        if number > 2:
            desk.tickets.clear()
        return plainly(desk, number)

    limits = replace(QUICK, quiet_reads=1)
    state = state_with(url, read, desk, consistency=limits, operation_field=None)
    invariant = {"kind": "count", "collection": "tickets", "expected": 0, "id": "none-ever"}
    outcome = [{"all_of": [{"kind": "absent", "collection": "tickets"}]}]
    row = scenario(invariants=[invariant], acceptable_outcomes=outcome)

    found = tried(desk_pack(url, state=state), tmp_path, row)

    assert found.verdict.status == "fail"
    assert found.output.evidence.termination == "invariant_violation"
    assert tickets(found) == []


# --- authoring -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"collections": ("ticket",)}, "a collection of the pack"),
        ({"tools": ("file_tickets",)}, "a tool of the pack"),
    ],
)
def test_a_source_of_nothing_is_refused(
    tmp_path: Path, changes: dict[str, Any], expected: str
) -> None:
    """A source that names what the pack lacks is an author's mistake, with the nearest name."""
    url = "http://127.0.0.1:9"
    with pytest.raises(AuthoringError) as refused:
        suite_of(desk_pack(url, state=desk_state(url, **changes)), tmp_path)

    assert expected in str(refused.value)


def test_a_transactional_tool_has_its_effects_here(tmp_path: Path) -> None:
    """A tool of our own transactions cannot be one whose effects show elsewhere."""
    url = "http://127.0.0.1:9"
    local = replace(MANIFEST, effect=Effect.TRANSACTIONAL, service=None)
    with pytest.raises(AuthoringError, match="remote or keyed_remote"):
        suite_of(desk_pack(url, manifest=local), tmp_path)


def test_seeds_need_somebody_to_bring_them(tmp_path: Path) -> None:
    """A seeded collection of a system that nothing prepares is refused."""
    url = "http://127.0.0.1:9"
    pack = desk_pack(url, state=desk_state(url, prepare=None))
    seeded = replace(pack, collections=(replace(pack.collections[0], seeded=True),))
    with pytest.raises(AuthoringError, match="nothing brings seeds"):
        suite_of(seeded, tmp_path)


def test_seeds_reach_the_system(desk: Desk, url: str, tmp_path: Path) -> None:
    """The rows of a scenario are what the system is prepared with, and what the run begins with."""
    given: list[Mapping[str, Sequence[Row]]] = []

    def prepare(_address: str, rows: Mapping[str, Sequence[Row]]) -> None:
        given.append(rows)
        desk.tickets[:] = [dict(row) for row in rows["tickets"]]

    pack = desk_pack(url, state=desk_state(url, prepare=prepare))
    pack = replace(pack, collections=(replace(pack.collections[0], seeded=True),))
    row = scenario()
    old = {"ticket_id": "D-000", "account_id": "B-2", "key": ""}
    row["runtime"]["changes"] = [{"collection": "tickets", "row": old}]

    found = tried(pack, tmp_path, row)

    initial = found.output.evidence.initial
    assert found.verdict.status == "pass"
    assert given == [{"tickets": [old]}]
    assert initial is not None
    assert [r.key for r in initial.rows("tickets") or ()] == ["D-000"]


def test_the_environment_names_where_a_state_is_read(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`ARH_STATE_<NAME>` and `ARH_SERVICE_<NAME>` come before the pack's own addresses."""
    monkeypatch.setenv("ARH_STATE_DESK", url)
    monkeypatch.setenv("ARH_SERVICE_DESK", url)

    found = tried(desk_pack("http://127.0.0.1:9"), tmp_path)

    assert found.verdict.status == "pass"
    assert bootstrap.packs.service_variable("desk") == "ARH_SERVICE_DESK"
