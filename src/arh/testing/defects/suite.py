"""Suites, profiles, data and configurations that are written wrongly, and must be refused.

What would make a scenario pass whatever happens, or keep it from being run, is refused before
anything runs; what can only be seen in a run makes it undecided.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeAlias

from arh.canonical import encode, parse
from arh.decision.baseline import load_baseline
from arh.decision.profile import read_profile
from arh.errors import AuthoringError
from arh.harness.authoring.datasets import DatasetCatalogue
from arh.harness.authoring.plan import plan_runs
from arh.harness.authoring.scenario_loader import load_scenarios
from arh.harness.vocabulary.rules import RULES
from arh.security.credentials import CredentialVault, assert_unexposed
from arh.testing.defects.agents import FAITHFUL, GOLDEN
from arh.testing.defects.gates import FLAWLESS
from arh.testing.defects.planting import LOADER, Catcher, Defect, Read, in_run, in_suite, in_text
from arh.testing.workbench import Exercise, Workbench

PROFILE: Final = "profile"
BASELINE: Final = "baseline"
START: Final = "start-up"

Anything: TypeAlias = Any  # the JSON value of whatever is broken
Break: TypeAlias = Callable[[dict[str, Any]], object]
Text: TypeAlias = Callable[[bytes], bytes]


# --- scenarios that inaction passes --------------------------------------------------------------


def idle(identity: str, breaks: str, **fields: object) -> Defect:
    """Return a scenario that demands this outcome and no more, and that inaction passes."""

    def weaken(value: dict[str, Anything]) -> None:
        allowed = value["expectations"]["unchanged_except"]
        demanded = {"unchanged_except": allowed, "pass_criteria": {"outcome": "pass"}}
        value["expectations"] = {**demanded, **fields}

    return in_suite(
        f"suite.idle-{identity}",
        breaks,
        "work_demanded",
        (Exercise(GOLDEN, idle=True),),
        profile=FLAWLESS,
        planted=(Exercise(GOLDEN, patch=weaken, idle=True),),
    )


def demanding(kind: str, collection: str, **fields: object) -> list[dict[str, object]]:
    """Return acceptable outcomes of one assertion."""
    assertion = {"kind": kind, "collection": collection, "where": {"account_id": "A-5050"}}
    return [{"all_of": [{**assertion, **fields}]}]


IDLE: Final[tuple[Defect, ...]] = (
    idle(
        "absent",
        "a scenario that demands no credit for an account that does not exist",
        acceptable_outcomes=demanding("absent", "credits"),
    ),
    idle(
        "total",
        "a scenario that demands a sum of at least nothing",
        acceptable_outcomes=demanding("total", "credits", field="amount", minimum=0),
    ),
    idle("unchanged", "a scenario that allows one change and demands none"),
    idle(
        "count-none",
        "a scenario that demands no ticket of an account that does not exist",
        acceptable_outcomes=demanding("count", "tickets", expected=0),
    ),
    idle(
        "count-or-none",
        "a scenario that takes a ticket as well as none",
        acceptable_outcomes=[
            *demanding("count", "tickets", where={"account_id": "A-1007"}, expected=1),
            *demanding("count", "tickets", where={"account_id": "A-1007"}, expected=0),
        ],
    ),
    idle(
        "empty-set",
        "a scenario that demands an empty set of tickets",
        acceptable_outcomes=demanding("set_equals", "tickets", field="category", expected=[]),
    ),
    idle(
        "seeded",
        "a scenario that demands a row which is there before the run",
        acceptable_outcomes=demanding("present", "accounts", where={"account_id": "A-1007"}),
    ),
    idle(
        "invariant",
        "a scenario that demands what always holds",
        invariants=[{"kind": "tenant_isolated", "collection": "tickets"}],
    ),
)


# --- scenarios -----------------------------------------------------------------------------------


def loaded(bench: Workbench, scenario: str, text: Text) -> object:
    """Load one scenario of the suite from a folder, its line changed as text."""
    located = bench.located(scenario)
    value = located.scenario.model_dump(mode="json", exclude_unset=True)
    with tempfile.TemporaryDirectory() as name:
        category = str(located.scenario.category)
        folder = Path(name) / "support" / category
        folder.mkdir(parents=True)
        (folder / "given.jsonl").write_bytes(text(encode(value)) + b"\n")
        return load(bench, Path(name))


def load(bench: Workbench, root: Path) -> object:
    """Load a folder of scenarios with everything that the suite knows."""
    suite = bench.suite
    return load_scenarios(
        root,
        pack=suite.pack,
        scripts=suite.configuration.scripts.by_id,
        catalogue=suite.catalogue,
        rules=RULES,
    )


def in_scenario(
    identity: str, breaks: str, field: str, broken: Break, scenario: str = GOLDEN
) -> Defect:
    """Return a scenario that the loader must refuse at the field."""

    def change(text: bytes) -> bytes:
        value: Anything = parse(text)
        broken(value)
        return encode(value)

    return in_line(identity, breaks, field, change, scenario)


def in_line(identity: str, breaks: str, field: str, text: Text, scenario: str = GOLDEN) -> Defect:
    """Return a scenario's line that the loader must refuse."""

    def read(bench: Workbench, is_broken: bool) -> object:  # noqa: FBT001 - see `in_text`
        return loaded(bench, scenario, text if is_broken else bytes)

    return in_text(identity, breaks, Catcher(LOADER, field), read=read)


