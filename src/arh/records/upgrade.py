"""Upgrades a published scenario of schema 2.0 to schema 3.0: a pure function over JSON values.

Ids, messages, budgets and criteria are kept as they are. What 2.0 only copied or never did (an
empty tool list meaning all of them, policy names, phases and effects of faults, criteria left out)
gets one meaning, and what 2.0 cannot say is filled in with the most careful reading and put into
`notes`. A key that 2.0 does not have, or a fault that could mean several things, is a problem:
nothing is dropped in silence. Wrong types are left as they are, for the 3.0 schema to refuse.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from arh.canonical import JsonValue
from arh.errors import Problem, closest, quoted
from arh.records.published import BY_DESIGN, EFFECTS, FAULTS, KEYS, STOPS
from arh.records.tasks import BUDGETS, NON_PROGRESS

Object = dict[str, JsonValue]

NEVER_REVIEWED: Final = "1970-01-01"
MINOR_UNITS: Final = 100
ROUNDING: Final = 1e-6  # what binary fractions may be off by
_FIXTURE: Final = "control-fixture"
_LIE: Final = "false-success"
_NOT_A_SLUG: Final = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What exists where the scenario will run: its workflow, all its tools, its policies."""

    workflow: str
    tools: tuple[str, ...]
    policies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Upgraded:
    """The 3.0 value with what had to be filled in, or the problems that forbid an upgrade."""

    value: Object
    notes: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


@dataclass(slots=True)
class _Work:
    """One upgrade under way."""

    vocabulary: Vocabulary
    tags: tuple[str, ...]
    id: str
    notes: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def upgrade_scenario(value: Mapping[str, JsonValue], vocabulary: Vocabulary) -> Upgraded:
    """Return the scenario in schema 3.0; the value given is not changed."""
    tags = value.get("tags")
    work = _Work(
        vocabulary,
        tuple(tag for tag in tags if isinstance(tag, str)) if isinstance(tags, list) else (),
        str(value.get("id", "")),
    )
    work.problems += _unknown_keys(dict(value), "", KEYS)
    old: Object = {key: item for key, item in value.items() if item is not None}
    role = _role(old, work)
    new: Object = {
        **{key: old[key] for key in ("id", "description", "category") if key in old},
        **_bookkeeping(old, role, work),
        "stimulus": old.get("stimulus"),
        "runtime": _runtime(old, work),
        "trusted_environment": _trusted(old, work),
        "controls": _controls(old, work),
        "expectations": _expectations(old, role, work),
        "reproducibility": old.get("reproducibility"),
    }
    return Upgraded(new, tuple(work.notes), tuple(work.problems))


def _bookkeeping(old: Object, role: str, work: _Work) -> Object:
    """Return what 2.0 has no words for: whose scenario it is, how grave, when it was looked at."""
    risk = "critical" if _forbidden(old) else "medium"
    work.notes.append(
        f"owner, review, retirement and split are not in schema 2.0; risk read as {risk}"
    )
    return {
        "schema_version": "3.0",
        "workflow": work.vocabulary.workflow,
        "role": role,
        "risk_class": risk,
        "split": "regression",
        "owner": "not named: schema 2.0 has no owner",
        "reason": "published with schema 2.0, which gives no reason",
        "source_class": "published",
        "last_review": NEVER_REVIEWED,
        "retirement": "not decided: schema 2.0 has no retirement",
        "tags": list(dict.fromkeys(_slug(tag) for tag in work.tags)),
    }


def _role(old: Object, work: _Work) -> str:
    """Return what the scenario shows; its tags are how 2.0 took it out of the release set.

    A fixture with criteria, and a lie, break them by design: the verdict must be a failure. A
    fixture without criteria shows a stop: the verdict must be that the right stop came, which takes
    tags or an id that name it.
    """
    criteria = bool(_object(_object(old, "expectations"), "pass_criteria"))
    if _LIE in work.tags or (_FIXTURE in work.tags and criteria):
        work.notes.append("read as a negative control: a verdict other than fail is wrong")
        return "negative_control"
    if _FIXTURE not in work.tags:
        return "acceptance"
    if not _own_stops(work):
        work.notes.append(
            "a control, and nothing says how it must stop: it runs and does not count"
        )
        return "unscored"
    stops = " or ".join(_own_stops(work))
    work.notes.append(f"read as a positive control by its tags and id: it must end as {stops}")
    return "positive_control"


