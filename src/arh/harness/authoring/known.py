"""What a scenario may name: the tools, collections, scripts, rules and evaluators that exist.

Built once for a suite, so that a check is a look-up, whatever the number of scenarios.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias, get_args

from arh.canonical import Json
from arh.errors import Problem, closest
from arh.harness.authoring.datasets import DatasetCatalogue
from arh.records.control.scenario import Scenario
from arh.records.packs import WorkflowPack
from arh.records.tasks import HARNESS_ENDS, Termination
from arh.records.tools import ToolManifest

EVALUATORS: Final = (
    "outcome",
    "trajectory",
    "guardrails",
    "response",
    "grounding",
    "fault_handling",
    "non_progress",
)
TERMINATIONS: Final[tuple[str, ...]] = get_args(Termination)
NEVER_ACCEPTABLE: Final = ("watchdog", "hung", *HARNESS_ENDS)
SIDE_EFFECTS: Final = "side_effects"
SIDE_EFFECT_FIELDS: Final = frozenset(
    {"seq", "kind", "entity_id", "collection", "operation_id", "payload"}
)
_LISTED_MAX: Final = 12


@dataclass(frozen=True)
class Known:
    """Everything that exists, by name.

    `fields` is empty where a pack does not declare them; `masked` are those that are never written.
    """

    pack: WorkflowPack
    catalogue: DatasetCatalogue
    scripts: frozenset[str]
    rules: frozenset[str]
    evaluators: frozenset[str]
    workflow: str
    tools: Mapping[str, ToolManifest]
    arguments: Mapping[str, frozenset[str]]
    collections: frozenset[str]
    fields: Mapping[str, frozenset[str]]
    policies: frozenset[str]
    masked: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls,
        pack: WorkflowPack,
        catalogue: DatasetCatalogue,
        *,
        scripts: Collection[str],
        rules: Collection[str],
        evaluators: Collection[str] = EVALUATORS,
    ) -> Known:
        """Look up the names once."""
        manifests = [tool.manifest for tool in pack.tools]
        return cls(
            pack=pack,
            catalogue=catalogue,
            scripts=frozenset(scripts),
            rules=frozenset(rules),
            evaluators=frozenset(evaluators),
            workflow=f"{pack.name}@{pack.major}",
            tools={m.name: m for m in manifests},
            arguments={m.name: properties(m.parameters) for m in manifests},
            collections=frozenset(spec.name for spec in pack.collections) | {SIDE_EFFECTS},
            fields={
                SIDE_EFFECTS: SIDE_EFFECT_FIELDS,
                **{spec.name: frozenset(spec.fields) for spec in pack.collections},
            },
            policies=frozenset(name for name, _ in pack.policies),
            masked=frozenset(field for m in manifests for field in m.sensitive_fields),
        )


Rule: TypeAlias = Callable[[Scenario, Known], Iterator[Problem]]


def properties(schema: Json) -> frozenset[str]:
    """Return the names of an object schema's properties."""
    value = schema.value()
    names = value.get("properties", {}) if isinstance(value, dict) else {}
    return frozenset(names) if isinstance(names, dict) else frozenset()


def unknown(field: str, name: str, kind: str, known: Iterable[str]) -> Iterator[Problem]:
    """Yield the problem of a name that does not exist, with the nearest that does."""
    names = frozenset(known)
    if name not in names:
        listed = ", ".join(sorted(names)[:_LISTED_MAX])
        more = len(names) - _LISTED_MAX
        listed += f" and {more} more" if more > 0 else ""
        hint = closest(name, names) or (f"known: {listed}" if names else "none is known")
        yield Problem(name, f"a known {kind}", field=field, hint=hint)


def repeated(field: str, names: Iterable[str], kind: str) -> Iterator[Problem]:
    """Yield the problem of each name that a list holds twice."""
    seen: set[str] = set()
    for at, name in enumerate(names):
        if name in seen:
            yield Problem(name, f"each {kind} once", field=f"{field}[{at}]")
        seen.add(name)
