"""Reads one script file into a checked `Script`, or into the list of everything wrong with it."""

from __future__ import annotations

import re
from typing import Final, Literal

from arh.canonical import Json, JsonValue, Refused, encode
from arh.errors import Problem, closest
from arh.model.scripted.checks import Checks
from arh.model.scripted.guard_reader import read_guards
from arh.model.scripted.guards import contradiction, covers
from arh.model.scripted.script import CallPlan, Costs, Fixed, Planned, Rule, Said, Script, Then
from arh.model.scripted.templates import NAME, Bind, Fill, faults, filling, has_template
from arh.records.decisions import (
    AskUser,
    Decision,
    Malformed,
    Refusal,
    Truncated,
    Unavailable,
)
from arh.records.decisions import (
    Final as FinalAnswer,
)
from arh.regex import Regex, compiled, problem

CONFIG_ID: Final = re.compile(r"scripted:[a-z0-9-]+")
FILE_BYTES_MAX: Final = 2**20
COSTS: Final = ("input_tokens", "output_tokens", "latency_ms")
REASONS: Final = ("timeout", "dependency_error", "rate_limited")
KINDS: Final[dict[str, tuple[str, ...]]] = {
    "tool_call": ("tool", "arguments", "raw_arguments", "text"),
    "tool_calls": ("calls", "text"),
    "final_answer": ("final_answer", "envelope"),
    "ask_user": ("message",),
    "refusal": ("message",),
    "truncated": ("detail",),
    "malformed": ("detail",),
    "unavailable": ("reason", "retry_after_ms"),
}


def read_script(data: bytes, *, file: str) -> Script | tuple[Problem, ...]:
    """Return the script, or its problems."""
    try:
        source = Json.read(data, size_max=FILE_BYTES_MAX)
    except Refused as refused:
        where = "" if refused.column is None else f"see column {refused.column}"
        found = f"not strict JSON: {refused.reason}"
        return (Problem(found, "", file, refused.line, refused.path, where),)
    checks = Checks(file)
    script = _script(checks, source)
    if script is None or checks.problems:
        return tuple(checks.problems)
    return script


def _script(checks: Checks, source: Json) -> Script | None:
    """Return the script as far as it can be read."""
    value = checks.object("", source.value())
    if value is None:
        return None
    optional = ("description", "bind", "defaults", "on_mismatch")
    checks.keys("", value, required=("config_id", "rules"), optional=optional)
    bind = _bind(checks, value.get("bind", {}))
    rules = _rules(checks, value.get("rules", []), bind)
    checks.text("description", value.get("description", ""), empty=True)
    checks.object("on_mismatch", value.get("on_mismatch", {}))
    costs = _costs(checks, "defaults", value.get("defaults", {}), COSTS)
    return Script(_config_id(checks, value), rules, costs, source, checks.file)


def _config_id(checks: Checks, value: dict[str, JsonValue]) -> str:
    """Return the id, reported if it is none."""
    config_id = value.get("config_id", "")
    if isinstance(config_id, str) and CONFIG_ID.fullmatch(config_id):
        return config_id
    if config_id:
        checks.fault("config_id", config_id, "`scripted:` and a slug of a-z, 0-9 and hyphens")
    return ""


def _bind(checks: Checks, value: JsonValue) -> dict[str, Regex]:
    """Return the patterns that templates may use, by name."""
    bind: dict[str, Regex] = {}
    for name, pattern in (checks.object("bind", value) or {}).items():
        field = f"bind.{name}"
        if not NAME.fullmatch(name) or name in {"result", "results"}:
            checks.fault(field, name, "a name of a-z, 0-9 and _, not result or results")
        text = checks.text(field, pattern)
        if problem(text) or compiled(text).groups != 1:
            checks.fault(field, pattern, "an RE2 pattern with exactly one group", problem(text))
        else:
            bind[name] = compiled(text)
    return bind


def _rules(checks: Checks, value: JsonValue, bind: Bind) -> tuple[Rule, ...]:
    """Return the rules, each one checked against those before it."""
    rules: list[Rule] = []
    for index, item in enumerate(checks.items("rules", value)):
        rule = _rule(checks, f"rules[{index}]", item, bind)
        if rule is None:
            continue
        why = contradiction(rule.guards)
        earlier = next((r.place for r in rules if covers(r.guards, rule.guards)), "")
        if why:
            checks.say(f"{rule.place}.when", f"can never match: {why}", "change or remove it")
        elif earlier:
            found = f"unreachable: {earlier} matches whenever it does"
            checks.say(f"{rule.place}.when", found, "put it first, narrow the other or remove it")
        rules.append(rule)
    return tuple(rules)


def _rule(checks: Checks, field: str, item: JsonValue, bind: Bind) -> Rule | None:
    """Return one rule, or `None` if something in it is wrong."""
    before = len(checks.problems)
    value = checks.object(field, item)
    optional = ("usage", "latency_ms")
    if value is None or not checks.keys(field, value, required=("when", "then"), optional=optional):
        return None
    guards = read_guards(checks, f"{field}.when", value["when"])
    then = _then(checks, f"{field}.then", value["then"], bind)
    usage = _costs(checks, f"{field}.usage", value.get("usage", {}), COSTS[:2])
    latency_ms = None
    if "latency_ms" in value:
        latency_ms = checks.count(f"{field}.latency_ms", value["latency_ms"])
    if then is None or len(checks.problems) > before:
        return None
    costs = Costs(usage.input_tokens, usage.output_tokens, latency_ms)
    return Rule(field, guards, then, costs)


