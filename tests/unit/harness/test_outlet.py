"""A console that cannot be written decides nothing: what is said is dropped, the code stays."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest

from arh.harness.exits import guarded
from arh.harness.outlet import Outlet, outlets

ARH = [sys.executable, "-m", "arh"]


class Full(io.StringIO):
    """A stream that takes nothing."""

    def write(self, _text: str, /) -> int:
        """Refuse."""
        raise OSError(28, "full")


class Unread(io.StringIO):
    """A stream whose reader is gone when it is flushed."""

    def flush(self) -> None:
        """Refuse."""
        raise BrokenPipeError


@pytest.mark.parametrize("stream", [None, Full(), Unread()])
def test_whatever_becomes_of_the_stream_writing_goes_on(stream: io.StringIO | None) -> None:
    """Nothing is raised, however often it is tried."""
    outlet = Outlet(stream)

    for _ in range(2):
        outlet.writelines(["one\n", "two\n"])
        outlet.flush()

    assert outlet.isatty() is False


def test_a_closed_stream_is_given_up() -> None:
    """Python says so with another error than the system."""
    stream = io.StringIO()
    stream.close()

    assert Outlet(stream).write("text") == 4


def test_what_can_be_written_is() -> None:
    """Also what the encoding of the stream does not have."""
    raw = io.BytesIO()
    outlet = Outlet(io.TextIOWrapper(raw, encoding="ascii"))

    outlet.write("3 \u20ac \ud800\n")
    outlet.flush()

    assert raw.getvalue() == b"3 \\u20ac \\ud800\n"


def test_the_streams_are_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever calls a command from Python has the streams that were there before."""
    own = io.StringIO()
    monkeypatch.setattr(sys, "stdout", own)

    with outlets():
        sys.stdout.write("said")

    assert (sys.stdout, own.getvalue()) == (own, "said")


def test_a_command_keeps_its_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its report is finished, and nobody hears of it."""
    monkeypatch.setattr(sys, "stdout", Full())
    monkeypatch.setattr(sys, "stderr", Full())

    def command(_words: object) -> int:
        sys.stdout.write("a line\n")
        return 3

    assert guarded(command, []) == 3


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full device")
@pytest.mark.parametrize(("words", "code"), [(["packs"], 0), (["--help"], 0), (["nope"], 2)])
def test_a_full_device_changes_no_exit_code(words: list[str], code: int) -> None:
    """Not even when the interpreter empties its buffers in the end."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*ARH, *words], stdout=full, stderr=full, check=False)

    assert done.returncode == code


def test_a_reader_that_leaves_changes_no_exit_code() -> None:
    """As `head` does."""
    process = subprocess.Popen([*ARH, "packs"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()

    assert (process.stderr.read(), process.wait()) == (b"", 0)
    process.stderr.close()
