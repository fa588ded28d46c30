"""Evidence that the release gate wrote (`evidence/part-….jsonl`): a trace for each run.

The calls are those that the gateway saw, joined with the model's request by its id, so a denied
call is a call with an error. The evidence says more than a trace can hold (decisions, state
changes, faults); all of it stays in the recording. This reads the lines as written: whether they
were altered is what `arh verify` says. Several actors of one run are in one trace, in the order of
the lines.
"""

from __future__ import annotations

from typing import Final

from arh.canonical import JsonValue
from arh.traces.mapping.assembly import Assembly, Draft, Result, give
from arh.traces.mapping.fields import Fields
from arh.traces.mapping.texts import json_text, texts, word
from arh.traces.mapping.times import between_ms
from arh.traces.mapping.usage import Usage
from arh.traces.trace import JsonObject, Trace

_FIRST: Final = "run_started"


class ArhEvidence:
    """Reads the format `arh-evidence`."""

    name = "arh-evidence"

    def declines(self, document: JsonValue) -> str | None:
        """Return why the document is no evidence, or `None`."""
        if not isinstance(document, list):
            return "it is no list of lines"
        if not any(_is_line(item) for item in document):
            return "no line has `seq`, `kind`, `source` and `chain`"
        if not any(word(item, "kind") == _FIRST for item in document):
            return f"no line has the kind `{_FIRST}`"
        return None

    def read(self, document: JsonValue, source: str) -> tuple[Trace, ...]:
        """Return a trace for each run, in the order of the lines."""
        runs: list[_Run] = []
        for index, item in enumerate(document if isinstance(document, list) else ()):
            if not runs or word(item, "kind") == _FIRST:
                runs.append(_Run(self.name, source))
            runs[-1].read(item, f"[{index}]", index)
        return tuple(run.assembly.finish() for run in runs)


def _is_line(item: JsonValue) -> bool:
    return isinstance(item, dict) and all(name in item for name in _COMMON)


