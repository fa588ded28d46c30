"""Faults of remote tools on the wire: a correct client survives each one, a blind one is caught.

The tool's own HTTP client goes through a real proxy on loopback to a real service. Each fault is
proven to have been delivered, and what became of the effect is read from the service's own state.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from arh.canonical import JsonValue
from arh.errors import AuthoringError, DependencyFailure
from arh.records.tools import Effect, Refused
from arh.state.sources import http_source
from arh.testing.workbench import Tried
from tests.conformance.desk import CREDENTIAL, Desk, serving
from tests.conformance.desk_pack import (
    FAULTY,
    FILE,
    FIND,
    MANIFEST,
    desk_pack,
    desk_state,
    scenario,
    script,
    shown,
    suite_of,
    tried,
)

KEYLESS = replace(FILE, key_header="")
TIMEOUT, ERROR = ("timeout", "timeout"), ("error", "dependency_error")
MALFORMED, OK = ("malformed", "malformed_result"), ("delivered", "ok")

# Phase, effect, parameters -> delivery and reason of the first call, its belief, tickets after it.
FAULTS: tuple[tuple[str, str, dict[str, Any], tuple[str, str], str, int], ...] = (
    ("not_dispatched", "timeout", {"ms": 200}, TIMEOUT, "unknown", 0),
    ("not_dispatched", "error", {}, ERROR, "not_committed", 0),
    (
        *("not_dispatched", "rate_limit", {"retry_after_ms": 2000}),
        *(("error", "rate_limited"), "not_committed", 0),
    ),
    ("not_dispatched", "slowdown", {"ms": 700}, OK, "committed", 1),
    (
        *("after_dispatch", "timeout", {"hidden_outcome": "not_committed", "ms": 250}),
        *(TIMEOUT, "unknown", 0),
    ),
    (
        *("after_dispatch", "timeout", {"hidden_outcome": "committed", "ms": 250}),
        *(TIMEOUT, "unknown", 1),
    ),
    ("after_dispatch", "error", {"hidden_outcome": "not_committed"}, ERROR, "unknown", 0),
    ("after_dispatch", "error", {"hidden_outcome": "committed"}, ERROR, "unknown", 1),
    ("after_dispatch", "slowdown", {"ms": 700}, OK, "committed", 1),
    ("after_dispatch", "malformed", {}, MALFORMED, "unknown", 1),
    ("after_dispatch", "malformed", {"raw": "<html>"}, MALFORMED, "unknown", 1),
    ("after_dispatch", "partial", {"keep_fields": ["revision"]}, MALFORMED, "unknown", 1),
    ("after_dispatch", "duplicate_delivery", {}, OK, "committed", 1),
    ("after_commit", "timeout", {"ms": 300}, TIMEOUT, "unknown", 1),
    ("after_commit", "error", {}, ERROR, "unknown", 1),
    ("after_commit", "slowdown", {"ms": 700}, OK, "committed", 1),
    ("after_commit", "malformed", {}, MALFORMED, "unknown", 1),
    ("after_commit", "partial", {"keep_fields": []}, MALFORMED, "unknown", 1),
)


@pytest.fixture
def desk() -> Desk:
    """Return a desk without defects."""
    return Desk()


@pytest.fixture
def url(desk: Desk) -> Iterator[str]:
    """Return where the desk is served."""
    with serving(desk) as address:
        yield address


def with_fault(phase: str, effect: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the scenario whose one call meets the fault."""
    fault = {**FAULTY, "phase": phase, "effect": effect, "parameters": parameters}
    return scenario(fault=fault, pass_criteria={"outcome": "pass", "fault_handling": "pass"})


def rules(found: Tried) -> set[str]:
    """Return the rules of what was found."""
    return {f.rule for r in found.verdict.results for f in r.findings if f.severity != "warning"}


def kinds(found: Tried) -> list[str]:
    """Return what is on record of the fault, in order."""
    wanted = ("fault_armed", "port_entered", "fault_injected", "port_left", "tool_call")
    return [event.kind for event in found.output.evidence.events if event.kind in wanted]


@pytest.mark.parametrize("case", FAULTS, ids=lambda case: f"{case[0]}-{case[1]}")
def test_each_fault_happens_on_the_wire_and_is_survived(
    desk: Desk,
    url: str,
    tmp_path: Path,
    case: tuple[str, str, dict[str, Any], tuple[str, str], str, int],
) -> None:
    """The client meets the symptom, the fault is proven, and one ticket is there in the end."""
    phase, effect, parameters, symptom, belief, there = case
    counts: list[int] = []
    state = desk_state(url, watermark_field=None)
    pack = desk_pack(url, state=state, handler=_counting(desk, counts))

    found = tried(pack, tmp_path, with_fault(phase, effect, parameters))

    first = found.output.evidence.calls[0]
    (fault,) = found.output.evidence.faults
    assert (fault.state, fault.calls) == ("delivered", (first.call_id,))
    assert kinds(found)[:5] == [
        *("fault_armed", "port_entered", "fault_injected", "port_left", "tool_call")
    ]
    assert ((first.delivery, first.reason), first.commit_belief) == (symptom, belief)
    assert counts[0] == there
    assert found.verdict.status == "pass", found.verdict.reasons
    assert len(desk.tickets) == 1
    assert first.returned_ms - first.requested_ms >= parameters.get("ms", 0)


