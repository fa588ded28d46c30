"""Decides what of an event may be persisted, before its bytes are made.

Three steps, for every event of a run. By schema: of a call's arguments and results only declared
fields keep their values, and a manifest's sensitive fields keep none, wherever they turn up. By
name: a field that is called like a secret is masked at any depth. By shape: texts lose everything
that looks like a secret. Structure, identifiers, tools, reasons, digests and numbers stay, so that
what is left can still be judged.

A digest over a value that may not be kept would give it away to whoever tries all values. So where
a sensitive field was part of what was digested, the digest is exchanged for a token: the same one
wherever the run has the same digest, since attempt, decision and commit are joined by it. With a
key the token is an HMAC under a key of the run, so that its owner can check it; without one it is a
running number, which says nothing. A seeded row or state that holds something masked has the digest
of what is kept of it instead, which is the same for all runs.

The initial state and the scenarios lie beside the events, and are redacted the same way.

A redactor that fails on an event drops the content, the actor's name too, and says so; such a run
cannot pass. One redactor serves one run at a time: what it learned is forgotten when the next run
starts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final

import jiter

from arh.canonical import JsonValue, digest, line
from arh.foreign import ForeignFailure, call
from arh.records.packs import WorkflowPack
from arh.telemetry.authored import withheld
from arh.telemetry.correlation import MASKED, RunMemory, correlate, run_key
from arh.telemetry.fields import ANYTHING, NOTHING, Fields, bounded, declared, known
from arh.telemetry.scrubbing import SECRET, UNREADABLE, Scrubber

__all__ = ["MASKED", "SECRET", "UNDECLARED", "UNREADABLE", "Redactor", "correlate"]

UNDECLARED: Final = "[redacted]"

_ENVELOPE: Final = ("seq", "kind", "source", "at_ms")
_OPERATIONS: Final = "_operations"
_REPLIED: Final = frozenset({"status", "reason", "result"})
_APART: Final = frozenset({"initial_state", "authored"})
_NONE: Final[frozenset[str]] = frozenset()

Data = dict[str, object]


class Redactor:
    """Implements the recorder's `Redact` for the workflow of one pack."""

    def __init__(self, pack: WorkflowPack, *, key: bytes = b"") -> None:
        """Read what the pack's manifests and collections declare.

        `key` makes tokens HMACs that the key's owner can check. `failures` counts the events that
        could not be redacted, of which only the envelope was kept.
        """
        self._tools = _tools(pack)
        self._sensitive = _NONE.union(*(tool.sensitive for tool in self._tools.values()))
        self._strict = bool(self._sensitive) or _all_fields(pack) is not None
        self._key = key
        self.failures = 0
        self._scrubber = Scrubber()
        self._run = RunMemory()
        self._requests: dict[tuple[str, str], str] = {}
        self._seeds: dict[str, dict[str, str]] = {}
        self._steps: Mapping[str, Callable[[Data], Data]] = {
            "run_started": self._started,
            "initial_state": self._initial,
            "authored": self._authored,
            "state_seeded": self._seeded,
            "model_asked": self._asked,
            "model_answered": self._answered,
            "budget_refused": self._refused,
            "tool_call": self._called,
            "state_changed": self._changed,
            "agent_finished": self._finished,
            "run_ended": self._ended,
        }

    def __call__(self, kind: str, data: Data, /) -> Data:
        """Return what of the event may be persisted; the input is left alone."""
        done = call("redactor", partial(self._redacted, kind, data))
        if isinstance(done, ForeignFailure):
            self.failures += 1
            kept: Data = {name: data[name] for name in _ENVELOPE if name in data}
            kept.update(actor="", redaction_failed=True)
            return kept
        return done

    def _redacted(self, kind: str, data: Data) -> Data:
        if kind in _APART:
            return self._apart(self._steps[kind], data)
        step = self._steps.get(kind)
        return self._scrubber.scrubbed(data if step is None else step(data), self._run)

    def _apart(self, step: Callable[[Data], Data], data: Data) -> Data:
        """Redact what belongs to no run, and leave the memory of the run under way alone."""
        run, self._run = self._run, RunMemory()
        try:
            return step(data)
        finally:
            self._run = run

    def _started(self, data: Data) -> Data:
        """Forget the run before."""
        self._run = RunMemory(run_key(self._key, str(data.get("run", ""))) if self._key else b"")
        self._requests.clear()
        return data

    def _initial(self, data: Data) -> Data:
        """Redact the rows of an initial state, and remember what stands for their digests."""
        if self._sensitive:
            given: Any = data["rows"]
            rows = [self._row(*row) for row in given]
            stand_ins = {a[4]: b[4] for a, b in zip(given, rows, strict=True) if a[4] != b[4]}
            if stand_ins:
                true, kept = str(data["digest"]), digest([data["collections"], rows])
                self._seeds[true] = {**stand_ins, true: kept}
                data = {**data, "digest": kept, "rows": rows}
        return self._scrubber.scrubbed(data, RunMemory())

    def _row(
        self, tenant: str, collection: str, key: str, revision: int, own: str, value: JsonValue
    ) -> list[Any]:
        """Redact one row; its key too, if that is one of the row's sensitive values."""
        self._run = RunMemory()
        kept = self._kept(value, ANYTHING, self._sensitive)
        if kept == value:
            return [tenant, collection, key, revision, own, value]
        row = self._scrubber.scrubbed({"key": key, "value": kept}, self._run)
        return [tenant, collection, row["key"], revision, digest(row), row["value"]]

    def _authored(self, data: Data) -> Data:
        return withheld(data, self._sensitive, self._scrubber)

    def _seeded(self, data: Data) -> Data:
        true = str(data["digest"])
        stand_ins = self._seeds.get(true)
        if stand_ins is not None:
            self._run.begin(stand_ins)
        return {**data, "digest": self._run.state(true)}

    def _asked(self, data: Data) -> Data:
        messages: Any = data["new_messages"]
        return {**data, "new_messages": [self._message(message) for message in messages]}

    def _message(self, message: Data) -> Data:
        """Redact the calls that a message asks for, or the result that it reports."""
        if "requests" in message:
            requests: Any = message["requests"]
            return {**message, "requests": [self._request(*request) for request in requests]}
        if message["role"] == "tool":
            name = self._run.tools.get(str(message.get("call_id")), "")
            return {**message, "text": self._reply(str(message["text"]), self._tools.get(name))}
        return message

    def _answered(self, data: Data) -> Data:
        requests: Any = data.get("requests")
        if requests is None:
            return self._finished(data)
        return {**data, "requests": [self._request(*request) for request in requests]}

    def _refused(self, data: Data) -> Data:
        request: Any = data.get("request")
        return data if request is None else {**data, "request": self._request(*request)}

    def _request(self, call_id: str, name: str, text: str) -> list[str]:
        """Redact the argument text of a call that was asked for."""
        self._run.tools[call_id] = name
        kept = self._requests.get((name, text))
        if kept is None:
            kept = self._requests[name, text] = self._arguments_text(text, self._tools.get(name))
        return [call_id, name, kept]

    def _arguments_text(self, text: str, tool: _Tool | None) -> str:
        tool = _UNKNOWN if tool is None else tool
        value = _decoded(text)
        if value is None:
            return UNREADABLE if tool.sensitive else text
        kept = self._kept(value, tool.arguments, tool.sensitive)
        return text if kept is value or kept == value else line(kept).decode()

    def _reply(self, text: str, tool: _Tool | None) -> str:
        """Return the text of a reply with what may be kept of it, if it is JSON."""
        value = _decoded(text)
        if value is None:
            return text
        tool = _UNKNOWN if tool is None else tool
        if self._is_plain_reply(value, tool.result):
            return text
        kept = self._kept(value, tool.reply, self._sensitive)
        return text if kept == value else line(kept).decode()

    def _is_plain_reply(self, value: dict[str, JsonValue], fields: Fields) -> bool:
        """Return true if all of a reply may stay; a shortcut, it sees the usual case only."""
        result = value.get("result")
        return (
            type(result) is dict
            and _REPLIED.issuperset(value)
            and type(value.get("status")) is str
            and type(value.get("reason")) is str
            and self._sensitive.isdisjoint(value)
            and self._keeps(result, fields, self._sensitive)
        )

    def _called(self, data: Data) -> Data:
        """Redact an attempt; arguments that were digested had been validated, hence declared."""
        tool = self._tools.get(str(data["tool"]), _UNKNOWN)
        if not data["argument_digest"] or tool.sensitive:
            arguments = self._kept(data["arguments"], tool.arguments, tool.sensitive)
            data = {**data, "arguments": arguments}
        if self._strict:
            kept = self._kept(data["result"], tool.result, self._sensitive)
            data = data if kept is data["result"] else {**data, "result": kept}
        if tool.sensitive:
            data = self._exchanged(data)
        return self._with_states(data, ("state", "projection"))

    def _changed(self, data: Data) -> Data:
        """Redact a commit entry: its values, and the digests over what is masked in them."""
        if not self._sensitive:
            return data
        tool = self._tools.get(str(data["tool"]), _UNKNOWN)
        data = self._with_states(data, ("state_before",))
        changes: Any = data["changes"]
        data = {**data, "changes": [self._change(change, tool) for change in changes]}
        data = self._with_states(data, ("state_after",))
        return self._exchanged(data) if tool.sensitive else data

    def _change(self, change: Data, tool: _Tool) -> Data:
        value = change["value"]
        kept = self._kept(value, ANYTHING, self._sensitive)
        if change["collection"] == _OPERATIONS and isinstance(kept, dict):
            kept["body"] = self._reply(str(kept.get("body", "")), tool)
        if tool.sensitive or kept != value:
            self._run.tainted = True
            self._run.hidden.add(str(change["digest_after"]))
        digests = ("digest_before", "digest_after")
        tokens = {name: self._run.record(str(change[name])) for name in digests}
        return {**change, **tokens, "value": kept}

    def _finished(self, data: Data) -> Data:
        """Redact a structured answer by field; prose is left to its shape."""
        answer = data.get("answer")
        if not self._sensitive or not isinstance(answer, dict | list):
            return data
        return {**data, "answer": self._kept(answer, ANYTHING, self._sensitive)}

    def _ended(self, data: Data) -> Data:
        return self._with_states(data, ("state",))

    def _with_states(self, data: Data, names: Iterable[str]) -> Data:
        """Put tokens for the digests of states that hold something masked."""
        if not self._sensitive:
            return data
        run = self._run
        return {**data, **{name: run.state(str(data[name])) for name in names if name in data}}

    def _exchanged(self, data: Data) -> Data:
        """Exchange what is derived from the true arguments, wherever it stands in the event."""
        token, key = self._run.token, str(data["key"])
        digest, operation = str(data["argument_digest"]), str(data["operation_id"])
        tokens = {digest: token(digest), operation: token(operation)}
        if key.startswith("derived-"):
            tokens[key] = token(key)
        tokens.pop("", None)
        exchanged: Data = _replaced(data, tokens)
        return exchanged

    def _kept(self, value: Any, fields: Fields, sensitive: frozenset[str]) -> Any:  # noqa: ANN401 - a JSON value
        """Return a copy with the values of undeclared, sensitive and secret fields exchanged."""
        if isinstance(value, list):
            return [self._kept(item, fields, sensitive) for item in value]
        if not isinstance(value, dict) or self._keeps(value, fields, sensitive):
            return value
        return {
            name: self._value(name, item, fields.of(name), sensitive)
            for name, item in value.items()
        }

    def _keeps(
        self, value: dict[str, JsonValue], fields: Fields, sensitive: frozenset[str]
    ) -> bool:
        """Return true if all of an object may stay; a shortcut, it sees the usual case only."""
        given = fields.open or value.keys() <= fields.names.keys()
        return given and sensitive.isdisjoint(value) and self._scrubber.plain(value)

    def _value(
        self, name: str, item: JsonValue, fields: Fields | None, sensitive: frozenset[str]
    ) -> Any:  # noqa: ANN401 - a JSON value
        if name in sensitive:
            self._run.learn(item)
            return MASKED
        if item is not None and self._scrubber.is_secret(name):
            return SECRET
        return UNDECLARED if fields is None else self._kept(item, fields, sensitive)


