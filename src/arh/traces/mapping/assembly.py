"""A trace in the making: what every reader of a provider's format writes into.

It holds the rules that all formats share. A result is paired with the newest turn's oldest open
call of its id, and never by assuming that an id is unique. A call without a result has the status
`unknown`. Text never decides a status. Tokens are counted once a reply, at its first step. Steps
get identities that are the same in the next run of the same conversation (`get_booking#2` is the
second call of that tool), beside the provider's own.

Nothing that was recorded is lost here: it becomes a step, a note, or an entry of the trace's
`metadata["recording"]` (`inputs`: what the agent was told; `fields`: identifiers, settings and
other bookkeeping by place; `usage`: the sums; `turns`: the step that each reply of
the model begins with).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Final

from arh.canonical import JsonValue
from arh.traces.mapping.arguments import arguments_of
from arh.traces.mapping.texts import texts
from arh.traces.mapping.usage import NAMES, Usage, add
from arh.traces.trace import JsonObject, Note, Status, Step, StepType, Trace

LABEL_CHARS_MAX: Final = 80


@dataclass(slots=True)
class Draft:
    """A step in the making; `recorded_id` is the call id that results name."""

    type: StepType
    step_id: str
    pointer: str
    tool_name: str | None = None
    arguments: JsonObject | None = None
    raw_arguments: str | None = None
    output: JsonValue = None
    text: str | None = None
    error: str | None = None
    status: Status = "ok"
    latency_ms: float | None = None
    started_ms: float | None = None
    cost_usd: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    citations: tuple[JsonValue, ...] = ()
    requires_grounding: bool = False
    metadata: JsonObject = field(default_factory=dict)
    answered: bool = True
    recorded_id: str | None = None
    stable_id: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool is recorded to have returned.

    `failed` is the format's own channel: `None` where the format has none. `error` is the text
    that goes with it.
    """

    output: JsonValue
    failed: bool | None = None
    error: str | None = None
    at_ms: float | None = None


class _Open:
    """The calls of one key that have no result yet, by turn: newest turn first, oldest in it."""

    __slots__ = ("_turns",)

    def __init__(self) -> None:
        self._turns: list[tuple[int, deque[Draft]]] = []

    def add(self, turn: int, draft: Draft) -> None:
        if not self._turns or self._turns[-1][0] != turn:
            self._turns.append((turn, deque()))
        self._turns[-1][1].append(draft)

    def next(self) -> Draft | None:
        """Take the call that the next result of this key answers."""
        while self._turns:
            calls = self._turns[-1][1]
            while calls:
                draft = calls.popleft()
                if not draft.answered:
                    return draft
            self._turns.pop()
        return None