def _counting(desk: Desk, counts: list[int]) -> Any:  # noqa: ANN401 - a handler
    """Return the handler, noting how many tickets there were after each request of it."""

    def file(arguments: Any, tx: Any, about: Any) -> JsonValue | Refused:  # noqa: ANN401 - as a pack writes it
        try:
            return FILE(arguments, tx, about)
        finally:
            counts.append(len(desk.tickets))

    return file


def _blindly(arguments: Any, tx: Any, about: Any) -> JsonValue | Refused:  # noqa: ANN401 - as a pack writes it
    """Send the request again without a key when no answer comes: what must be caught."""
    try:
        return KEYLESS(arguments, tx, about)
    except DependencyFailure:
        return KEYLESS(arguments, tx, about)


@pytest.mark.parametrize(
    ("phase", "effect", "parameters"),
    [
        ("after_commit", "timeout", {"ms": 300}),
        ("after_commit", "error", {}),
        ("after_commit", "malformed", {}),
        ("after_dispatch", "timeout", {"hidden_outcome": "committed"}),
        ("after_dispatch", "error", {"hidden_outcome": "committed"}),
        ("after_dispatch", "duplicate_delivery", {}),
    ],
)
def test_a_client_that_resends_blindly_is_caught(
    desk: Desk, url: str, tmp_path: Path, phase: str, effect: str, parameters: dict[str, Any]
) -> None:
    """Without a key the second request files a second ticket, which the desk's state shows."""
    state = desk_state(url, watermark_field=None)
    pack = desk_pack(url, state=state, handler=_blindly)

    found = tried(pack, tmp_path, with_fault(phase, effect, parameters))

    assert len(desk.tickets) == 2
    assert found.verdict.status == "fail"
    assert {"outcome.duplicate_effect", "outcome.no_alternative_holds"} <= found.rules


def test_a_service_that_forgets_keys_is_caught(desk: Desk, url: str, tmp_path: Path) -> None:
    """A request delivered twice to a service that ignores keys is a duplicate."""
    desk.ignores_keys = True
    state = desk_state(url, watermark_field=None)

    found = tried(
        desk_pack(url, state=state),
        tmp_path,
        with_fault("after_dispatch", "duplicate_delivery", {}),
    )

    assert found.verdict.status == "fail"
    assert {"outcome.duplicate_effect", "fault.duplicate_effect"} <= found.rules


def test_an_agent_that_gives_up_is_judged_by_what_is_there(
    desk: Desk, url: str, tmp_path: Path
) -> None:
    """A lost reply leaves no doubt where the service's state was read: the ticket is there."""
    state = desk_state(url, watermark_field=None)
    row = with_fault("after_commit", "timeout", {"ms": 300})

    found = tried(desk_pack(url, state=state), tmp_path, row, model=script(retries=0))

    assert [call.commit_belief for call in found.output.evidence.calls] == ["unknown"]
    assert "outcome.unresolved_operation" not in rules(found)
    assert _status(found, "outcome") == "pass"
    assert len(desk.tickets) == 1


def test_without_a_reading_the_same_is_unresolved(desk: Desk, url: str, tmp_path: Path) -> None:
    """Where the service's state cannot be read, nobody can say whether the call took effect."""
    state = desk_state(url, connect=_unreachable)
    row = with_fault("after_commit", "timeout", {"ms": 300})

    found = tried(desk_pack(url, state=state), tmp_path, row, model=script(retries=0))

    assert found.verdict.status == "indeterminate"
    assert "outcome.unresolved_operation" in rules(found)
    assert len(desk.tickets) == 1


def _unreachable(_address: str) -> Any:  # noqa: ANN401 - it never returns
    raise ConnectionRefusedError


def _status(found: Tried, evaluator: str) -> str:
    (status,) = (r.status for r in found.verdict.results if r.evaluator == evaluator)
    return status


def test_what_could_not_happen_is_not_claimed(desk: Desk, url: str, tmp_path: Path) -> None:
    """A refused write has no acknowledgement to lose: the fault did not happen."""
    row = with_fault("after_commit", "timeout", {"ms": 300})
    model = script({"account_id": "closed", "ref": "r-1"}, retries=0)

    found = tried(desk_pack(url), tmp_path, row, model=model)

    (fault,) = found.output.evidence.faults
    assert fault.state == "not_injected"
    assert found.output.evidence.calls[0].reason == "precondition_failed"
    assert "fault.not_injected" in rules(found)
    assert desk.tickets == []


