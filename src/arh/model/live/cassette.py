"""Recordings of live models: made once, replayed strictly, never filled in from the network.

A recording is one file of lines. The first names its format and what was asked of whom: model,
parameters, prompt bundle, tools. Then comes a line for each exchange, addressed by the digest of
the whole request; the request itself is there for a reader, redacted. The last line seals it. Each
line carries a chain value over all before it, so that what was altered is found; who rewrites the
whole file can forge it, as with any file that nobody signed.

A request that was asked several times in a run has its replies in order. A replay takes those of
the run of the same name, else those of the first run that asked. A reply that redaction changed is
kept as it was redacted and cannot be replayed: it would be another reply.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

from pydantic import BaseModel, ConfigDict, ValidationError

from arh.canonical import Json, JsonValue, Refused, encode, parse
from arh.errors import AuthoringError, RunStopped
from arh.model.live.canonical_request import canonical_request, message_value
from arh.model.live.recorded_replies import Reply, read_reply, reply_value
from arh.ports.sue import Model
from arh.records.decisions import ModelReply, ModelRequest
from arh.records.models import ModelSettings

FILE: Final = "cassette.jsonl"
FORMAT: Final = "1.0"
BYTES_MAX: Final = 256 * 2**20
GENESIS: Final = hashlib.sha256(b"arh:cassette:1").hexdigest()
Data: TypeAlias = dict[str, Any]
Redact: TypeAlias = Callable[[str, Data], Data]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, defer_build=True)


class Header(_Strict):
    """What was recorded, and by which configuration."""

    cassette: str
    adapter: str
    name: str
    base_url: str
    parameters: dict[str, Any]
    output_tokens_max: int
    bundle: str
    tools: str
    workflow: str

    @property
    def settings(self) -> ModelSettings:
        """The settings that the model was asked with."""
        return ModelSettings(
            self.adapter,
            self.name,
            self.base_url,
            Json.of(self.parameters),
            self.output_tokens_max,
            self.bundle,
        )


class _Exchange(_Strict):
    run: str
    request: str
    messages: list[Any]
    reply: Reply
    redacted: bool


class _Seal(_Strict):
    sealed: int


class Recorder:
    """Writes a recording, line by line; without `seal` it is no recording."""

    def __init__(self, folder: Path, settings: ModelSettings, named: Mapping[str, str]) -> None:
        """Write the first line; `named` are the header's `tools` and `workflow`.

        Raises:
            AuthoringError: The folder cannot be written, or holds a recording already.
        """
        self.path = folder / FILE
        self._chain = GENESIS
        self._count = 0
        self._lock = threading.Lock()
        header = {
            "cassette": FORMAT,
            "adapter": settings.adapter,
            "name": settings.name,
            "base_url": settings.base_url,
            "parameters": settings.parameters.value(),
            "output_tokens_max": settings.output_tokens_max,
            "bundle": settings.bundle,
            **named,
        }
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with self.path.open("xb"):
                pass
            self._write(header)
        except FileExistsError:
            found, hint = "it holds a recording already", "record into a new folder"
            raise AuthoringError.of(found, file=str(folder), field="--record", hint=hint) from None
        except OSError:
            found = "this folder cannot be written"
            raise AuthoringError.of(found, file=str(folder), field="--record") from None

    def add(self, run: str, request: Json, messages: Sequence[Data], reply: Data) -> None:
        """Write one exchange; `messages` and `reply["value"]` are as they may be kept."""
        with self._lock:
            self._count += 1
            self._write(
                {
                    "run": run,
                    "request": request.digest,
                    "messages": list(messages),
                    "reply": reply["value"],
                    "redacted": reply["redacted"],
                }
            )

    def seal(self) -> None:
        """Write the last line."""
        with self._lock:
            self._write({"sealed": self._count})

    def _write(self, body: Data) -> None:
        self._chain = _chained(self._chain, body)
        with self.path.open("ab") as file:
            file.write(encode({**body, "chain": self._chain}) + b"\n")


class RecordingModel:
    """A live model whose exchanges are recorded: implements `arh.ports.sue.Model`."""

    def __init__(
        self, inner: Model, recorder: Recorder, settings: ModelSettings, run: str, redact: Redact
    ) -> None:
        """Stand before the model of one actor of one run."""
        self._inner, self._recorder, self._settings = inner, recorder, settings
        self._run, self._redact = run, redact

    def complete(self, request: ModelRequest) -> ModelReply:
        """Return the model's reply, recorded."""
        reply = self._inner.complete(request)
        if isinstance(reply, ModelReply):
            self._keep(request, reply)
        return reply

    def _keep(self, request: ModelRequest, reply: ModelReply) -> None:
        value = reply_value(reply)
        messages = [message_value(message) for message in request.messages]
        self._redact("run_started", {"run": self._run})
        asked = self._redact("model_asked", {"new_messages": [_asked(m) for m in messages]})
        said = dict(value["decision"])
        kept = self._redact("model_answered", dict(said))
        self._recorder.add(
            self._run,
            canonical_request(request, self._settings),
            asked.get("new_messages", []),
            {"value": {**value, "decision": _kept(kept, said)}, "redacted": kept != said},
        )