class Assembly:
    """One trace in the making."""

    def __init__(self, form: str, source: str, *, agent_name: str, workflow: str) -> None:
        """Begin a trace of a format; the names hold unless the recording has better ones."""
        self.form = form
        self.trace_id = _stem(source)
        self.agent_name = agent_name
        self.workflow = workflow
        self.metadata: JsonObject = {}
        self.offered: list[str] | None = None
        self.steps: list[Draft] = []
        self.notes: list[Note] = []
        self._drafted_notes: list[tuple[Note, Draft]] = []
        self._turn = 0
        self._turn_begins = 0
        self._turns: list[JsonValue] = []
        self._by_id: dict[str, _Open] = {}
        self._by_name: dict[str, _Open] = {}
        self._any = _Open()
        self._inputs: list[JsonValue] = []
        self._fields: dict[str, JsonValue] = {}
        self._usage = Usage()

    # -- what the model did

    def turn(self) -> None:
        """Begin the next reply of the model: what follows belongs to it."""
        self._turn += 1
        self._turn_begins = len(self.steps)
        self._turns.append(self._turn_begins)

    def say(self, text: str, at: str, step_id: str, *, refusal: bool = False) -> Draft | None:
        """Add a text of the model; blank text is none."""
        if not text or text.isspace():
            return None
        draft = Draft("model_response", step_id, at, text=text)
        if refusal:
            draft.metadata["refusal"] = True
        self.steps.append(draft)
        return draft

    def call(
        self,
        name: str | None,
        arguments: JsonValue,
        at: str,
        *,
        step_id: str,
        call_id: str | None = None,
    ) -> Draft:
        """Add a call of a tool that has no result yet."""
        passed = arguments_of(arguments)
        draft = Draft(
            "tool_call",
            call_id or step_id,
            at,
            tool_name=name,
            arguments=passed.value,
            raw_arguments=passed.raw,
            status="unknown",
            answered=False,
            recorded_id=call_id or None,
        )
        self.steps.append(draft)
        if passed.fault:
            self.note(passed.fault, at, passed.detail, content=passed.raw or "", step=draft)
        self._open(draft)
        return draft

    def _open(self, draft: Draft) -> None:
        """Let results find the call: by its id if it has one, by its name, or by order."""
        call_id = draft.recorded_id
        if call_id is not None:
            known = self._by_id.get(call_id)
            if known is None:
                known = self._by_id[call_id] = _Open()
            else:
                self.note(
                    "duplicate_tool_call_id",
                    draft.pointer,
                    "an earlier call has the same id",
                    step=draft,
                )
            known.add(self._turn, draft)
        name = draft.tool_name or ""
        self._by_name.setdefault(name, _Open()).add(self._turn, draft)
        self._any.add(self._turn, draft)

    def last(self) -> Draft | None:
        """Return the newest step of this turn."""
        return self.steps[-1] if len(self.steps) > self._turn_begins else None

    def first(self) -> Draft | None:
        """Return the first step of this turn."""
        return self.steps[self._turn_begins] if self.last() else None

    def awaiting(self, call_id: str | None, name: str) -> Draft | None:
        """Take the open call that a result with this id, or else this name, answers."""
        return self._answered(call_id, name)

    def thinking(self, content: JsonValue, at: str) -> None:
        """Count one block of reasoning: it is never the answer, and stays visible."""
        self.note("thinking", at, content=texts(content))

    # -- what came back

    def answer(self, call_id: str | None, result: Result, at: str, *, name: str = "") -> None:
        """Give a result to the call that it answers, or keep it as a note."""
        draft = self._answered(call_id, name)
        if draft is None:
            detail = (
                "the calls with its id have their results"
                if call_id in self._by_id
                else "no call with its id precedes it"
            )
            content = texts([result.output, result.error, call_id, name])
            self.note("unmatched_tool_result", at, detail, content=content)
            return
        if name and name != draft.tool_name:
            self.recorded(at, "name", name)
        give(draft, result)

    def _answered(self, call_id: str | None, name: str) -> Draft | None:
        if call_id:
            known = self._by_id.get(call_id)
            return known.next() if known else None
        known = self._by_name.get(name) if name else self._any
        return known.next() if known else None

    # -- what goes with it

    def told(self, role: str, content: JsonValue, at: str) -> None:
        """Keep what the agent was told: it is no conduct of the agent's."""
        if content not in _EMPTY:
            self._inputs.append({"role": role, "at": at, "content": content})

    def recorded(self, at: str, name: str, value: JsonValue) -> None:
        """Keep bookkeeping of the recorder (an id, a model's name) with its place."""
        if value is None:
            return
        known = self._fields.get(at)
        if isinstance(known, dict):
            if known.get(name, value) != value:
                name = f"{name} {len(known)}"  # two objects read at one place
            known[name] = value
        else:
            self._fields[at] = {name: value}

    def offer(self, names: list[str]) -> None:
        """Note which tools the agent could have called."""
        self.offered = list(dict.fromkeys([*(self.offered or ()), *names]))

    def offer_tools(self, tools: list[JsonValue] | None) -> None:
        """Note the tools of a request, named at `name` or at `function.name`."""
        if tools is None:
            return
        names: list[str] = []
        for tool in tools:
            inner = tool.get("function", tool) if isinstance(tool, dict) else None
            name = inner.get("name") if isinstance(inner, dict) else None
            if isinstance(name, str):
                names.append(name)
        self.offer(names)
        self.recorded("", "tools", tools)

    def note(
        self, kind: str, at: str, detail: str = "", *, content: str = "", step: Draft | None = None
    ) -> None:
        """Add a note, which reports show and safety patterns scan."""
        note = Note(kind, detail, at, None, content)
        self.notes.append(note)
        if step is not None:
            self._drafted_notes.append((note, step))

    def used(self, usage: Usage, at: str) -> None:
        """Count the tokens of this turn at its first step, and in the sums."""
        for name in NAMES:
            count = add(getattr(self._usage, name), getattr(usage, name))
            setattr(self._usage, name, count)
        if len(self.steps) > self._turn_begins:
            first = self.steps[self._turn_begins]
            first.input_tokens = add(first.input_tokens, usage.input_tokens)
            first.output_tokens = add(first.output_tokens, usage.output_tokens)
        elif usage.present():
            self.note("usage_without_step", at, "the reply has no text and no call")

    # -- the end

    def finish(self) -> Trace:
        """Return the trace; calls that nobody answered are noted."""
        for draft in self.steps:
            if not draft.answered:
                self.note("missing_tool_result", draft.pointer, step=draft)
        self._name_steps()
        anchors = {id(note): draft.stable_id for note, draft in self._drafted_notes}
        return Trace(
            trace_id=self.trace_id,
            agent_name=self.agent_name,
            workflow=self.workflow,
            steps=tuple(_step(draft, at) for at, draft in enumerate(self.steps)),
            source=self.form,
            metadata={**self.metadata, "recording": self._recording()},
            notes=tuple(_anchored(note, anchors.get(id(note))) for note in self.notes),
            offered_tools=None if self.offered is None else tuple(self.offered),
        )

    def _name_steps(self) -> None:
        """Give each step a name that depends on nothing but the conversation."""
        counts: dict[str, int] = {}
        for draft in self.steps:
            label = "response" if draft.type == "model_response" else (draft.tool_name or "call")
            label = label[:LABEL_CHARS_MAX]
            counts[label] = counts.get(label, 0) + 1
            draft.stable_id = f"{label}#{counts[label]}"

    def _recording(self) -> JsonObject:
        """Return what was recorded beside steps and notes; the wrapper's own key is kept."""
        parts: dict[str, JsonValue] = {
            "format": self.form,
            "inputs": self._inputs,
            "fields": self._fields,
            "usage": self._usage.present(),
            "turns": self._turns,
        }
        if "recording" in self.metadata:
            parts["metadata"] = self.metadata["recording"]
        return parts


