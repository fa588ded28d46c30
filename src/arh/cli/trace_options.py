"""What the commands over recorded traces share: policy, format, threshold, and files to write."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from arh.canonical import Refused, parse
from arh.errors import AuthoringError, Problem, closest, quoted, safe
from arh.traces.authoring import policy_files
from arh.traces.authoring.policy import Policy
from arh.traces.judging.facts import Compat
from arh.traces.judging.report import FAIL_UNDER
from arh.traces.judging.validator import SCORE_MAX
from arh.traces.pipeline import Judge, read, refused
from arh.traces.reading.detection import AUTO, BUILT_IN
from arh.traces.reading.inputs import Recorded, find_recordings
from arh.traces.reading.reader import Reader
from arh.traces.rendering.run import TraceRun, Unjudged
from arh.traces.trace import Trace

PASSED, FAILED, USAGE = 0, 1, 2

Writing = tuple[Path | None, Callable[[], str]]


def add_judging(parser: argparse.ArgumentParser, *, required: bool) -> None:
    """Let the user say what recordings are judged by."""
    add = parser.add_argument
    add("--policy", type=Path, required=required, metavar="FILE", help="trace policy, JSON or YAML")
    add("--assertions", type=Path, metavar="FILE", help="inline assertions, JSON or YAML")
    add_format(parser)
    add(
        "--fail-under",
        type=score,
        default=FAIL_UNDER,
        metavar="N",
        help="least score of a trace that passes, 0 to 100 (default 70)",
    )
    add(
        "--trusted-patterns",
        action="store_true",
        help="run patterns that have no linear engine, each in a bounded process",
    )
    add("--compat", choices=["0.2"], help="the verdicts and scores of the public tool")
    add("--quiet", action="store_true", help="print nothing but errors")


def add_format(parser: argparse.ArgumentParser) -> None:
    """Let the user say which format recordings are in."""
    names = ", ".join(reader.name for reader in BUILT_IN)
    text = f"{AUTO}, {names}, or an installed one"
    parser.add_argument("--format", type=format_name, default=AUTO, metavar="NAME", help=text)


def format_name(text: str) -> str:
    """Return the name of a format; other packages' are loaded only for a name that is not ours.

    Raises:
        ArgumentTypeError: There is none of this name, or an installed one does not load.
    """
    if text == AUTO or any(reader.name == text for reader in BUILT_IN):
        return text
    try:
        names = [AUTO, *(reader.name for reader in installed_readers())]
    except AuthoringError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if text in names:
        return text
    problem = Problem(text, expected=f"one of {', '.join(names)}", hint=closest(text, names))
    raise argparse.ArgumentTypeError(str(problem))


def score(text: str) -> float:
    """Return a number from 0 to 100.

    Raises:
        ArgumentTypeError: It is none.
    """
    with suppress(ValueError):
        number = float(text)
        if 0 <= number <= SCORE_MAX:
            return number
    raise argparse.ArgumentTypeError(f"expected a number from 0 to 100, found {quoted(text)}")


def judged(
    chosen: argparse.Namespace, named: Sequence[str], *, is_placed: bool = False
) -> TraceRun:
    """Judge the recordings that are named.

    Raises:
        AuthoringError: The policy is wrong, or a name stands for nothing.
    """
    compat: Compat | None = chosen.compat
    judge = Judge(
        read_policy(chosen.policy, chosen.assertions, trusted=chosen.trusted_patterns),
        form=chosen.format,
        fail_under=chosen.fail_under,
        compat=compat,
        more=installed_readers,
        is_placed=is_placed,
    )
    return judge.run(find_recordings(named, sys.stdin.buffer))


def installed_readers() -> Sequence[Reader]:
    """Return every reader, those of other packages too."""
    from arh.bootstrap.trace_formats import trace_readers

    return trace_readers()


def traces_of(recorded: Recorded, form: str) -> Sequence[Trace] | Unjudged:
    """Return the traces of one recording, or why nobody reads it."""
    try:
        found = read(recorded.read(), recorded.uri, form=form, more=installed_readers)
    except AuthoringError as error:
        return refused(error, recorded.uri)
    return [trace for trace, _ in found]


def read_policy(path: Path, assertions: Path | None, *, trusted: bool) -> Policy:
    """Return the policy of a file, with the assertions of another one if it is named.

    Raises:
        AuthoringError: Anything in them is wrong; every mistake with its line.
    """
    policy = policy_files.read_policy(
        bytes_of(path, policy_files.BYTES_MAX), str(path), trusted=trusted
    )
    if assertions is None:
        return policy
    data = bytes_of(assertions, policy_files.BYTES_MAX)
    return policy_files.with_assertions(policy, data, str(assertions))


def bytes_of(path: Path, bytes_max: int) -> bytes:
    """Return the bytes of a file.

    Raises:
        AuthoringError: It cannot be read, or is larger than `bytes_max`.
    """
    try:
        with path.open("rb") as stream:
            data = stream.read(bytes_max + 1)
    except FileNotFoundError:
        raise AuthoringError.of("there is no such file", file=str(path)) from None
    except (OSError, ValueError):
        raise AuthoringError.of("this file cannot be read", file=str(path)) from None
    if len(data) > bytes_max:
        raise AuthoringError.of(f"this file is larger than {bytes_max} bytes", file=str(path))
    return data


def json_of(data: bytes, file: str, bytes_max: int) -> object:
    """Return the value of a strict JSON text.

    Raises:
        AuthoringError: It is none.
    """
    try:
        return parse(data.removeprefix(b"\xef\xbb\xbf"), size_max=bytes_max)
    except Refused as refused:
        column = "" if refused.column is None else f" at column {refused.column}"
        raise AuthoringError.of(
            f"this is no strict JSON: {refused.reason}{column}",
            file=file,
            line=refused.line,
            field=refused.path,
        ) from None


def written(writings: Sequence[Writing], *, is_quiet: bool) -> bool:
    """Write each file that was asked for and say so; false if one could not be written."""
    is_whole = True
    for path, made in writings:
        if path is None:
            continue
        trouble = _put(path, made())
        if trouble:
            is_whole = False
            sys.stderr.write(f"error: failed to write {safe(str(path))}: {safe(trouble)}\n")
        elif not is_quiet:
            sys.stdout.write(f"wrote {safe(str(path))}\n")
    return is_whole


def guarded(work: Callable[[], int]) -> int:
    """Return what a command came to; input that is wrong is no usage error, and fails it."""
    try:
        return work()
    except AuthoringError as error:
        sys.stderr.writelines(f"error: {line}\n" for line in str(error).splitlines())
        return FAILED


def _put(path: Path, text: str) -> str:
    """Put the text in the file's place, whole or not at all; return what was in the way."""
    from tempfile import NamedTemporaryFile

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not path.is_file():  # a device, a pipe: written as it is
            path.write_text(text, encoding="utf-8", newline="\n")
            return ""
        with NamedTemporaryFile(
            "w", encoding="utf-8", newline="\n", dir=path.parent, prefix=".arh-", delete=False
        ) as file:
            file.write(text)
        Path(file.name).chmod(0o644)
        Path(file.name).replace(path)
    except OSError as error:
        return error.strerror or "it cannot be written"
    except ValueError:
        return "this is no name of a file"
    return ""