def _asked(message: Data) -> Data:
    """Return a message in the shape that redaction knows."""
    shown: Data = {"role": message["role"], "text": message["text"]}
    if message["requests"]:
        shown["requests"] = message["requests"]
    if message["call_id"]:
        shown["call_id"] = message["call_id"]
    return shown


def _kept(kept: Data, said: Data) -> Data:
    """Return the decision as it may be kept; if nothing may, its kind alone."""
    return {"decision": said["decision"]} if "redaction_failed" in kept else kept


@dataclass(slots=True)
class Tape:
    """A recording that was read and checked: replies by request, by run, in order."""

    header: Header
    replies: Mapping[str, Mapping[str, Sequence[tuple[Reply, bool]]]]
    digest: str

    @classmethod
    def load(cls, folder: Path) -> Tape:
        """Read the recording of a folder.

        Raises:
            AuthoringError: There is none, it was altered or cut short, or is of another format.
        """
        path = folder / FILE
        bodies, chain = _checked(path)
        header = _read(Header, bodies[0], path, 1)
        if header.cassette.split(".")[0] != FORMAT.split(".")[0]:
            raise AuthoringError.of(
                header.cassette, expected=f"format {FORMAT}", file=str(path), hint="record anew"
            )
        replies: dict[str, dict[str, list[tuple[Reply, bool]]]] = {}
        for number, body in enumerate(bodies[1:-1], start=2):
            one = _read(_Exchange, body, path, number)
            runs = replies.setdefault(one.request, {})
            runs.setdefault(one.run, []).append((one.reply, one.redacted))
        seal = _sealed(bodies[-1])
        if seal != len(bodies) - 2:
            found = "the recording has no end, or not its own"
            raise AuthoringError.of(found, file=str(path), hint="record anew")
        return cls(header, replies, chain)


@dataclass(slots=True)
class ReplayModel:
    """Answers from a recording and from nothing else: implements `arh.ports.sue.Model`."""

    tape: Tape
    run: str
    settings: ModelSettings
    asked: dict[str, int] = field(default_factory=dict)
    calls: int = 0

    def complete(self, request: ModelRequest) -> ModelReply:
        """Return the recorded reply.

        Raises:
            RunStopped: There is none for exactly this request (`fixture_mismatch`).
        """
        digest = canonical_request(request, self.settings).digest
        nth = self.asked[digest] = self.asked.get(digest, 0) + 1
        self.calls += 1
        runs = self.tape.replies.get(digest, {})
        replies = runs.get(self.run) or next(iter(runs.values()), ())
        if not replies:
            raise self._miss(f"request {self.calls} of this run was never recorded")
        if nth > len(replies):
            raise self._miss(f"a request was recorded {len(replies)} times and asked {nth} times")
        reply, redacted = replies[nth - 1]
        if redacted:
            raise self._miss("the recorded reply was redacted, and cannot be replayed")
        return read_reply(reply, self.settings.identity)

    def _miss(self, what: str) -> RunStopped:
        return RunStopped("fixture_mismatch", f"cassette of {self.settings.identity}: {what}")


def _chained(before: str, body: Data) -> str:
    return hashlib.sha256(before.encode() + encode(body)).hexdigest()


def _checked(path: Path) -> tuple[list[Data], str]:
    """Return the lines without their chain values, which are right, and the last of those.

    Raises:
        AuthoringError: The file cannot be read, or a line of it is not what was written.
    """
    chain, bodies = GENESIS, []
    for number, line in enumerate(_lines(path), start=1):
        body = _object(line)
        given = None if body is None else body.pop("chain", None)
        if body is not None:
            chain = _chained(chain, body)
        if body is None or given != chain:
            found = "this line is not what was recorded, or lines before it are missing"
            hint = "a recording is not edited: record anew"
            raise AuthoringError.of(found, file=str(path), line=number, hint=hint)
        bodies.append(body)
    if len(bodies) < 2:  # noqa: PLR2004 - the first and the last line
        found = "the recording has no end, or not its own"
        raise AuthoringError.of(found, file=str(path), hint="record anew")
    return bodies, chain


def _lines(path: Path) -> Iterator[bytes]:
    data = None
    with suppress(OSError):
        # A pipe would be waited for, and a device has no end.
        if path.is_file():
            with path.open("rb") as file:
                data = file.read(BYTES_MAX + 1)
    if data is None:
        hint = "--record DIR makes one"
        raise AuthoringError.of("there is no recording here", file=str(path), hint=hint)
    if len(data) > BYTES_MAX:
        raise AuthoringError.of("a recording beyond every measure", file=str(path))
    yield from data.removesuffix(b"\n").split(b"\n")


def _object(line: bytes) -> Data | None:
    try:
        value: JsonValue = parse(line)
    except Refused:
        return None
    return value if isinstance(value, dict) else None


def _sealed(body: Data) -> int | None:
    try:
        return _Seal.model_validate(body).sealed
    except ValidationError:
        return None


def _read(kind: Any, body: Data, path: Path, number: int) -> Any:  # noqa: ANN401 - a record of ours
    try:
        return kind.model_validate(body)
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"]))
        raise AuthoringError.of(
            "this is no such line of a recording",
            file=str(path),
            line=number,
            field=where,
            hint="record anew",
        ) from None
