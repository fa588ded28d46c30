"""Proof that a declared fault happened: a pure function over one run's events.

A fault counts as delivered only if three parties agree: the injector armed it, the port's proxy put
it into a call, and the caller's own record of that call (the gateway's attempt log, the session's
exchange with the model) shows the symptom that the fault table promises. A symptom without an
injection proves nothing, nor does an injection that its caller never felt. With several
injections, each must be witnessed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Final

from arh.records.control.evidence import (
    CallEvidence,
    Event,
    ExchangeEvidence,
    FaultEvidence,
    FaultState,
)
from arh.records.faults import FaultPlan
from arh.sim.fault_table import Row, Sign, row

SOURCE: Final = "fault_proxy"

Witness = CallEvidence | ExchangeEvidence


def deliveries(
    plans: Sequence[FaultPlan],
    events: Iterable[Event],
    calls: Sequence[CallEvidence],
    exchanges: Sequence[ExchangeEvidence],
) -> tuple[FaultEvidence, ...]:
    """Return for each declared fault how far its delivery is proven, in the order declared."""
    if not plans:
        return ()
    traces: dict[str, _Trace] = {}
    for event in events:
        if event.source == SOURCE:
            traces.setdefault(str(event.data.get("fault")), _Trace()).add(event)
    log = _Log(calls, exchanges)
    return tuple(_delivery(plan, traces.get(plan.id, _Trace()), log) for plan in plans)


@dataclass(slots=True)
class _Visit:
    """One call's way through the port: what was injected, and the symptom that it left with."""

    injected: Event | None = None
    left: object = None


@dataclass(slots=True)
class _Trace:
    """The events of one fault: its arming, its visits by call (several may be under way)."""

    armed: list[Event] = field(default_factory=list)
    visits: list[_Visit] = field(default_factory=list)
    injected: list[tuple[Event, _Visit]] = field(default_factory=list)
    under_way: dict[object, _Visit] = field(default_factory=dict)

    def add(self, event: Event) -> None:
        """File an event; an injection outside any visit gets one that it never left."""
        call = event.data.get("call")
        match event.kind:
            case "fault_armed":
                self.armed.append(event)
            case "port_entered":
                self.under_way[call] = visit = _Visit()
                self.visits.append(visit)
            case "fault_injected":
                visit = self.under_way.get(call) or _Visit()
                visit.injected = event
                self.injected.append((event, visit))
            case "port_left":
                self.under_way.pop(call, _Visit()).left = event.data.get("symptom")


class _Records:
    """One kind of callers' records, to be found by what came next for an actor."""

    def __init__(self, records: Sequence[Witness]) -> None:
        self._of: dict[str, list[Witness]] = {}
        for record in sorted(records, key=attrgetter("seq")):
            self._of.setdefault(record.actor, []).append(record)

    def after(self, event: Event) -> Witness | None:
        """Return the actor's first record that was written after the event."""
        mine = self._of.get(event.actor, [])
        at = bisect_right(mine, event.seq, key=attrgetter("seq"))
        return mine[at] if at < len(mine) else None


class _Log:
    """The callers' own records, to be found by call or by what came next."""

    def __init__(
        self, calls: Sequence[CallEvidence], exchanges: Sequence[ExchangeEvidence]
    ) -> None:
        self._by_id = {call.call_id: call for call in calls}
        self._calls = _Records(calls)
        self._exchanges = _Records(exchanges)

    def caller_of(self, injected: Event, found: Row) -> Witness | None:
        """Return the record of the call that was struck.

        A model's exchange, and a call during which the gateway read outside any transaction, are
        the actor's next ones to end.
        """
        if found.port == "complete":
            return self._exchanges.after(injected)
        call = injected.data.get("call")
        return self._by_id.get(str(call)) if call else self._calls.after(injected)


def _delivery(plan: FaultPlan, trace: _Trace, log: _Log) -> FaultEvidence:
    """Return how far one fault's delivery is proven, with the events that prove it."""
    found = row(plan)
    witnesses = [
        _witness(plan, found, event, log)
        if found and visit.left == event.data.get("symptom")
        else None
        for event, visit in trace.injected
    ]
    struck = [event for event, _ in trace.injected]
    events = [event.id for event in (*trace.armed, *struck)]
    events += [witness.event_id for witness in witnesses if witness is not None]
    return FaultEvidence(
        fault_id=plan.id,
        target_type=plan.target_type,
        target_name=plan.target_name,
        phase=plan.phase,
        effect=plan.effect,
        state=_state(trace, witnesses),
        events=tuple(dict.fromkeys(events)),
        calls=tuple(dict.fromkeys(map(_call_id, struck, witnesses))),
    )


def _state(trace: _Trace, witnesses: Sequence[Witness | None]) -> FaultState:
    """Return the first thing that is missing, or that nothing is."""
    if not trace.armed:
        return "not_armed"
    if not trace.visits:
        return "not_exposed"
    if not trace.injected:
        return "not_injected"
    return "not_witnessed" if None in witnesses else "delivered"


def _witness(plan: FaultPlan, found: Row, injected: Event, log: _Log) -> Witness | None:
    """Return the caller's record that shows the injected symptom, or `None`."""
    data = injected.data
    symptom = str(data.get("symptom"))
    if (data.get("phase"), data.get("effect")) != (plan.phase, plan.effect):
        return None
    if symptom != found.symptom and not (found.late and symptom == "timeout"):
        return None
    caller = log.caller_of(injected, found)
    if caller is None:
        return None
    shown = data.get("parameters")
    parameters = shown if isinstance(shown, Mapping) else {}
    return caller if any(_shows(caller, s, parameters) for s in found.witness(symptom)) else None


def _shows(caller: Witness, sign: Sign, parameters: Mapping[str, Any]) -> bool:
    """Return true if the caller's record shows the sign of what was injected."""
    match sign.field:
        case "elapsed":
            return _at_least(_elapsed(caller), parameters.get("ms"))
        case "lacks":
            return _lacks(getattr(caller, "result", None), parameters.get("removed"))
        case "reads":
            return _read_old(getattr(caller, "reads", ()), parameters.get("records"))
        case path:
            return _value(caller, path) in sign.values


def _elapsed(caller: Witness) -> int:
    """Return how long the caller waited."""
    if isinstance(caller, ExchangeEvidence):
        return caller.latency_ms
    return caller.returned_ms - caller.requested_ms


def _at_least(found: int, wanted: object) -> bool:
    return type(wanted) is int and found >= wanted


def _lacks(result: object, removed: object) -> bool:
    """Return true if the result is there and none of the removed fields is in it."""
    if not isinstance(result, Mapping) or not isinstance(removed, list) or not removed:
        return False
    return not any(name in result for name in removed)


def _read_old(reads: Iterable[tuple[str, str, int]], records: object) -> bool:
    """Return true if the caller was shown one of the older revisions."""
    if not isinstance(records, list):
        return False
    old = {tuple(record[:3]) for record in records if isinstance(record, list)}
    return any(tuple(read) in old for read in reads)


def _value(caller: Witness, path: str) -> object:
    """Return the field at a dotted path, `None` where a part of it is absent."""
    value: object = caller
    for name in path.split("."):
        value = getattr(value, name, None)
    return value


def _call_id(injected: Event, witness: Witness | None) -> str:
    """Return the id by which the struck call is known: the caller's, if it has one."""
    return witness.call_id if isinstance(witness, CallEvidence) else str(injected.data.get("call"))
