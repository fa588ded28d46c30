"""Puts the authored suite into the wheel.

hatchling calls this while it builds. Scenarios, datasets, fixtures and profiles live at the top of
the repository, where people edit them; an installed arh needs a copy beside its code, as
`arh/_suite`. An editable install gets no copy: it would go stale, and the command reads the
working folder first.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SUITE_FOLDERS = ("datasets", "fixtures", "profiles", "scenarios")


class SuiteHook(BuildHookInterface):  # type: ignore[type-arg]  # the plugin has no configuration
    """Adds the suite folders to a standard wheel."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Every suite folder is part of the wheel, or the build has failed and said which is not.

        Raises FileNotFoundError for a missing folder: a wheel without its suite would install
        well and then find nothing to run.
        """
        if version == "editable":
            return
        for name in SUITE_FOLDERS:
            folder = Path(self.root, name)
            if not folder.is_dir():
                message = f"`{name}/` is missing beside pyproject.toml: the wheel needs it"
                raise FileNotFoundError(message)
            build_data["force_include"][str(folder)] = f"arh/_suite/{name}"
