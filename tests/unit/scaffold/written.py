"""A written workflow pack, imported where it lies, and changed for the tests that need a defect."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from arh import bootstrap
from arh.harness.authoring.roots import find_root
from arh.records.execution import Handler, Tool
from arh.records.packs import WorkflowPack
from arh.scaffold.workflow import write_workflow
from arh.testing.pack_bench import PackBench, folders

NAME = "supplies"
TODAY = "2026-11-01"


@dataclass(frozen=True)
class Written:
    """The pack as it was written: its folder, and what its entry point returns."""

    root: Path
    pack: WorkflowPack

    def bench(self, pack: WorkflowPack | None = None) -> PackBench:
        """A bench of the pack's folder, with another pack if one is given."""
        roots = {name: find_root(name, path) for name, path in folders(self.root).items()}
        suite = bootstrap.grounded(pack or self.pack, roots).reading(self.root / "scenarios")
        return PackBench(suite)

    def with_tool(
        self, name: str, handler: Handler | None = None, **manifest: object
    ) -> WorkflowPack:
        """The pack with one tool's handler or manifest changed."""
        tools = list(self.pack.tools)
        at = next(n for n, tool in enumerate(tools) if tool.manifest.name == name)
        changed = replace(tools[at].manifest, **manifest)  # type: ignore[arg-type]  # by name
        tools[at] = Tool(changed, handler or tools[at].handler)
        return replace(self.pack, tools=tuple(tools))

    def handler(self, name: str) -> Handler:
        """The handler of one of its tools."""
        return next(tool.handler for tool in self.pack.tools if tool.manifest.name == name)

    def edit(self, path: str, change: Callable[[dict[str, Any]], object]) -> None:
        """Change every JSON value in one of its files."""
        file = self.root / path
        text = file.read_text("utf-8")
        if file.suffix == ".json":
            values, ends = [json.loads(text)], ""
        else:
            values, ends = [json.loads(line) for line in text.splitlines()], "\n"
        for value in values:
            change(value)
        file.write_text("".join(f"{json.dumps(value)}{ends}" for value in values), "utf-8")


@contextmanager
def written(folder: Path) -> Iterator[Written]:
    """A fresh pack below the folder, importable until the end."""
    root, _ = write_workflow(NAME, folder, today=TODAY)
    source = str(root / "src")
    sys.path.insert(0, source)
    importlib.invalidate_caches()
    try:
        yield Written(root, importlib.import_module(f"{NAME}_workflow").pack())
    finally:
        sys.path.remove(source)
        for name in [name for name in sys.modules if name.startswith(f"{NAME}_workflow")]:
            del sys.modules[name]