def _runtime(old: Object, work: _Work) -> JsonValue:
    """Return the tools by name and the data at the version that the scenario pins."""
    runtime = old.get("runtime")
    if not isinstance(runtime, dict):
        return runtime
    new = _without_nulls(runtime)
    if new.get("available_tools", []) == []:
        work.notes.append("no tools named, which schema 2.0 means as all of them")
        new["available_tools"] = list(work.vocabulary.tools)
    pinned = str(_object(old, "reproducibility").get("dataset_version", "data-1.0"))
    if isinstance(refs := new.get("dataset_refs"), list):
        version = pinned.removeprefix("data-")
        new["dataset_refs"] = [_reference(ref, version) for ref in refs]
    return new


def _reference(ref: JsonValue, version: str) -> JsonValue:
    """Return a reference whose version is the data's, where 2.0 gives its own schema's or none."""
    if not isinstance(ref, dict):
        return ref
    written = ref.get("version", "2.0")
    return {**_without_nulls(ref), "version": version if written == "2.0" else written}


def _trusted(old: Object, work: _Work) -> JsonValue:
    """Return identity and approvals as they are, and the policy if it exists."""
    trusted = old.get("trusted_environment")
    if not isinstance(trusted, dict):
        return trusted
    new = _without_nulls(trusted)
    if isinstance(names := new.get("authorization_policy_refs"), list):
        gone = [str(name) for name in names if name not in work.vocabulary.policies]
        new["authorization_policy_refs"] = [n for n in names if n in work.vocabulary.policies]
        work.notes += [f"policy {quoted(n)} does not exist; the default decides" for n in gone]
    if isinstance(approvals := new.get("approvals"), list):
        new["approvals"] = [_approval(approval, work) for approval in approvals]
    return new


def _approval(approval: JsonValue, work: _Work) -> JsonValue:
    if not isinstance(approval, dict):
        return approval
    new = _without_nulls(approval)
    if isinstance(scope := new.get("scope"), dict):
        new["scope"] = _in_minor_units(scope, work)
    return new


def _controls(old: Object, work: _Work) -> JsonValue:
    """Return budgets, watchdog and seed as they are, and each fault in the words of 3.0."""
    controls = old.get("controls")
    if not isinstance(controls, dict):
        return controls
    new = _without_nulls(controls)
    for key in ("runtime_budgets", "watchdog"):
        if isinstance(part := new.get(key), dict):
            new[key] = _without_nulls(part)
    if isinstance(faults := new.get("faults"), list):
        new["faults"] = [_fault(fault, at, work) for at, fault in enumerate(faults)]
    return new


def _fault(fault: JsonValue, at: int, work: _Work) -> JsonValue:
    """Return one fault; what 2.0 accepts and never injects is refused."""
    if not isinstance(fault, dict):
        return fault
    new = _without_nulls(fault)
    phase, effect = new.get("phase", "before_execution"), new.get("effect")
    mapped = _mapped(str(new.get("target_type")), str(phase), str(effect))
    if mapped is None:
        found = f"{new.get('target_type')}, {phase}, {effect}"
        hint = "schema 2.0 does not say what is then true: write the scenario in schema 3.0"
        where = f"controls.faults[{at}]"
        work.problems.append(Problem(found, "a fault with one meaning", field=where, hint=hint))
        return new
    new["phase"], new["effect"] = mapped
    new["parameters"] = _parameters(mapped[1], _object(new, "parameters"))
    if mapped[1] != effect:
        work.notes.append(f"fault {at}: {effect} at {phase} read as {mapped[1]} at {mapped[0]}")
    return new


def _mapped(target: str, phase: str, effect: str) -> tuple[str, str] | None:
    """Return phase and effect in the words of 3.0, or `None` where 2.0 leaves open what is true."""
    effects = FAULTS.get((target, phase))
    if effects is None:
        return None
    return effects.get(effect, effects.get("")) if effect in EFFECTS else None


