"""Model scripts: the fixture files under `fixtures/<workflow>/model_scripts/`, read and checked.

A file is one JSON object: `config_id` (`scripted:<slug>`), `rules`, and optionally `description`,
`bind` (name -> RE2 pattern with one group), `defaults` (`input_tokens`, `output_tokens`,
`latency_ms`) and `on_mismatch`, which is accepted and never used. A rule is `when` (guards, all of
which must hold; see `guards`) and `then`, and may state `usage` and `latency_ms`. The first rule
that matches is the answer. Kinds of `then`: `tool_call` (`tool`, `arguments` or `raw_arguments`,
`text`), `tool_calls` (`calls`, `text`), `final_answer` (text or an envelope), `ask_user` and
`refusal` (`message`), `truncated` and `malformed` (`detail`), `unavailable` (`reason`,
`retry_after_ms`). Strings may hold `templates`, `raw_arguments` excepted.

Every mistake of every file is reported at once: unknown keys, guards and kinds, broken patterns and
templates, rules that an earlier one always beats or that nothing can match, one id in two files.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from arh.errors import AuthoringError, Problem, closest
from arh.model.scripted.reader import read_script
from arh.model.scripted.script import Script

FOLDER: Final = "model_scripts"


@dataclass(frozen=True, slots=True)
class Scripts:
    """The scripts of a folder by `config_id`."""

    by_id: Mapping[str, Script]

    def get(
        self, config_id: str, *, file: str = "", line: int | None = None, field: str = ""
    ) -> Script:
        """Return the script of that id.

        Raises:
            AuthoringError: There is none; the place of the reference is named, and the nearest id.
        """
        script = self.by_id.get(config_id)
        if script is None:
            known = closest(config_id, self.by_id) or f"{len(self.by_id)} scripts are known"
            raise AuthoringError.of(
                config_id,
                expected="the config_id of a model script",
                file=file,
                line=line,
                field=field,
                hint=known,
            )
        return script

    def digest(self, config_id: str) -> str:
        """Return the digest that identifies the script of that id in a configuration."""
        return self.get(config_id).source.digest


def load_scripts(folder: Path, *, others: Collection[str] = ()) -> Scripts:
    """Return every script of the `model_scripts` folders at or below `folder`.

    What lies in a folder of one of the `others`, which are other workflows, is left for those.

    Raises:
        AuthoringError: The folder is not there, or files in it are wrong; everything is listed.
    """
    if not folder.is_dir():
        raise AuthoringError.of(str(folder), expected="a folder with model scripts")
    problems: list[Problem] = []
    scripts: dict[str, Script] = {}
    for path in _files(folder, others):
        read = read_script(path.read_bytes(), file=_shown(path, folder))
        if isinstance(read, tuple):
            problems += read
        elif read.config_id in scripts:
            problems.append(_twice(read, scripts[read.config_id]))
        else:
            scripts[read.config_id] = read
    if problems:
        raise AuthoringError(*problems)
    return Scripts(scripts)


def _files(folder: Path, others: Collection[str]) -> list[Path]:
    """Return the script files in an order that no file system decides."""
    files = [
        path
        for path in folder.rglob("*.json")
        if FOLDER in {folder.name, *path.relative_to(folder).parts[:-1]}
        and path.relative_to(folder).parts[0] not in others
        and path.is_file()
    ]
    return sorted(files, key=lambda path: path.relative_to(folder).as_posix())


def _shown(path: Path, folder: Path) -> str:
    """Return the file's name as the user would write it."""
    return (Path(folder.name) / path.relative_to(folder)).as_posix()


def _twice(script: Script, first: Script) -> Problem:
    found = f"{script.config_id} is also the id of {first.file}"
    return Problem(found, "", script.file, None, "config_id", "give one of them another id")
