"""A model that answers by a script: the first rule whose guards the conversation meets.

It sees what every model sees, messages, and nothing else; the same conversation gets the same
answer. It keeps what it derived from a conversation only to extend it by what is new. Where no rule
matches, or a template has no value, the run stops as `fixture_mismatch`: a script that met a
situation its author did not think of has no opinion, and a guess would count as the agent's.

Tokens and latency are the rule's, else the script's defaults, else estimates of four characters a
token and no time. An answer that takes longer than it may has not arrived; one with more tokens
than it may have is cut off.
"""

from __future__ import annotations

from arh.canonical import Json, Refused, encode
from arh.errors import RunStopped, quoted
from arh.model.scripted.script import Fixed, Rule, Said, Script
from arh.model.scripted.situation import Situation
from arh.model.scripted.templates import Fill, NoValueError
from arh.records.decisions import (
    AskUser,
    Calls,
    Decision,
    Final,
    ModelReply,
    ModelRequest,
    Refusal,
    Truncated,
    Unavailable,
    Usage,
)
from arh.records.messages import Message, ToolRequest, ToolSpec


class ScriptedModel:
    """A `Model` that follows one script; an actor has one of its own."""

    def __init__(self, script: Script) -> None:
        """Follow the script from wherever the first request stands."""
        self.script = script
        self._messages: tuple[Message, ...] = ()
        self._situation = Situation()
        self._tools: tuple[ToolSpec, ...] = ()
        self._tools_characters = 0

    def complete(self, request: ModelRequest) -> ModelReply:
        """Return the first matching rule's decision.

        Raises:
            RunStopped: No rule matches (`fixture_mismatch`).
        """
        situation = self._read(request.messages)
        for rule in self.script.rules:
            if rule.matches(situation):
                return self._reply(rule, self._decide(rule, situation), request)
        raise self._mismatch(f"no rule for {situation.described()}")

    def _read(self, messages: tuple[Message, ...]) -> Situation:
        """Return the situation, extended if the conversation only grew, else read anew."""
        known = len(self._messages)
        if messages[:known] != self._messages:
            self._situation, known = Situation(), 0
        for message in messages[known:]:
            self._situation.take(message)
        self._messages = messages
        return self._situation

    def _decide(self, rule: Rule, situation: Situation) -> Decision:
        """Return the rule's decision with its templates filled."""
        try:
            return decided(rule, situation)
        except NoValueError as error:
            missing = quoted(str(error))
            detail = f"{rule.place} needs {missing}, which has no value at {situation.described()}"
            raise self._mismatch(detail) from None
        except Refused as refused:
            raise self._mismatch(f"{rule.place} renders to a value that is {refused}") from None

    def _mismatch(self, detail: str) -> RunStopped:
        return RunStopped("fixture_mismatch", f"{self.script.config_id}: {detail}")

    def _reply(self, rule: Rule, decision: Decision, request: ModelRequest) -> ModelReply:
        """Return the decision with its usage and latency, unless it is too late or too long."""
        stated, script, name = rule.costs, self.script.costs, self.script.config_id
        read, written = stated.input_tokens, stated.output_tokens
        if read is None and (read := script.input_tokens) is None:
            read = self._input_tokens(request)
        if written is None and (written := script.output_tokens) is None:
            written = _output_tokens(decision)
        latency_ms = _first(stated.latency_ms, script.latency_ms)
        if latency_ms > request.timeout_ms:
            return ModelReply(Unavailable("timeout"), Usage(read), request.timeout_ms, name)
        limit = request.output_tokens_max
        if limit is not None and written > limit:
            decision, written = Truncated(f"cut at {limit} tokens"), limit
        return ModelReply(decision, Usage(read, written), latency_ms, name)

    def _input_tokens(self, request: ModelRequest) -> int:
        """Estimate the tokens of the conversation and the tool definitions."""
        if request.tools is not self._tools:
            self._tools = request.tools
            self._tools_characters = sum(
                len(t.name) + len(t.description) + len(t.parameters.data) for t in request.tools
            )
        return _tokens(self._situation.characters + self._tools_characters)


def decided(rule: Rule, situation: Situation) -> Decision:
    """Return the decision that the rule stands for.

    Raises:
        NoValueError: A template has no value.
        Refused: A rendered value is outside the JSON that we accept.
    """
    then = rule.then
    if isinstance(then, Fixed):
        return then.decision
    if isinstance(then, Said):
        return _said(then, situation)
    requests = [
        ToolRequest(f"req-{number:04d}", plan.tool, _text(plan.arguments, situation))
        for number, plan in enumerate(then.plans, start=situation.asked + 1)
    ]
    return Calls(tuple(requests), _text(then.text, situation))


def _said(then: Said, situation: Situation) -> Decision:
    """Return the answer, question or refusal with its templates filled."""
    if then.kind == "envelope":
        return Final(Json.of(then.value(situation)))
    text = _text(then.value, situation)
    match then.kind:
        case "ask_user":
            return AskUser(text)
        case "refusal":
            return Refusal(text)
        case "final_answer":
            return Final(text)


def _text(text: str | Fill, situation: Situation) -> str:
    """Return the text, filled if it holds templates; a value that is no text is written as JSON."""
    if isinstance(text, str):
        return text
    value = text(situation)
    return value if isinstance(value, str) else encode(value).decode()


def _output_tokens(decision: Decision) -> int:
    """Estimate the tokens that the decision took to write."""
    match decision:
        case Calls(requests, text):
            return _tokens(len(text) + sum(len(r.tool) + len(r.arguments) for r in requests))
        case Final(answer):
            return _tokens(len(answer) if isinstance(answer, str) else len(answer.data))
        case AskUser(message) | Refusal(message):
            return _tokens(len(message))
        case _:
            return 0


def _tokens(characters: int) -> int:
    return -(-characters // 4)


def _first(rule: int | None, script: int | None) -> int:
    """Return what the rule states, else what the script states, else 0."""
    return (script or 0) if rule is None else rule