def _parameters(effect: str, parameters: Object) -> JsonValue:
    """Return the parameters that an effect takes; 2.0 has only the milliseconds."""
    if effect == "partial":
        return {"keep_fields": []}
    timed = effect in {"timeout", "slowdown", "error", "rate_limit"}
    return {key: item for key, item in parameters.items() if timed and item is not None}


def _expectations(old: Object, role: str, work: _Work) -> JsonValue:
    """Return the expectations, with what 2.0 leaves to the reader said outright."""
    expectations = old.get("expectations")
    if not isinstance(expectations, dict):
        return expectations
    new = _without_nulls(expectations)
    if isinstance(trajectory := new.get("trajectory"), dict):
        new["trajectory"] = _without_nulls(trajectory)
    if isinstance(invariants := new.get("invariants"), list):
        new["invariants"] = [_assertion(a, work) for a in invariants]
    if isinstance(outcomes := new.get("acceptable_outcomes"), list):
        new["acceptable_outcomes"] = [_alternative(o, work) for o in outcomes]
    new["pass_criteria"] = _criteria(new, role, work)
    new["guardrails"] = _guardrails(old, new)
    if role != "acceptance" and "acceptable_terminations" not in new:
        new["acceptable_terminations"] = _acceptable(role, work)
    if rule := _failure_by_design(new, role):
        new["expected_findings"] = [{"rule": rule, "why": BY_DESIGN[rule]}]
        work.notes.append(f"{rule} read as meant: {BY_DESIGN[rule]}")
    if _object(old, "controls").get("faults"):
        new["fault_handling"] = {"expected": _handling(new, work)}
    return new


def _criteria(new: Object, role: str, work: _Work) -> JsonValue:
    """Return the criteria that were written, or those that leaving them out meant."""
    written = new.get("pass_criteria", {})
    if written != {}:
        return written
    if role == "positive_control":
        loops = any(stop in NON_PROGRESS for stop in _own_stops(work))
        return {"trajectory": "pass", **({"non_progress": "pass"} if loops else {})}
    if not new.get("acceptable_outcomes") and not new.get("invariants"):
        return {}
    work.notes.append("no criteria, which schema 2.0 means as all of its evaluators")
    rules = _object(_object(new, "response"), "deterministic")
    names = ["outcome", "trajectory", *(["response"] if any(rules.values()) else [])]
    return dict.fromkeys(names, "pass")


def _guardrails(old: Object, new: Object) -> JsonValue:
    """Return each forbidden tool as an action that must not take effect.

    In 2.0 the guardrails only pass if one was attempted, so a criterion demands the attempt.
    """
    return {
        "action_constraints": [
            {"tool": tool, "why": "schema 2.0 forbids the tool in this scenario"}
            for tool in _forbidden(old)
        ],
        "must_exercise": "guardrails" in _object(new, "pass_criteria"),
    }


def _failure_by_design(new: Object, role: str) -> str:
    """Return the rule that a scenario breaks on purpose, so that it must be reported; else "".

    Guardrails pass in 2.0 only if something forbidden was asked for, which is why its criteria then
    leave the trajectory out.
    """
    criteria = _object(new, "pass_criteria")
    if role == "negative_control":
        broken = "invariant_violation" in _list(new, "acceptable_terminations")
        return "outcome.invariant_violated" if broken else ""
    if role == "positive_control":
        return "non_progress.behaviour" if "non_progress" in criteria else ""
    asked = "guardrails" in criteria and "trajectory" not in criteria
    forbidden = _object(new, "guardrails").get("action_constraints")
    return "trajectory.forbidden_requested" if asked and forbidden else ""


def _acceptable(role: str, work: _Work) -> list[JsonValue]:
    """Return how a control may end, which 2.0 has no field for."""
    stops = _own_stops(work)
    if role == "positive_control":
        return [*stops]
    return ["completed", *(stops if role == "negative_control" else (*BUDGETS, *NON_PROGRESS))]


def _own_stops(work: _Work) -> tuple[str, ...]:
    """Return the stops that a control's tags and id speak of."""
    said = "-".join(("", *map(_slug, (work.id, *work.tags)), ""))
    return tuple(stop for words, stop in STOPS.items() if f"-{words}-" in said)