def give(draft: Draft, result: Result) -> None:
    """Write a result into the call that it answers."""
    draft.answered = True
    draft.output = result.output
    draft.status = "error" if result.failed else "ok"
    if result.failed:
        draft.error = result.error if result.error is not None else "tool error"
    if result.at_ms is not None and draft.started_ms is not None:
        elapsed = result.at_ms - draft.started_ms
        draft.latency_ms = elapsed if elapsed >= 0 else None


def _step(draft: Draft, ordinal: int) -> Step:
    return Step(
        step_id=draft.step_id,
        type=draft.type,
        status=draft.status,
        tool_name=draft.tool_name,
        arguments=draft.arguments,
        output=draft.output,
        text=draft.text,
        error=draft.error,
        latency_ms=draft.latency_ms,
        cost_usd=draft.cost_usd,
        input_tokens=draft.input_tokens,
        output_tokens=draft.output_tokens,
        citations=draft.citations,
        requires_grounding=draft.requires_grounding,
        metadata=draft.metadata,
        ordinal=ordinal,
        stable_id=draft.stable_id,
        raw_arguments=draft.raw_arguments,
    )


def _anchored(note: Note, step_id: str | None) -> Note:
    if step_id is None:
        return note
    return Note(note.kind, note.detail, note.pointer, step_id, note.content)


def _stem(source: str) -> str:
    """Return the file's name without folder and last extension."""
    name = source.replace("\\", "/").rpartition("/")[2]
    stem = name.rpartition(".")[0] or name
    return stem or "trace"


_EMPTY: Final[tuple[JsonValue, ...]] = (None, "", [], {})