def expectations(**fields: object) -> Break:
    """Return what replaces expectations."""
    return lambda value: value["expectations"].update(fields)


def fault(**fields: object) -> Break:
    """Return what changes the fault of a scenario."""
    return lambda value: value["controls"]["faults"][0].update(fields)


def outcome(**assertion: object) -> Break:
    """Return what makes an assertion the only acceptable outcome."""
    return expectations(acceptable_outcomes=[{"all_of": [assertion]}])


def invariant(**assertion: object) -> Break:
    """Return what makes an assertion the only invariant."""
    return expectations(invariants=[assertion])


def no_criteria(value: dict[str, Anything]) -> None:
    """Take the criteria away."""
    del value["expectations"]["pass_criteria"]


def twice(text: bytes) -> bytes:
    """Write a line twice."""
    return text + b"\n" + text


def two_keys(text: bytes) -> bytes:
    """Write a key twice, the second time with less in it."""
    return text[:-1] + b',"description":"Something else."}'


# --- what else is read ---------------------------------------------------------------------------


def profile(text: str) -> Read:
    """Return how a profile is read: this one, or the twin."""
    return lambda _bench, broken: read_profile(
        (text if broken else FLAWLESS).encode(), file="given", rules=RULES
    )


def in_profile(identity: str, breaks: str, field: str, text: str) -> Defect:
    """Return a profile that must be refused at the field."""
    return in_text(identity, breaks, Catcher(PROFILE, field), read=profile(text))


def gate(fields: str) -> str:
    """Return a profile with one gate."""
    return f"profile: given\ngates:\n  - {{{fields}}}\n"


def nothing_there(bench: Workbench, broken: bool) -> object:  # noqa: FBT001 - see `in_text`
    """Load an empty folder, or the suite's own."""
    if not broken:
        return bench.suite.loaded
    with tempfile.TemporaryDirectory() as name:
        return load(bench, Path(name))


def only(bench: Workbench, broken: bool) -> object:  # noqa: FBT001 - see `in_text`
    """Plan what a pattern selects: a misspelt one, or a right one."""
    pattern = "gloden-*" if broken else "golden-*"
    return plan_runs(bench.suite.loaded.scenarios, seed=1, only=(pattern,))


def altered_baseline(_bench: Workbench, broken: bool) -> object:  # noqa: FBT001 - see `in_text`
    """Read a baseline whose digest does not cover it, or nothing at all."""
    if not broken:
        return None
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "baseline.json"
        path.write_bytes(b'{"schema_version":"1.0","digest":"' + b"0" * 64 + b'"}')
        return load_baseline(path)