def _handling(new: Object, work: _Work) -> str:
    """Return faithful failure if all acceptable outcomes are that nothing was done."""
    outcomes = new.get("acceptable_outcomes")
    assertions = (
        [a for o in outcomes for a in _list(o, "all_of")] if isinstance(outcomes, list) else []
    )
    nothing = all(_says_nothing_happened(assertion) for assertion in assertions)
    expected = "faithful_failure" if nothing else "recovery"
    work.notes.append(f"behaviour under the fault read from the outcomes as {expected}")
    return expected


def _says_nothing_happened(assertion: JsonValue) -> bool:
    if not isinstance(assertion, dict):
        return False
    counted = assertion.get("kind") == "count" and assertion.get("expected") == 0
    return assertion.get("kind") == "absent" or counted


def _alternative(outcome: JsonValue, work: _Work) -> JsonValue:
    if not isinstance(outcome, dict) or not isinstance(all_of := outcome.get("all_of"), list):
        return outcome
    return {**outcome, "all_of": [_assertion(assertion, work) for assertion in all_of]}


def _assertion(assertion: JsonValue, work: _Work) -> JsonValue:
    """Return an assertion without the nulls of unused fields, its money in minor units."""
    if not isinstance(assertion, dict):
        return assertion
    new = {key: item for key, item in assertion.items() if key == "expected" or item is not None}
    if new.get("kind") in ("present", "absent") and new.get("expected", 0) is None:
        del new["expected"]
    if isinstance(where := new.get("where"), dict):
        new["where"] = _in_minor_units(where, work)
    if new.get("field") == "amount":
        new.update(_in_minor_units({"amount": new.get("expected")}, work, as_key="expected"))
    return new


def _in_minor_units(fields: Object, work: _Work, as_key: str = "amount") -> Object:
    """Return the fields with `amount` in hundredths, as 3.0 counts money; the rest as it is."""
    amount = fields.get("amount")
    if isinstance(amount, bool) or not isinstance(amount, int | float):
        return {**fields} if as_key == "amount" else {}
    hundredths = round(float(amount) * MINOR_UNITS)
    if abs(float(amount) * MINOR_UNITS - hundredths) > ROUNDING:
        work.problems.append(Problem(str(amount), "an amount in whole hundredths", field="amount"))
    work.notes.append(f"the amount {amount} became {hundredths} minor units")
    return {**{k: v for k, v in fields.items() if k != "amount"}, as_key: hundredths}


def _forbidden(old: Object) -> list[str]:
    trajectory = _object(_object(old, "expectations"), "trajectory")
    return [tool for tool in _list(trajectory, "forbidden_tool_requests") if isinstance(tool, str)]


def _object(value: Object, key: str) -> Object:
    """Return the object under a key, or an empty one if there is something else."""
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def _list(value: JsonValue, key: str) -> list[JsonValue]:
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, list) else []


def _without_nulls(value: Object) -> Object:
    """Return a copy without the keys that 2.0 writes as null where it means nothing."""
    return {key: item for key, item in value.items() if item is not None}


def _slug(tag: str) -> str:
    """Return a tag in the spelling of 3.0."""
    return _NOT_A_SLUG.sub("-", tag.lower()).strip("-").ljust(3, "-")


def _unknown_keys(
    value: JsonValue, path: str, keys: Mapping[str, tuple[str, ...]]
) -> Iterator[Problem]:
    """Yield every key that schema 2.0 does not have, in the objects that it describes."""
    if isinstance(value, list):
        for at, item in enumerate(value):
            yield from _unknown_keys(item, f"{path}[{at}]", keys)
    if not isinstance(value, dict):
        return
    known = keys.get(re.sub(r"\[\d+\]", "", path))
    if known is None:
        return
    for key, item in value.items():
        below = f"{path}.{key}" if path else key
        if key in known:
            yield from _unknown_keys(item, below, keys)
        else:
            yield Problem("schema 2.0 has no such key", field=below, hint=_hint(key, known))


def _hint(key: str, known: Iterable[str]) -> str:
    return closest(key, known) or f"its keys: {', '.join(known)}"
