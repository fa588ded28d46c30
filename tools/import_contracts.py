"""Two kinds of contract that import-linter does not have.

`only` lists what a package may import, so that a package added later is denied until somebody
allows it. `apart` is import-linter's `forbidden` with names in parentheses that may be absent, as
its layers have them. `.importlinter` uses both.
"""

from __future__ import annotations

from typing import Any

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output
from importlinter.contracts.forbidden import ForbiddenContract
from importlinter.domain.imports import ModuleExpression


class OnlyContract(Contract):
    """Says what one package may import of its own distribution, directly; all else is denied."""

    type_name = "only"

    importer: Any = fields.StringField()
    allowed: Any = fields.SetField(subfield=fields.StringField())
    denied: Any = fields.SetField(subfield=fields.StringField(), required=False)

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: FBT001
        """The check is kept if every import leads to an allowed package and to no denied one."""
        importer, optional = _bare(self.importer)
        if optional and importer not in graph.modules:
            return ContractCheck(kept=True)
        root = importer.partition(".")[0]
        wrong = sorted(
            (module, imported)
            for module in {importer, *graph.find_descendants(importer)}
            for imported in graph.find_modules_directly_imported_by(module)
            if _within(imported, [root]) and not self._allows(imported, importer=importer)
        )
        return ContractCheck(kept=not wrong, metadata={"wrong": wrong})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Each import that is not allowed has been printed on a line of its own."""
        for module, imported in check.metadata["wrong"]:
            output.print_error(f"- {module} is not allowed to import {imported}", bold=False)

    def _allows(self, imported: str, *, importer: str) -> bool:
        if _within(imported, self.denied or []):
            return False
        return _within(imported, [importer, *self.allowed])


class ApartContract(ForbiddenContract):
    """Forbids imports between packages, some of which may not exist."""

    type_name = "apart"

    source_modules: Any = fields.SetField(subfield=fields.StringField())
    forbidden_modules: Any = fields.SetField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: FBT001
        """The check is kept if no present source reaches a present forbidden module."""
        self.source_modules = _present(self.source_modules, graph)
        self.forbidden_modules = _present(self.forbidden_modules, graph)
        return super().check(graph, verbose)


def _present(names: set[str], graph: ImportGraph) -> set[ModuleExpression]:
    """The names as expressions, without the optional ones that are absent."""
    bare = (_bare(name) for name in names)
    return {
        ModuleExpression(name) for name, optional in bare if not optional or name in graph.modules
    }


def _bare(name: str) -> tuple[str, bool]:
    """The name without its parentheses, and whether it had them."""
    if name.startswith("(") and name.endswith(")"):
        return name[1:-1], True
    return name, False


def _within(module: str, packages: list[str] | set[str]) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)