class _Run:
    """One run in the making."""

    def __init__(self, form: str, source: str) -> None:
        self.assembly = Assembly(form, source, agent_name="agent", workflow="workflow")
        self.final: JsonValue = None
        self.tasks: dict[str, int] = {}

    def read(self, item: JsonValue, at: str, index: int) -> None:
        """Add one line."""
        if not isinstance(item, dict):
            self.assembly.note("non_object_line", at, content=texts(item))
            return
        fields = Fields(self.assembly, item, at)
        kind = fields.text("kind")
        if kind == _FIRST:
            self._start(fields)
        elif kind == "model_answered":
            self._answered(fields, index)
        elif kind == "tool_call":
            self._called(fields, index)
        elif kind == "agent_finished":
            self._finished(fields, index)
        elif kind == "user_said":
            self.assembly.told("user", fields.take("text"), at)
        self.assembly.recorded(at, kind or "line", fields.rest())

    def _start(self, fields: Fields) -> None:
        """Name the trace: the same scenario and trial have the same name in every plan."""
        trial = fields.whole("trial") or 1
        scenario = fields.text("scenario") or self.assembly.trace_id
        self.assembly.trace_id = scenario if trial == 1 else f"{scenario}-trial-{trial}"
        self.assembly.workflow = fields.text("workflow") or self.assembly.workflow
        sue = fields.object("sue") or {}
        self.assembly.agent_name = word(sue, "agent") or self.assembly.agent_name
        tools = fields.object("tools")
        if tools is not None:
            self.assembly.offer(list(tools))
        self.assembly.recorded(fields.at, "sue", sue)
        self.assembly.recorded(fields.at, "tools", tools)

    def _answered(self, fields: Fields, index: int) -> None:
        """Read a decision of the model: calls, text, a final answer, and what it cost."""
        self.assembly.turn()
        self.assembly.say(fields.text("text") or "", f"{fields.at}.text", f"e{index}-text")
        answer = fields.take("answer")
        if answer is not None:
            self.final = answer
            self._say(answer, f"{fields.at}.answer", index)
        actor = fields.peek("actor")
        for place, request in enumerate(fields.items("requests") or ()):
            at = f"{fields.at}.requests[{place}]"
            self._requested(request, at, f"e{index}-call{place}", actor)
        usage = Usage(
            input_tokens=fields.count("input_tokens"),
            output_tokens=fields.count("output_tokens"),
            cache_read_tokens=fields.count("cached_tokens"),
        )
        self.assembly.used(usage, fields.at)
        first, took = self.assembly.first(), fields.number("latency_ms")
        if first is not None and first.type == "model_response" and took is not None:
            first.latency_ms = took if took >= 0 else None

    def _requested(self, request: JsonValue, at: str, step_id: str, actor: str) -> None:
        """Read one request of the model: its id, the tool, the text of the arguments."""
        parts = request if isinstance(request, list) else []
        if len(parts) != _REQUEST_PARTS or not isinstance(parts[1], str):
            self.assembly.note("non_object_tool_call", at, content=texts(request))
            return
        call_id = self._id_of(actor, parts[0]) if isinstance(parts[0], str) else None
        if not isinstance(parts[0], (str, type(None))):
            self.assembly.note("unmapped_field", at, "id", content=texts(parts[0]))
        self.assembly.call(parts[1], parts[2], at, step_id=step_id, call_id=call_id)

    def _called(self, fields: Fields, index: int) -> None:
        """Read one attempt at the gateway: of a request of the model's, or of the agent's own."""
        name = fields.text("tool") or ""
        requested = fields.identifier("requested_id")
        requested = self._id_of(fields.peek("actor"), requested) if requested else None
        draft = self.assembly.awaiting(requested, "") if requested else None
        arguments = fields.take("arguments")
        if draft is None:
            passed = arguments if arguments is not None else fields.take("arguments_text")
            self.assembly.turn()
            draft = self.assembly.call(
                name, passed, fields.at, step_id=f"e{index}-call", call_id=requested
            )
        else:
            self.assembly.recorded(fields.at, "called", {"tool": name, "arguments": arguments})
        give(draft, _result(fields))
        draft.latency_ms = between_ms(fields.number("requested_ms"), fields.number("returned_ms"))
        _note_call(draft, fields)

    def _finished(self, fields: Fields, index: int) -> None:
        """Read how the agent ended; its answer is a step unless the model gave the same."""
        actor = fields.peek("actor")
        self.tasks[actor] = self.tasks.get(actor, 0) + 1
        answer = fields.take("answer")
        if answer is not None and answer != self.final:
            self.assembly.turn()
            self._say(answer, f"{fields.at}.answer", index)

    def _id_of(self, actor: str, call_id: str) -> str:
        """Return the id of a call within the run: each task of each actor counts from one."""
        return f"{actor}/{self.tasks.get(actor, 0) + 1}/{call_id}"

    def _say(self, answer: JsonValue, at: str, index: int) -> None:
        text = answer if isinstance(answer, str) else json_text(answer)
        self.assembly.say(text, at, f"e{index}-answer")


def _result(fields: Fields) -> Result:
    """Return what the caller was told: only an executed or replayed call that arrived is ok."""
    status, delivery, reason = (fields.peek(name) for name in ("status", "delivery", "reason"))
    failed = status not in _DONE or delivery != "delivered"
    said = status if status not in _DONE else f"reply {delivery}"
    error = ": ".join(part for part in (said, reason) if part) if failed else None
    return Result(fields.take("result"), failed=failed, error=error)


def _note_call(draft: Draft, fields: Fields) -> None:
    """Keep at the step what the gateway decided and believes."""
    kept: JsonObject = {}
    for name in ("commit_belief", "operation_id", "call_id"):
        value = fields.take(name)
        if value:
            kept[name] = value
    draft.metadata.update(kept)


_COMMON: Final = ("seq", "kind", "source", "chain")
_DONE: Final = frozenset({"executed", "replayed"})
_REQUEST_PARTS: Final = 3