def test_a_handler_that_never_asks_for_its_service_meets_no_fault(url: str, tmp_path: Path) -> None:
    """A tool that talks to nobody cannot be struck on the wire, and no fault claims that it was."""

    def idle(_arguments: object, _tx: object, _about: object) -> JsonValue:
        raise DependencyFailure("dependency_error")

    row = with_fault("not_dispatched", "error", {})

    found = tried(desk_pack(url, handler=idle), tmp_path, row, model=script(retries=0))

    (fault,) = found.output.evidence.faults
    assert fault.state == "not_injected"


def test_a_slow_service_outlasts_its_caller(desk: Desk, url: str, tmp_path: Path) -> None:
    """A delay longer than the call's time is a timeout: before dispatch nothing was done."""
    row = with_fault("not_dispatched", "slowdown", {"ms": 60_000})

    found = tried(desk_pack(url), tmp_path, row, model=script(retries=0))

    first = found.output.evidence.calls[0]
    assert (first.delivery, found.output.evidence.faults[0].state) == ("timeout", "delivered")
    assert desk.tickets == []


def test_a_read_over_http_meets_faults_too(desk: Desk, url: str, tmp_path: Path) -> None:
    """A reading tool is struck on the wire like a writing one, and reads again."""
    manifest = replace(MANIFEST, effect=Effect.READ, key_argument=None)
    state = desk_state(url, tools=(), watermark_field=None)
    pack = desk_pack(
        url, state=state, handler=replace(FIND, path="/state"), lookup=None, manifest=manifest
    )
    found = tried(pack, tmp_path, with_fault("after_dispatch", "timeout", {"ms": 300}))

    calls = found.output.evidence.calls
    assert found.output.evidence.faults[0].state == "delivered"
    assert calls[0].delivery == "timeout"
    assert [path for _, path, _ in desk.seen].count("/state?account_id=A-1&ref=r-1") >= 2


def test_no_older_revision_of_a_service_can_be_read(tmp_path: Path) -> None:
    """A stale reply of a service is an author's mistake, not a fault that never happens."""
    manifest = replace(MANIFEST, effect=Effect.READ, key_argument=None)
    url = "http://127.0.0.1:9"
    pack = desk_pack(url, state=desk_state(url, tools=()), manifest=manifest)
    fault = {**FAULTY, "phase": "after_dispatch", "effect": "stale"}
    with pytest.raises(AuthoringError, match="a service shows no older revisions"):
        suite_of(pack, tmp_path, scenario(fault=fault))


def test_the_credential_is_in_no_line_of_evidence(
    desk: Desk, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The service gets the credential of the vault, through the proxy too; evidence never does."""
    monkeypatch.setenv("ARH_CREDENTIAL_DESK", CREDENTIAL)
    desk.wants = CREDENTIAL
    headers = {"Authorization": f"Bearer {CREDENTIAL}"}
    connect = http_source("/state", reading=shown, headers=headers)
    state = desk_state(url, connect=connect, watermark_field=None)
    pack = desk_pack(url, state=state, manifest=replace(MANIFEST, credential="desk"))

    found = tried(pack, tmp_path, with_fault("after_commit", "malformed", {}))

    assert found.verdict.status == "pass", found.verdict.reasons
    assert desk.seen[-1][2]["Authorization"] == f"Bearer {CREDENTIAL}"
    assert CREDENTIAL.encode() not in b"".join(found.output.lines)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"service": "desks"}, "a service of the pack"),
        ({"effect": Effect.TRANSACTIONAL}, "a transactional tool has no service"),
    ],
)
def test_a_tool_of_no_service_is_refused(
    tmp_path: Path, changes: dict[str, Any], expected: str
) -> None:
    """A manifest that names no service of its pack, or is none of a service's, does not load."""
    url = "http://127.0.0.1:9"
    state = desk_state(url, tools=())
    with pytest.raises(AuthoringError, match=expected):
        suite_of(desk_pack(url, state=state, manifest=replace(MANIFEST, **changes)), tmp_path)


@pytest.mark.parametrize(
    "url",
    ["", "desk:80", "ftp://desk/", "http://user:word@desk/", "http://desk/#x", "http://desk:http/"],
)
def test_a_service_needs_an_address(tmp_path: Path, url: str) -> None:
    """An address that could not be used is refused before anything runs."""
    with pytest.raises(AuthoringError, match="ARH_SERVICE_DESK"):
        suite_of(desk_pack(url), tmp_path)