def drifted(bench: Workbench, broken: bool) -> object:  # noqa: FBT001 - see `in_text`
    """Read data of which one row has no key, or the suite's own."""
    if not broken:
        return DatasetCatalogue(bench.suite.roots["datasets"].path, bench.suite.pack).load(
            "accounts"
        )
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "accounts.jsonl").write_bytes(b'{"name":"nobody"}\n')
        found = DatasetCatalogue(Path(name), bench.suite.pack).load("accounts")
        if isinstance(found, tuple):
            raise AuthoringError(*found)
        return found


def exposed(_bench: Workbench, broken: bool) -> object:  # noqa: FBT001 - see `in_text`
    """Start with a credential in the prompt, or without."""
    secret = "token-of-the-ticket-service"  # noqa: S105 - invented
    vault = CredentialVault({"ticket_service": secret})
    assert_unexposed(vault, [f"You are an agent. {secret if broken else ''}"])
    return vault


DEFECTS: tuple[Defect, ...] = (
    *IDLE,
    in_scenario(
        "suite.deletes-the-criteria",
        "a failing scenario whose criteria were deleted",
        "expectations.pass_criteria",
        no_criteria,
    ),
    in_scenario(
        "suite.has-empty-criteria",
        "a scenario with empty criteria",
        "expectations.pass_criteria",
        expectations(pass_criteria={}),
    ),
    in_scenario(
        "suite.expects-to-fail",
        "a scenario whose criterion is a failure",
        "expectations.pass_criteria.outcome",
        expectations(pass_criteria={"outcome": "fail"}),
    ),
    in_scenario(
        "suite.names-no-evaluator",
        "a scenario whose criterion names no evaluator",
        "expectations.pass_criteria",
        expectations(pass_criteria={"outcome": "pass", "outcmoe": "pass"}),
    ),
    in_scenario(
        "suite.leaves-the-outcome-out",
        "a scenario that is to be accepted without its outcome",
        "expectations.pass_criteria",
        expectations(pass_criteria={"response": "pass"}),
    ),
    in_scenario(
        "suite.excuses-the-record",
        "a scenario that excuses evidence which contradicts itself",
        "expectations.expected_findings[0].rule",
        expectations(expected_findings=[{"rule": "evidence.conflict", "why": "it may happen"}]),
    ),
    in_scenario(
        "suite.excuses-its-outcome",
        "a scenario that is to be accepted and excuses its own failed outcome",
        "expectations.expected_findings[0].rule",
        expectations(
            expected_findings=[{"rule": "outcome.no_alternative_holds", "why": "it is flaky"}]
        ),
    ),
    in_scenario(
        "suite.excuses-the-unknown",
        "a scenario that expects a finding which does not exist",
        "expectations.expected_findings[0].rule",
        expectations(expected_findings=[{"rule": "outcome.whatever", "why": "it may happen"}]),
    ),
    in_scenario(
        "suite.accepts-a-watchdog",
        "a scenario that accepts being stopped by the harness",
        "expectations.acceptable_terminations[0]",
        expectations(acceptable_terminations=["watchdog"]),
    ),
    in_scenario(
        "suite.misspells-a-collection",
        "an assertion about a collection that does not exist",
        "expectations.invariants[0].collection",
        invariant(kind="absent", collection="creditz", where={"account_id": "A-1007"}),
    ),
    in_scenario(
        "suite.misspells-a-field",
        "an assertion about a field that does not exist",
        "expectations.invariants[0].where",
        invariant(kind="absent", collection="credits", where={"acount_id": "A-1007"}),
    ),
    in_scenario(
        "suite.counts-without-a-number",
        "a count that expects no number",
        "expectations.acceptable_outcomes[0].all_of[0].expected",
        outcome(kind="count", collection="tickets", where={}),
    ),
    in_scenario(
        "suite.counts-true",
        "a count that expects `true` for one",
        "expectations.acceptable_outcomes[0].all_of[0].expected",
        outcome(kind="count", collection="tickets", where={}, expected=True),
    ),
    in_scenario(
        "suite.matches-no-field",
        "a match of no field",
        "expectations.acceptable_outcomes[0].all_of[0].field",
        outcome(kind="field_match", collection="tickets", where={}, expected="x"),
    ),
    in_scenario(
        "suite.forbids-an-unknown-tool",
        "a forbidden tool that does not exist",
        "expectations.trajectory.forbidden_tool_requests[0]",
        lambda value: value["expectations"]["trajectory"].update(
            forbidden_tool_requests=["isue_credit"]
        ),
    ),
    in_scenario(
        "suite.offers-an-unknown-tool",
        "a tool on offer that does not exist",
        "runtime.available_tools[0]",
        lambda value: value["runtime"].update(available_tools=["get_acount"]),
    ),
    in_scenario(
        "suite.names-an-unknown-script",
        "a model script that does not exist",
        "reproducibility.model_configuration",
        lambda value: value["reproducibility"].update(model_configuration="scripted:gone"),
    ),
    in_scenario(
        "suite.names-an-unknown-policy",
        "a policy that does not exist",
        "trusted_environment.authorization_policy_refs[0]",
        lambda value: value["trusted_environment"].update(authorization_policy_refs=["none"]),
    ),
    in_scenario(
        "suite.pins-another-tool-version",
        "a tool manifest that differs from the pinned version",
        "reproducibility.tool_version",
        lambda value: value["reproducibility"].update(tool_version="tools-0.9"),
    ),
    in_scenario(
        "suite.pins-other-data",
        "data that differs from its pinned digest",
        "runtime.dataset_refs[0].content_hash",
        lambda value: value["runtime"]["dataset_refs"][0].update(content_hash="0" * 64),
    ),
    in_scenario(
        "suite.is-of-another-schema",
        "a scenario of a schema that does not exist",
        "schema_version",
        lambda value: value.update(schema_version="99.9"),
    ),
    in_scenario(
        "suite.has-an-unknown-key",
        "a scenario with a key that does not exist",
        "expectations.asert",
        expectations(asert=[]),
    ),
    in_scenario(
        "suite.has-a-negative-budget",
        "a scenario with a budget below zero",
        "controls.runtime_budgets.max_steps",
        lambda value: value["controls"]["runtime_budgets"].update(max_steps=-1),
    ),
    in_scenario(
        "suite.misspells-a-fault-s-effect",
        "a fault whose effect does not exist",
        "controls.faults[0].effect",
        fault(effect="timout"),
        FAITHFUL,
    ),
    in_scenario(
        "suite.misspells-a-fault-s-target",
        "a fault on a dependency that does not exist",
        "controls.faults[0].target_type",
        fault(target_type="toool"),
        FAITHFUL,
    ),
    in_scenario(
        "suite.faults-an-unknown-tool",
        "a fault on a tool that does not exist",
        "controls.faults[0]",
        fault(target_name="check_incident"),
        FAITHFUL,
    ),
    in_scenario(
        "suite.has-an-impossible-fault",
        "a fault that cannot strike: a read has no commit",
        "controls.faults[0]",
        fault(phase="after_commit"),
        FAITHFUL,
    ),
    in_run(
        "suite.faults-what-nobody-calls",
        "a fault on a tool that is on offer and that nobody calls",
        "fault.not_exposed",
        FAITHFUL,
        broken=fault(target_name="search_knowledge_base"),
    ),
    in_run(
        "suite.faults-what-comes-once",
        "a fault on the second call of a tool that is called once",
        "fault.not_injected",
        FAITHFUL,
        broken=fault(trigger="nth", invocation=2),
    ),
    in_run(
        "suite.begins-in-violation",
        "an invariant that is false before the agent does anything",
        "outcome.invariant_false_at_start",
        GOLDEN,
        broken=invariant(kind="absent", collection="accounts", where={"account_id": "A-1007"}),
    ),
    in_line("suite.repeats-a-scenario", "one scenario written twice", "id", twice),
    in_line("suite.repeats-a-key", "a key written twice in one scenario", "description", two_keys),
    in_line(
        "suite.breaks-off",
        "a line that ends in the middle",
        "category",
        lambda text: text[: text.index(b'"golden"') + len(b'"gol')],
    ),
    in_text(
        "suite.is-empty",
        "a folder without any scenario",
        Catcher(LOADER, "there is no scenario here"),
        read=nothing_there,
    ),
    in_text(
        "suite.selects-nothing",
        "a misspelt pattern that selects no scenario",
        Catcher(LOADER, "--only"),
        read=only,
    ),
    in_text(
        "suite.loses-a-key-in-data",
        "a row of data without its key",
        Catcher(LOADER, "account_id"),
        read=drifted,
    ),
    in_text(
        "suite.alters-a-baseline",
        "a baseline that was written by hand",
        Catcher(BASELINE, "as_of"),
        read=altered_baseline,
    ),
    in_text(
        "suite.shows-a-credential",
        "a prompt with a tool's credential in it",
        Catcher(START, "ticket_service"),
        read=exposed,
    ),
    in_profile("suite.has-no-gates", "a profile without gates", "gates", "profile: x\ngates: []\n"),
    in_profile(
        "suite.misspells-a-metric",
        "a gate on a metric that does not exist",
        "gates[0].metric",
        gate(
            "metric: scenario_pas_rate, type: absolute, operator: eq, threshold: 1, "
            "severity: blocking"
        ),
    ),
    in_profile(
        "suite.skips-the-missing",
        "a blocking gate that skips what was not measured",
        "gates[0].on_missing",
        gate(
            "metric: scenario_pass_rate, type: absolute, operator: eq, threshold: 1, "
            "severity: blocking, on_missing: skip"
        ),
    ),
    in_profile(
        "suite.cannot-fail",
        "a gate that nothing can fail",
        "gates[0].threshold",
        gate(
            "metric: scenario_pass_rate, type: absolute, operator: ge, threshold: 0, "
            "severity: blocking"
        ),
    ),
    in_profile(
        "suite.turns-a-gate-round",
        "a gate that refuses what is better",
        "gates[0].operator",
        gate(
            "metric: scenario_pass_rate, type: absolute, operator: le, threshold: 0.9, "
            "severity: blocking"
        ),
    ),
    in_profile(
        "suite.forgets-the-operator",
        "a gate without an operator",
        "gates[0].operator",
        gate("metric: scenario_pass_rate, type: absolute, threshold: 1, severity: blocking"),
    ),
    in_profile(
        "suite.forgets-the-floor",
        "a blocking comparison without an absolute floor",
        "gates[0].floor",
        gate(
            "metric: scenario_pass_rate, type: regression, regression_kind: drop_points, "
            "max_delta: 0.02, severity: blocking"
        ),
    ),
    in_profile(
        "suite.repeats-a-threshold",
        "a threshold written twice, the second time lower",
        "gates[0].threshold",
        gate(
            "metric: scenario_pass_rate, type: absolute, operator: ge, threshold: 0.9, "
            "threshold: 0.1, severity: blocking"
        ),
    ),
    in_profile(
        "suite.bans-an-unknown-rule",
        "a gate that bans a rule which does not exist",
        "gates[0].rules",
        gate("type: conformance, check: never, rules: [guardrails.bypas], severity: blocking"),
    ),
    in_profile(
        "suite.asks-for-an-interval",
        "a confidence demanded of an authored suite, which is no sample",
        "gates[0].evidence",
        gate(
            "metric: scenario_pass_rate, type: absolute, operator: eq, threshold: 1, "
            "severity: blocking, evidence: {confidence_level: 0.95}"
        ),
    ),
)
