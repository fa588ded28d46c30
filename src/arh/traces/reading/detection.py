"""Which format a document is in: every reader says why not, and nobody guesses.

All readers are asked, in a stated order. If none takes the document it is refused with every
reason. If several do, they would read it alike (a conversation without marks of one provider), and
the first in the order reads it. Readers of others are asked last and in a foreign call: one that
breaks is an error that names it, never a silent change of the result.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from arh.canonical import JsonValue, Refused, check
from arh.errors import AuthoringError, Problem, closest, safe
from arh.foreign import ForeignFailure, call
from arh.traces.formats.ai_sdk_ui import AiSdkUi
from arh.traces.formats.anthropic_messages import AnthropicMessages
from arh.traces.formats.arh_evidence import ArhEvidence
from arh.traces.formats.arh_trace import ArhTrace
from arh.traces.formats.bedrock_converse import BedrockConverse
from arh.traces.formats.claude_code import ClaudeCode
from arh.traces.formats.cohere_chat import CohereChat
from arh.traces.formats.gemini import Gemini
from arh.traces.formats.mcp_jsonrpc import McpJsonRpc
from arh.traces.formats.openai_chat import OpenAIChat
from arh.traces.formats.openai_responses import OpenAIResponses
from arh.traces.formats.otel_genai import OtelGenAi
from arh.traces.reading.reader import Reader
from arh.traces.trace import Trace

AUTO: Final = "auto"

BUILT_IN: Final[tuple[Reader, ...]] = (
    ArhTrace(),
    ArhEvidence(),
    McpJsonRpc(),
    OtelGenAi(),
    ClaudeCode(),
    OpenAIResponses(),
    Gemini(),
    BedrockConverse(),
    CohereChat(),
    OpenAIChat(),
    AnthropicMessages(),
    AiSdkUi(),
)
"""The readers that come with arh, in the order in which they are asked."""


@dataclass(frozen=True, slots=True)
class Detected:
    """The reader of a document."""

    reader: Reader


@dataclass(frozen=True, slots=True)
class Undetected:
    """Nobody reads the document: the name of each format with its reason."""

    reasons: tuple[tuple[str, str], ...]


def detect(document: JsonValue, readers: Sequence[Reader] = BUILT_IN) -> Detected | Undetected:
    """Return the first reader that takes the document, or why each declines.

    Raises:
        AuthoringError: A reader of others broke.
    """
    reasons: list[tuple[str, str]] = []
    for reader in readers:
        reason = _declines(reader, document)
        if reason is None:
            return Detected(reader)
        reasons.append((reader.name, reason))
    return Undetected(tuple(reasons))


def read_document(
    document: JsonValue,
    source: str,
    *,
    form: str = AUTO,
    readers: Sequence[Reader] = BUILT_IN,
) -> tuple[Trace, ...]:
    """Return the traces of a document, read in the named format or in the one that it is in.

    Raises:
        AuthoringError: The document is no strict JSON, the format is not known, the document is
            not in it or in none, or a reader of others broke.
    """
    try:
        check(document)
    except Refused as refused:
        raise AuthoringError.of(
            f"the document is no strict JSON: {refused.reason}", file=source, field=refused.path
        ) from None
    return read_checked(_copied(document), source, form=form, readers=readers)


def _copied(document: JsonValue) -> JsonValue:
    """Return a copy as deep as readers take from what they read: the object and its lists."""
    if not isinstance(document, dict):
        return document
    return {
        name: [*value] if isinstance(value, list) else value for name, value in document.items()
    }


def read_checked(
    document: JsonValue, source: str, *, form: str, readers: Sequence[Reader]
) -> tuple[Trace, ...]:
    """Return what `read_document` does, of a document that came from a strict parser.

    Raises:
        AuthoringError: See `read_document`, but for the document itself.
    """
    if form != AUTO:
        reader = _named(form, readers)
        reason = _declines(reader, document)
        if reason is not None:
            raise AuthoringError.of(
                f"the document is not in the format {reader.name}: {safe(reason)}", file=source
            )
        return _read(reader, document, source)
    found = detect(document, readers)
    if isinstance(found, Undetected):
        raise undetected(found, source)
    return _read(found.reader, document, source)


def undetected(found: Undetected, source: str) -> AuthoringError:
    """Return the error that says why nobody reads the document."""
    lines = [Problem(f"{name} declines: {reason}", file=source) for name, reason in found.reasons]
    head = Problem(
        "the format of the transcript is not recognised",
        file=source,
        hint="each format says below why it declines; name one with --format to insist",
    )
    return AuthoringError(head, *lines)


def all_readers(more: Iterable[Reader]) -> tuple[Reader, ...]:
    """Return the readers of arh and those of others, which come last.

    Raises:
        AuthoringError: Two readers have the same name.
    """
    readers = [*BUILT_IN]
    names = {AUTO, *(reader.name for reader in readers)}
    for reader in more:
        if reader.name in names:
            raise AuthoringError.of(
                f"two trace formats are named `{safe(reader.name)}`",
                hint="rename the one that is installed beside arh",
            )
        names.add(reader.name)
        readers.append(reader)
    return tuple(readers)


def _named(form: str, readers: Sequence[Reader]) -> Reader:
    """Return the reader of that name."""
    for reader in readers:
        if reader.name == form:
            return reader
    names = [reader.name for reader in readers]
    raise AuthoringError.of(
        form,
        expected=f"one of {', '.join([AUTO, *names])}",
        field="format",
        hint=closest(form, names),
    )


def _declines(reader: Reader, document: JsonValue) -> str | None:
    """Return the reader's reason; a reader of others is foreign code."""
    if reader in BUILT_IN:
        return reader.declines(document)
    answer: object = call(f"trace format {reader.name}", lambda: reader.declines(document))
    if isinstance(answer, ForeignFailure):
        raise _broken(reader, answer)
    if answer is not None and not isinstance(answer, str):
        raise AuthoringError.of(f"trace format {safe(reader.name)} gave no reason and no None")
    return answer


def _read(reader: Reader, document: JsonValue, source: str) -> tuple[Trace, ...]:
    """Return the reader's traces; a reader of others is foreign code."""
    if reader in BUILT_IN:
        return reader.read(document, source)
    traces: object = call(f"trace format {reader.name}", lambda: reader.read(document, source))
    if isinstance(traces, ForeignFailure):
        raise _broken(reader, traces)
    if not isinstance(traces, tuple) or not all(isinstance(trace, Trace) for trace in traces):
        raise AuthoringError.of(f"trace format {safe(reader.name)} returned no tuple of traces")
    return traces


def _broken(reader: Reader, failure: ForeignFailure) -> AuthoringError:
    return AuthoringError.of(
        f"trace format {safe(reader.name)} broke with {failure.type_name}",
        hint="repair or remove the package that brings it",
    )
