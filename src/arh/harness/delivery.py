"""Proof that a declared fault happened: a pure function over one run's events.

A fault counts as delivered only if three parties agree: the injector armed it, the port's proxy put
it into a call, and the caller's own record of that call (the gateway's attempt log, the session's
exchange with the model) shows the symptom that the fault table promises. A symptom without an
injection proves nothing, nor does an injection that its caller never felt. With several
injections, each must be witnessed.
"""

from __future__ import annotations

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
    plans: Iterable[FaultPlan],
    events: Iterable[Event],
    calls: Sequence[CallEvidence],
    exchanges: Sequence[ExchangeEvidence],
) -> tuple[FaultEvidence, ...]:
    """Return for each declared fault how far its delivery is proven, in the order declared."""
    traces: dict[str, _Trace] = {}
    for event in events:
        if event.source == SOURCE:
            traces.setdefault(str(event.data.get("fault")), _Trace()).add(event)
    log = _Log(calls, exchanges)
    return tuple(_delivery(plan, traces.get(plan.id, _Trace()), log) for plan in plans)


@dataclass(slots=True)
class _Trace:
    """The events of one fault by kind."""

    armed: list[Event] = field(default_factory=list)
    entered: list[Event] = field(default_factory=list)
    injected: list[Event] = field(default_factory=list)
    left: list[Event] = field(default_factory=list)

    def add(self, event: Event) -> None:
        """File an event; kinds that are no fault proxy's prove nothing."""
        kinds = {
            "fault_armed": self.armed,
            "port_entered": self.entered,
            "fault_injected": self.injected,
            "port_left": self.left,
        }
        if event.kind in kinds:
            kinds[event.kind].append(event)

    def left_after(self, injected: Event) -> Event | None:
        """Return how the struck call left its port, if it shows the symptom that was injected."""
        of_call = (e for e in self.left if e.seq > injected.seq and _same_call(e, injected))
        left = next(of_call, None)
        if left is None or left.data.get("symptom") != injected.data.get("symptom"):
            return None
        return left

    def entered_before(self, injected: Event) -> bool:
        """Return true if the struck call had entered its port."""
        return any(e.seq < injected.seq and _same_call(e, injected) for e in self.entered)


class _Log:
    """The callers' own records, to be found by call or by what came next."""

    def __init__(
        self, calls: Sequence[CallEvidence], exchanges: Sequence[ExchangeEvidence]
    ) -> None:
        self._by_id = {call.call_id: call for call in calls}
        self._calls = sorted(calls, key=attrgetter("seq"))
        self._exchanges = sorted(exchanges, key=attrgetter("seq"))

    def caller_of(self, injected: Event, found: Row) -> Witness | None:
        """Return the record of the call that was struck.

        A model's exchange, and a call during which the gateway read outside any transaction, are
        the actor's next ones to end.
        """
        if found.port == "complete":
            return _next(self._exchanges, injected)
        call = injected.data.get("call")
        return self._by_id.get(str(call)) if call else _next(self._calls, injected)


def _delivery(plan: FaultPlan, trace: _Trace, log: _Log) -> FaultEvidence:
    """Return how far one fault's delivery is proven, with the events that prove it."""
    found = row(plan)
    witnesses = [_witness(plan, found, event, trace, log) for event in trace.injected]
    proof = [*trace.armed, *trace.injected]
    events = [event.id for event in proof] + [w.event_id for w in witnesses if w is not None]
    return FaultEvidence(
        fault_id=plan.id,
        target_type=plan.target_type,
        target_name=plan.target_name,
        phase=plan.phase,
        effect=plan.effect,
        state=_state(trace, witnesses),
        events=tuple(dict.fromkeys(events)),
        calls=tuple(dict.fromkeys(map(_call_id, trace.injected, witnesses))),
    )


def _state(trace: _Trace, witnesses: Sequence[Witness | None]) -> FaultState:
    """Return the first thing that is missing, or that nothing is."""
    if not trace.armed:
        return "not_armed"
    if not trace.entered:
        return "not_exposed"
    if not trace.injected:
        return "not_injected"
    return "not_witnessed" if None in witnesses else "delivered"


def _witness(
    plan: FaultPlan, found: Row | None, injected: Event, trace: _Trace, log: _Log
) -> Witness | None:
    """Return the caller's record that shows the injected symptom, or `None`."""
    data = injected.data
    symptom = data.get("symptom")
    if found is None or (data.get("phase"), data.get("effect")) != (plan.phase, plan.effect):
        return None
    promised = (found.symptom, *(("timeout",) if found.late else ()))
    if symptom not in promised or not trace.entered_before(injected):
        return None
    if trace.left_after(injected) is None:
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


def _next(records: Sequence[Any], injected: Event) -> Any:  # noqa: ANN401 - one kind or the other
    """Return the first record of the same actor that was written after the injection."""
    later = (r for r in records if r.seq > injected.seq and r.actor == injected.actor)
    return next(later, None)


def _same_call(event: Event, injected: Event) -> bool:
    return bool(event.data.get("call") == injected.data.get("call"))


def _call_id(injected: Event, witness: Witness | None) -> str:
    """Return the id by which the struck call is known: the caller's, if it has one."""
    return witness.call_id if isinstance(witness, CallEvidence) else str(injected.data.get("call"))