class _Tool:
    """What may be kept of one tool's calls."""

    __slots__ = ("arguments", "reply", "result", "sensitive")

    def __init__(
        self, arguments: Fields = NOTHING, result: Fields = ANYTHING, sensitive: Iterable[str] = ()
    ) -> None:
        self.arguments = arguments
        self.result = result
        self.reply = Fields({"ok": result, "result": result}, open=True)
        self.sensitive = frozenset(sensitive)


_UNKNOWN: Final = _Tool()


def _tools(pack: WorkflowPack) -> dict[str, _Tool]:
    """Return what may be kept by tool; an open result keeps the fields that collections have."""
    names = _all_fields(pack)
    rows = None if names is None else known(names)
    found = {}
    for manifest in (tool.manifest for tool in pack.tools):
        arguments = declared(manifest.parameters.value(), closed=True)
        result = declared(manifest.result.value(), closed=False)
        result = result if rows is None else bounded(result, rows)
        found[manifest.name] = _Tool(arguments, result, manifest.sensitive_fields)
    return found


def _all_fields(pack: WorkflowPack) -> frozenset[str] | None:
    """Return the fields that rows of any collection may have, `None` if one does not tell."""
    if not all(spec.fields for spec in pack.collections):
        return None
    own = (
        (*spec.fields, *spec.key_fields, *filter(None, (spec.tenant_field,)))
        for spec in pack.collections
    )
    return _NONE.union(*own)


def _decoded(text: str) -> dict[str, JsonValue] | None:
    """Return the object that a text is the JSON of, or `None`; no key may be there twice."""
    if not text.lstrip(" \t\r\n").startswith("{"):
        return None
    try:
        found: dict[str, JsonValue] = jiter.from_json(
            text.encode(), catch_duplicate_keys=True, allow_inf_nan=False
        )
    except ValueError:
        return None
    return found


def _replaced(value: Any, tokens: Mapping[str, str]) -> Any:  # noqa: ANN401 - event data
    """Return a copy in which each text has the tokens in place of what they stand for."""
    if isinstance(value, str):
        for text, token in tokens.items():
            value = value.replace(text, token)
        return value
    if isinstance(value, list | tuple):
        return [_replaced(item, tokens) for item in value]
    if isinstance(value, dict):
        return {name: _replaced(item, tokens) for name, item in value.items()}
    return value