def _costs(checks: Checks, field: str, value: JsonValue, names: tuple[str, ...]) -> Costs:
    """Return the costs that are stated."""
    stated = checks.object(field, value) or {}
    checks.keys(field, stated, optional=names)
    counts = {
        name: checks.count(f"{field}.{name}", stated[name]) for name in names if name in stated
    }
    return Costs(**counts)


def _then(checks: Checks, field: str, item: JsonValue, bind: Bind) -> Then | None:
    """Return what the rule stands for."""
    value = checks.object(field, item)
    if value is None:
        return None
    kind = value.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        hint = closest(kind, KINDS) if isinstance(kind, str) else ""
        checks.fault(f"{field}.kind", kind, f"one of {', '.join(KINDS)}", hint)
        return None
    if not checks.keys(field, value, required=("kind",), optional=KINDS[kind]):
        return None
    for fault in faults({k: v for k, v in value.items() if k != "raw_arguments"}, bind):
        expected = "{{result.x}}, {{results.tool.x}} or a name of bind"
        checks.fault(field, fault, expected)
    return _of_kind(checks, field, kind, value, bind)


def _of_kind(
    checks: Checks, field: str, kind: str, value: dict[str, JsonValue], bind: Bind
) -> Then | None:
    """Return what the value of one kind stands for."""
    match kind:
        case "tool_call":
            plan = _plan(checks, field, value, bind)
            return None if plan is None else Planned((plan,), _beside(checks, field, value, bind))
        case "tool_calls":
            return _planned(checks, field, value, bind)
        case "final_answer":
            return _final(checks, field, value, bind)
        case "ask_user" | "refusal":
            message = checks.text(f"{field}.message", value.get("message"))
            return _said(kind, message, bind)
        case "unavailable":
            return _unavailable(checks, field, value)
        case _:
            detail = checks.text(f"{field}.detail", value.get("detail", ""), empty=True)
            return Fixed(Truncated(detail) if kind == "truncated" else Malformed(detail))


def _planned(checks: Checks, field: str, value: dict[str, JsonValue], bind: Bind) -> Planned:
    """Return several calls."""
    plans: list[CallPlan] = []
    for index, item in enumerate(checks.items(f"{field}.calls", value.get("calls"))):
        place = f"{field}.calls[{index}]"
        call = checks.object(place, item)
        optional = ("arguments", "raw_arguments")
        if call is not None and checks.keys(place, call, required=("tool",), optional=optional):
            plan = _plan(checks, place, call, bind)
            plans += [] if plan is None else [plan]
    return Planned(tuple(plans), _beside(checks, field, value, bind))


def _plan(checks: Checks, field: str, value: dict[str, JsonValue], bind: Bind) -> CallPlan | None:
    """Return one call: `arguments` is an object, `raw_arguments` any text, however broken."""
    tool = checks.text(f"{field}.tool", value.get("tool"))
    if ("arguments" in value) == ("raw_arguments" in value):
        checks.say(field, "expected exactly one of arguments and raw_arguments")
        return None
    if "raw_arguments" in value:
        raw = checks.text(f"{field}.raw_arguments", value["raw_arguments"], empty=True)
        return CallPlan(tool, raw)
    arguments = checks.object(f"{field}.arguments", value["arguments"])
    if has_template(arguments):
        return CallPlan(tool, filling(arguments, bind))
    return CallPlan(tool, encode(arguments).decode())


def _beside(checks: Checks, field: str, value: dict[str, JsonValue], bind: Bind) -> str | Fill:
    """Return the text that stands beside the calls."""
    text = checks.text(f"{field}.text", value.get("text", ""), empty=True)
    return filling(text, bind) if has_template(text) else text


def _final(checks: Checks, field: str, value: dict[str, JsonValue], bind: Bind) -> Then | None:
    """Return a final answer: text, or an object under either name."""
    if ("final_answer" in value) == ("envelope" in value):
        checks.say(field, "expected exactly one of final_answer and envelope")
        return None
    answer = value.get("final_answer", value.get("envelope"))
    if "final_answer" in value and isinstance(answer, str):
        return _said("final_answer", answer, bind)
    name = "final_answer" if "final_answer" in value else "envelope"
    envelope = checks.object(f"{field}.{name}", answer)
    return None if envelope is None else _said("envelope", envelope, bind)


def _said(
    kind: Literal["final_answer", "envelope", "ask_user", "refusal"], value: JsonValue, bind: Bind
) -> Then:
    """Return something to say, settled now if nothing has to be filled in."""
    if has_template(value):
        return Said(kind, filling(value, bind))
    if not isinstance(value, str):
        return Fixed(FinalAnswer(Json.of(value)))
    decisions: dict[str, Decision] = {
        "final_answer": FinalAnswer(value),
        "ask_user": AskUser(value),
        "refusal": Refusal(value),
    }
    return Fixed(decisions[kind])


def _unavailable(checks: Checks, field: str, value: dict[str, JsonValue]) -> Then | None:
    """Return a reply that does not come."""
    reason = value.get("reason")
    if not isinstance(reason, str) or reason not in REASONS:
        checks.fault(f"{field}.reason", reason, f"one of {', '.join(REASONS)}")
        return None
    if "retry_after_ms" not in value:
        return Fixed(Unavailable(reason))
    retry_after_ms = checks.count(f"{field}.retry_after_ms", value["retry_after_ms"])
    return Fixed(Unavailable(reason, retry_after_ms))
