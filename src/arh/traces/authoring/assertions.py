"""Reading inline assertions: in a policy, in a file of their own, or as `expected` checks.

An assertion that cannot fail is worse than none, so it is refused when it is read: an unknown type
(the nearest one is named), an unknown key, an empty blocklist, a minimum of no calls. Under
`expected` the same names judge the recorded calls instead of an example of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, cast

from arh.canonical import Json, JsonValue, Refused
from arh.errors import closest, quoted
from arh.schema import problem as schema_problem
from arh.traces.authoring import asserting as kinds
from arh.traces.authoring import patterns
from arh.traces.authoring.asserting import Assertion, Body, Expect, Selector
from arh.traces.authoring.forms import Form, PolicyRefused
from arh.traces.trace import shown_type, supported_version

ASSERTIONS_MAX: Final = 1_000
STEPS_LIMIT: Final = 2**32 - 1
STATUSES: Final = ("any", "ok", "error", "unknown")

_COMMON: Final = ("type",)


def read_assertions(form: Form) -> tuple[Assertion, ...]:
    """Return the assertions under `assertions` and `expected` of a document; mistakes are noted."""
    return (*_listed(form), *_expected(form))


def assertions_from_dict(data: object) -> tuple[Assertion, ...]:
    """Return the assertions of a file of their own: an object, or only the list.

    Raises:
        PolicyRefused: There is a mistake, or nothing is asserted.
    """
    document: JsonValue = (
        {"assertions": data} if isinstance(data, list) else cast("JsonValue", data)
    )
    if not isinstance(document, dict):
        raise PolicyRefused.of(f"assertions must be an object or a list, found {shown_type(data)}")
    form = Form("assertion", document)
    form.only("$schema", "schema_version", "description", "assertions", "expected")
    supported_version(document.get("schema_version"), "assertions file")
    found = read_assertions(form)
    if not found and not form.problems:
        form.note("assertions", "nothing is asserted", "write at least one assertion")
    form.refuse()
    return found


def _listed(form: Form) -> list[Assertion]:
    """Return the assertions of the list."""
    values = form.data.get("assertions")
    if values is None:
        return []
    if not isinstance(values, list) or len(values) > ASSERTIONS_MAX:
        form.wrong("assertions", f"a list of at most {ASSERTIONS_MAX} assertions")
        return []
    found = []
    for at, value in enumerate(values):
        path = f"{form.within('assertions')}[{at}]"
        if not isinstance(value, dict):
            form.note(path, "an assertion must be an object", f"found {shown_type(value)}")
            continue
        inner = form.at(value, path)
        inner.kind = "assertion"
        found += _assertion(inner, value.get("type"), TYPES)
    return found


def _expected(form: Form) -> list[Assertion]:
    """Return the checks of recorded calls, by name: one body a name, or a list of them."""
    outer = form.section("expected")
    if outer is None:
        return []
    found: list[Assertion] = []
    if not outer.data:
        form.note(form.within("expected"), "nothing is expected", "name a check, or remove it")
    for name, value in outer.data.items():
        bodies = value if isinstance(value, list) and value else [value]
        for at, body in enumerate(bodies):
            path = outer.within(name) + (f"[{at}]" if isinstance(value, list) else "")
            if not isinstance(body, dict):
                form.note(path, "a check must be an object", f"found {shown_type(body)}")
                continue
            inner = form.at(body, path)
            inner.kind = "assertion"
            found += _assertion(inner, name, RECORDED_TYPES)
    return found


Reading = Callable[[Form], Body | None]


def _assertion(form: Form, kind: object, types: Mapping[str, Reading]) -> list[Assertion]:
    """Return the assertion of an object, or note why it is none."""
    if not isinstance(kind, str):
        form.wrong("type", f"one of {', '.join(types)}")
        return []
    reading = types.get(kind)
    if reading is None:
        hint = closest(kind, types) or f"known are {', '.join(types)}"
        form.note(form.within("type"), f"unknown assertion type {quoted(kind)}", hint)
        return []
    body = reading(form)
    return [] if body is None else [Assertion(kind, form.path, body)]


def _ineffective(form: Form, name: str, why: str) -> None:
    form.note(
        form.within(name), f"the assertion cannot fail: {why}", "assert something, or remove it"
    )


def _tool(form: Form, name: str = "tool") -> str:
    """Return the name of a tool."""
    tool = form.text(name)
    if tool is None and form.data.get(name) is None:
        form.wrong(name, "the name of a tool")
    if tool == "":
        _ineffective(form, name, "no tool has an empty name")
    return tool or ""


def _status(form: Form) -> str:
    return form.choice("status", STATUSES) or "any"


def _must_call(form: Form) -> Body:
    form.only(*_COMMON, "tool", "min_calls", "status")
    least = form.whole("min_calls", least=0)
    if least == 0:
        _ineffective(form, "min_calls", "there are always at least 0 calls")
    return kinds.MustCall(
        Selector(_tool(form), status=_status(form)), 1 if least is None else least
    )


def _must_not_call(form: Form) -> Body:
    form.only(*_COMMON, "tool", "status")
    return kinds.MustNotCall(Selector(_tool(form), status=_status(form)))


def _tool_sequence(form: Form) -> Body:
    form.only(*_COMMON, "sequence", "allow_other_tools", "status")
    tools = form.texts("sequence")
    others = form.flag("allow_other_tools")
    if form.data.get("sequence") is None:
        form.wrong("sequence", "a list of tools")
    if form.data.get("allow_other_tools") is None:
        form.wrong("allow_other_tools", "true or false: there is no default")
    elif not tools and others:
        _ineffective(form, "sequence", "no tool has to be called, and all may be")
    if "" in tools:
        _ineffective(form, "sequence", "no tool has an empty name")
    return kinds.ToolSequence(tools, others, _status(form))


def _max_steps(form: Form) -> Body:
    form.only(*_COMMON, "max")
    most = form.whole("max", least=0)
    if most is None and form.data.get("max") is None:
        form.wrong("max", "an integer >= 0")
    if most is not None and most >= STEPS_LIMIT:
        _ineffective(form, "max", "no trace has so many steps")
    return kinds.MaxSteps(most or 0)


def _selector(form: Form, name: str) -> Selector:
    """Return which calls are meant: those of a tool, or of an object with conditions."""
    value = form.data.get(name)
    if isinstance(value, str):
        return Selector(_tool(form, name))
    if not isinstance(value, dict):
        form.wrong(name, "a tool, or an object with tool, args_match and status")
        return Selector("")
    inner = form.at(value, form.within(name))
    inner.kind = form.kind
    inner.only("tool", "args_match", "status")
    conditions = inner.section("args_match")
    wanted = (
        [] if conditions is None else [_condition(conditions, each) for each in conditions.data]
    )
    return Selector(_tool(inner), tuple(wanted), _status(inner))


def _condition(form: Form, name: str) -> tuple[str, str]:
    pattern = form.text(name) or ""
    said = patterns.linear_problem(pattern, full=True)
    if said:
        form.note(form.within(name), f"the pattern cannot be used: {said}")
    return name, pattern


def _before(form: Form) -> Body:
    form.only(*_COMMON, "first", "then")
    return kinds.Before(_selector(form, "first"), _selector(form, "then"))


def _after(form: Form) -> Body:
    form.only(*_COMMON, "trigger", "then", "within")
    within = form.whole("within", least=1)
    return kinds.After(_selector(form, "trigger"), _selector(form, "then"), within)


def _never_after(form: Form) -> Body:
    form.only(*_COMMON, "trigger", "forbidden")
    return kinds.NeverAfter(_selector(form, "trigger"), _selector(form, "forbidden"))


def _expect(form: Form) -> Expect:
    """Return what is expected; any other spelling than pass and fail is refused."""
    value = form.choice("expect", ("pass", "fail"))
    return "fail" if value == "fail" else "pass"


def _checked_policy(form: Form, *keys: str) -> Form | None:
    """Return what an example is checked against."""
    policy = form.section("policy")
    if policy is None:
        if not form.data.get("policy"):
            _ineffective(form, "policy", "there is no policy to check against")
        return None
    if keys:
        policy.only(*keys)
    return policy


def _blocked(form: Form) -> tuple[str, ...]:
    blocked = form.texts("blocked")
    if not form.data.get("blocked"):
        _ineffective(form, "blocked", "an empty blocklist admits every call")
    return blocked


def _blocklist(form: Form) -> Body:
    form.only(*_COMMON, "test_tool_calls", "policy", "expect")
    calls = form.texts("test_tool_calls")
    if not form.data.get("test_tool_calls"):
        _ineffective(form, "test_tool_calls", "there are no calls to check")
    policy = _checked_policy(form, "blocked")
    return kinds.Blocklist(() if policy is None else _blocked(policy), _expect(form), calls)


def _recorded_blocklist(form: Form) -> Body:
    form.only("blocked", "expect")
    return kinds.Blocklist(_blocked(form), _expect(form))


def _regex(form: Form) -> str:
    """Return a pattern over the names of calls."""
    regex = form.text("regex")
    if not regex:
        _ineffective(form, "regex", "without a pattern every sequence is valid")
        return ""
    said = patterns.linear_problem(regex, full=True)
    if said:
        form.note(form.within("regex"), f"the pattern cannot be used: {said}")
    return regex


def _sequence_valid(form: Form) -> Body:
    form.only(*_COMMON, "test_trace_raw", "test_trace", "policy", "expect")
    policy = _checked_policy(form, "regex")
    regex = "" if policy is None else _regex(policy)
    return kinds.SequenceValid(regex, _expect(form), _raw_names(form))


def _recorded_sequence_valid(form: Form) -> Body:
    form.only("regex", "expect")
    return kinds.SequenceValid(_regex(form), _expect(form))


def _raw_names(form: Form) -> tuple[str, ...]:
    """Return the tools of an example trace."""
    if form.data.get("test_trace") is not None:
        form.note(form.within("test_trace"), "`test_trace` is never judged", "use `test_trace_raw`")
    entries = form.data.get("test_trace_raw")
    if not isinstance(entries, list):
        _ineffective(form, "test_trace_raw", "there is no trace to check")
        return ()
    names = []
    for at, entry in enumerate(entries):
        name = None
        if isinstance(entry, dict):
            name = entry.get("tool", entry.get("tool_name"))
        if isinstance(name, str):
            names.append(name)
        else:
            path = f"{form.within('test_trace_raw')}[{at}]"
            form.note(path, "an entry must name its `tool`")
    return tuple(names)


def _args_valid(form: Form) -> Body | None:
    form.only(*_COMMON, "tool", "test_args", "policy", "expect")
    example = form.data.get("test_args")
    if example is None:
        _ineffective(form, "test_args", "there are no arguments to check")
    policy = _checked_policy(form)
    schema = _schema(form, None if policy is None else policy.data.get("schema", policy.data))
    frozen = _frozen(form, "test_args", example)
    if schema is None or frozen is None:
        return None
    return kinds.ArgsValid(_tool(form), schema, _expect(form), frozen)


def _recorded_args_valid(form: Form) -> Body | None:
    form.only("tool", "schema", "expect")
    schema = _schema(form, form.data.get("schema"))
    tool, expect = _tool(form), _expect(form)
    return None if schema is None else kinds.ArgsValid(tool, schema, expect)


def _schema(form: Form, value: JsonValue) -> Json | None:
    """Return a JSON Schema that can refuse something."""
    if value is None or value == {} or value is True:
        if form.data.get("policy") or "schema" in form.data or value is None:
            _ineffective(form, "schema", "an empty schema admits everything")
        return None
    frozen = _frozen(form, "schema", value)
    said = "" if frozen is None else schema_problem(frozen)
    if said:
        form.note(form.within("schema"), f"the schema cannot be used: {said}")
        return None
    return frozen


def _frozen(form: Form, name: str, value: JsonValue) -> Json | None:
    try:
        return Json.of(value)
    except Refused as refused:
        form.note(form.within(name), f"no JSON value that can be judged: {refused}")
        return None


_TRACE_TYPES: Final[dict[str, Reading]] = {
    "trace_must_call_tool": _must_call,
    "trace_must_not_call_tool": _must_not_call,
    "trace_tool_sequence": _tool_sequence,
    "trace_max_steps": _max_steps,
    "trace_before": _before,
    "trace_after": _after,
    "trace_never_after": _never_after,
}
TYPES: Final[Mapping[str, Reading]] = MappingProxyType(
    {
        **_TRACE_TYPES,
        "tool_blocklist": _blocklist,
        "args_valid": _args_valid,
        "sequence_valid": _sequence_valid,
    }
)
RECORDED_TYPES: Final[Mapping[str, Reading]] = MappingProxyType(
    {
        **_TRACE_TYPES,
        "tool_blocklist": _recorded_blocklist,
        "args_valid": _recorded_args_valid,
        "sequence_valid": _recorded_sequence_valid,
    }
)

__all__ = [
    "RECORDED_TYPES",
    "TYPES",
    "Assertion",
    "PolicyRefused",
    "assertions_from_dict",
    "read_assertions",
]
