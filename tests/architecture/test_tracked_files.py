"""Nothing that is tracked tells where it was written.

Paths of a machine and addresses of the package registries in use on it are found out when the test
runs, so that this file names none of them either.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

ROOT = Path(__file__).resolve().parents[2]
FORBIDDEN_NAMES = {"pylock.toml", "uv.lock"}
STANDARD_FOLDERS = {"home", "opt", "srv", "tmp", "usr", "var"}
IN_TREE_OF_GIT = ROOT.joinpath(".git").exists()

pytestmark = pytest.mark.skipif(not IN_TREE_OF_GIT, reason="not a git checkout: nothing is tracked")


def test_no_file_names_a_place_on_this_machine() -> None:
    """No text holds the path of this checkout, of the folder around it, or of a home folder."""
    places = places_on_this_machine()
    found = {
        name: hits
        for name, text in tracked_texts()
        if (hits := [place for place in places if place in text])
    }

    assert found == {}


def test_no_file_names_a_registry() -> None:
    """No text holds the host name of a package registry that pip or npm uses here."""
    hosts = registry_hosts()
    found = {name: hits for name, text in tracked_texts() if (hits := hosts_in(text, hosts))}

    assert hosts
    assert found == {}


def test_no_lock_with_addresses_is_tracked() -> None:
    """The one lock is requirements.lock, and it holds no address at all."""
    lock = ROOT.joinpath("requirements.lock").read_text("utf-8")

    assert "requirements.lock" in tracked()
    assert {name for name in tracked() if Path(name).name in FORBIDDEN_NAMES} == set()
    assert "://" not in lock
    assert "--hash=sha256:" in lock


def test_a_registry_is_found_as_a_whole_name() -> None:
    """The host of a registry is recognised in an address, and not inside another name."""
    host = min(registry_hosts())

    assert hosts_in(f"index: https://{host}/simple", {host}) == [host]
    assert hosts_in(f"not{host}ish", {host}) == []


def places_on_this_machine() -> list[str]:
    """The absolute paths that would betray this checkout.

    The folder around it counts only where it is of this machine's own making: every machine has
    a /tmp.
    """
    places = {ROOT, Path.home()}
    if not STANDARD_FOLDERS & set(ROOT.parts[1:2]):
        places.add(ROOT.parent)
    return sorted(f"{place.as_posix()}/" for place in places if len(place.parts) > 1)


def registry_hosts() -> set[str]:
    """The hosts of pip's own default, of pip's configuration and of npm's, where there is npm."""
    models = [sys.executable, "-c", DEFAULT_HOSTS]
    pip = [sys.executable, "-m", "pip", "config", "list"]
    npm = [shutil.which("npm") or "", "config", "get", "registry"]
    outputs = [output_of(command) for command in (models, pip, npm) if command[0]]
    urls = re.findall(r"https?://[^\s'\"]+", "\n".join(outputs))
    return {host for url in urls if (host := urlsplit(url).hostname) and "." in host}


DEFAULT_HOSTS = (
    "from pip._internal.models.index import PyPI;"
    "print('https://' + PyPI.netloc, 'https://' + PyPI.file_storage_domain)"
)


def hosts_in(text: str, hosts: set[str]) -> list[str]:
    """The hosts that stand in the text as whole names."""
    return [
        host
        for host in sorted(hosts)
        if re.search(rf"(?<![A-Za-z0-9-]){re.escape(host)}(?![A-Za-z0-9-])", text)
    ]


def tracked_texts() -> list[tuple[str, str]]:
    """Name and text of every tracked file that is text and still there."""
    texts = []
    for name in tracked():
        path = ROOT / name
        data = path.read_bytes() if path.is_file() else b""
        if b"\0" not in data:
            texts.append((name, data.decode("utf-8", errors="replace")))
    return texts


def tracked() -> list[str]:
    """The names that git tracks, relative to the top, and those about to be added."""
    listing = output_of(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"])
    return [name for name in listing.split("\0") if name]


def output_of(command: list[str]) -> str:
    """What the command prints; nothing if it fails."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""
