"""Builds the scorecard and its JSON: everything that a reviewer needs to defend the decision.

Step 10 of a scenario's path, the model of it; how it looks is `arh.render`'s. The first line names
the subject, and with a scripted model it says that it shows the controls around the model and not
the model. Nothing here reads a clock or a path of this machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from typing import Any, Final

from arh.canonical import JsonValue
from arh.decision.baseline import PARTS, Baseline, changed, differences
from arh.decision.catalogue import CATALOGUE
from arh.decision.conformance import NAMED_MAX, Seen, behaviour
from arh.decision.coverage import accounts, coverage
from arh.decision.numbers import decimal, plural, ratio
from arh.decision.profile import LoadedProfile
from arh.records.control.gate import GateDecision
from arh.records.control.metric import MetricValue
from arh.records.control.plan import PlannedRun, RunPlan
from arh.records.control.scorecard import (
    About,
    BaselineLine,
    ControlLine,
    Coverage,
    ExclusionLine,
    MetricLine,
    ProfileAbout,
    RunLine,
    Scorecard,
    StatusCounts,
)
from arh.records.control.verdict import LEVELS, ScenarioVerdict
from arh.records.packs import WorkflowPack
from arh.render.pages import page_paths

STARTED: Final = "started"
STRIKING: Final = frozenset({"tool", "fault", "boundary"})
SCRIPTED: Final = "shows the controls around the model, not the model"
ASIDE: Final = "in place of the scenarios' scripts"
NOT_SHOWN: Final = (
    "that the expected outcomes are the right ones: what a suite says is enforced, right or wrong",
    "anything about a path, tool, fault or attack that no scenario contains",
    "that no other route to the backend exists besides the gateway that was tested",
    "real latency, load or capacity: time in these runs is logical",
    "that a control recovers, where it is only shown to fail closed",
    "that effects outside the state store were or were not made, unless a reader of them is given",
)
NOT_SHOWN_SCRIPTED: Final = (
    "how a live model behaves: the model followed a script, so no rate here is a sample",
    "that a model resists an injected instruction: a script reads none",
)
NOT_SHOWN_LIVE: Final = (
    "how often a live model would do the same: each scenario was run once, which is no sample",
)
_STATUS_FIELDS: Final = {
    "pass": "passed",
    "fail": "failed",
    "indeterminate": "indeterminate",
    "error": "error",
    "not_applicable": "not_applicable",
    "not_exercised": "not_applicable",
}


@dataclass(frozen=True, slots=True)
class SuiteRun:
    """What was planned and what came back; `rules` are the ids of all finding rules there are."""

    plan: RunPlan
    verdicts: tuple[ScenarioVerdict, ...]
    pack: WorkflowPack
    rules: frozenset[str]


def build(
    about: About,
    profile: LoadedProfile,
    decision: GateDecision,
    metrics: Sequence[MetricValue],
    suite: SuiteRun,
    *,
    baseline: Baseline | None = None,
    notes: Sequence[str] = (),
) -> Scorecard:
    """Return the scorecard of a decided run.

    Args:
        about: What ran.
        profile: The profile that decided, as it was loaded.
        decision: What `arh.decision.gates.decide` returned.
        metrics: What `arh.decision.metrics.compute` returned.
        suite: What was planned and what came back.
        baseline: What was compared with.
        notes: Further warnings: of the suite's loader, of the lint.
    """
    plan, verdicts = suite.plan, suite.verdicts
    seen = Seen.of(profile.profile, verdicts, plan, about)
    covered = coverage(seen.acceptance, suite.pack)
    return Scorecard(
        subject=subject_line(about),
        decision=decision,
        about=about,
        profile=_profile(profile),
        accounts=accounts(seen, verdicts, suite.rules),
        roles=tuple(_roles(seen)),
        levels=tuple(_levels(seen)),
        metrics=tuple(map(metric_line, metrics)),
        definitions=tuple(measure.definition for measure in CATALOGUE.values()),
        coverage=covered,
        controls=tuple(_controls(seen)),
        runs=_runs(verdicts),
        exclusions=tuple(
            ExclusionLine(each.scenario_id, each.location, each.reason) for each in plan.exclusions
        ),
        warnings=tuple(_warnings(profile, decision, seen, covered, verdicts, notes)),
        baseline=_baseline(baseline, about, profile),
        not_shown=(*NOT_SHOWN, *(NOT_SHOWN_SCRIPTED if about.scripted else NOT_SHOWN_LIVE)),
    )


def started(about: About) -> Scorecard:
    """Return what stands in the report's folder until a run is decided: no pass, whatever comes."""
    decision = GateDecision("inconclusive", (STARTED,), ())
    return Scorecard(subject=subject_line(about), decision=decision, about=about)


def subject_line(about: About) -> str:
    """Return what the scorecard is about, and what it is not about."""
    model = f"scripted model ({SCRIPTED})" if about.scripted else f"model {about.model} ({ASIDE})"
    return f"agent {about.agent} on workflow {about.workflow} with {model}, mode {about.mode}"


def _profile(loaded: LoadedProfile) -> ProfileAbout:
    profile = loaded.profile
    return ProfileAbout(
        profile.profile, profile.version, profile.illustrative, loaded.digest, loaded.source
    )


def metric_line(metric: MetricValue) -> MetricLine:
    """Return a metric as it is written, its fractions as exact text."""
    return MetricLine(
        name=metric.name,
        slice=metric.slice,
        version=metric.version,
        status=metric.status,
        value=_text(metric.value, decimal),
        exact=_text(metric.value, ratio),
        numerator=_text(metric.numerator, ratio),
        denominator=_text(metric.denominator, ratio),
        sample_size=metric.sample_size,
        scenarios=metric.scenarios,
        unjudged=metric.unjudged,
        interval=metric.interval,
        detail=metric.detail,
    )


def _text(value: Fraction | None, write: Any) -> str:  # noqa: ANN401 - one of two functions
    return "" if value is None else str(write(value))


def _roles(seen: Seen) -> Iterator[StatusCounts]:
    for role in ("acceptance", "positive_control", "negative_control", "unscored"):
        statuses = ["missing" if v is None else v.status for _, v in seen.of_role(role)]
        if statuses:
            yield _counts(role, statuses)


def _levels(seen: Seen) -> Iterator[StatusCounts]:
    """Yield each level's own counts over acceptance scenarios: levels are never averaged."""
    verdicts = [case.verdict for case in seen.acceptance]
    for level in LEVELS:
        statuses = [
            "missing" if v is None else dict(v.levels).get(level, "error") for v in verdicts
        ]
        yield _counts(level, statuses)


def _counts(name: str, statuses: Sequence[str]) -> StatusCounts:
    counts = dict.fromkeys(("missing", *_STATUS_FIELDS.values()), 0)
    for status in statuses:
        counts[_STATUS_FIELDS.get(status, "missing")] += 1
    return StatusCounts(name, **counts)


def _controls(seen: Seen) -> Iterator[ControlLine]:
    for run, verdict in seen.of_role("positive_control", "negative_control"):
        odd = behaviour(run, verdict)
        detail = odd or _as_expected(run)
        yield ControlLine(run.located.scenario.id, run.located.scenario.role, not odd, detail)


def _as_expected(run: PlannedRun) -> str:
    scenario = run.located.scenario
    if scenario.role == "positive_control":
        return "passed"
    return "failed by " + ", ".join(each.rule for each in scenario.expectations.expected_findings)


def _runs(verdicts: Sequence[ScenarioVerdict]) -> tuple[RunLine, ...]:
    return tuple(
        RunLine(
            scenario_id=v.scenario_id,
            run_id=v.run_id,
            role=v.role,
            category=v.category,
            risk_class=v.risk_class,
            status=v.status,
            termination=v.termination,
            location=v.location,
            page=page,
            reasons=v.reasons,
            excused=v.excused,
        )
        for v, page in zip(verdicts, page_paths(verdicts), strict=True)
    )


def _warnings(
    profile: LoadedProfile,
    decision: GateDecision,
    seen: Seen,
    covered: Sequence[Coverage],
    verdicts: Sequence[ScenarioVerdict],
    notes: Sequence[str],
) -> Iterator[str]:
    if profile.profile.illustrative:
        yield "the profile is illustrative: its numbers are examples and not calibrated"
    for gate in decision.gates:
        if gate.severity == "warning" and gate.status not in ("pass", "skipped"):
            yield f"gate {gate.gate} ({gate.status}): {gate.reason}"
    yield from profile.notes
    yield from _tolerated(decision, seen)
    yield from _excused(verdicts)
    for line in covered:
        if line.dimension in STRIKING and line.scenarios and not line.exercised:
            declared = plural(line.scenarios, "scenario")
            yield f"{line.dimension} {line.item}: in {declared}, never exercised"
    yield from notes


def _tolerated(decision: GateDecision, seen: Seen) -> Iterator[str]:
    """Yield the failures that a passing profile accepts: nobody should have to look for them."""
    if decision.decision != "pass":
        return
    for case in seen.acceptance:
        status = "missing" if case.verdict is None else case.verdict.status
        if status != "pass":
            yield f"{case.scenario.id} is {status}, which the profile tolerates"


def _excused(verdicts: Sequence[ScenarioVerdict]) -> Iterator[str]:
    """Yield each rule of which findings were left out of verdicts, how many and where."""
    excused = [(each, v.scenario_id) for v in verdicts for each in v.excused]
    for rule in sorted({each.rule for each, _ in excused}):
        count = sum(each.count for each, _ in excused if each.rule == rule)
        names = [name for each, name in excused if each.rule == rule]
        more = f" and {len(names) - NAMED_MAX} more" if len(names) > NAMED_MAX else ""
        where = ", ".join(names[:NAMED_MAX]) + more
        yield f"excused by design: {rule}, {plural(count, 'finding')} in {where}"


def _baseline(
    baseline: Baseline | None, about: About, profile: LoadedProfile
) -> BaselineLine | None:
    if baseline is None:
        return None
    return BaselineLine(
        digest=baseline.digest,
        as_of=baseline.as_of.isoformat(),
        agent=baseline.identity.agent,
        model=baseline.identity.model,
        differences=differences(baseline, about, days_max=profile.profile.baseline_days_max),
        changed=tuple(PARTS.get(part, part) for part in changed(baseline, about)),
    )


# --- JSON ----------------------------------------------------------------------------------------


def document(scorecard: Scorecard) -> dict[str, JsonValue]:
    """Return the scorecard as it is written: the decision's fields stand at the top."""
    body = _plain(scorecard)
    if not isinstance(body, dict):
        raise TypeError("a scorecard is an object")
    decided = body.pop("decision")
    first = {"schema_version": body.pop("schema_version"), "subject": body.pop("subject")}
    return {**first, **(decided if isinstance(decided, dict) else {}), **body}


def _plain(value: object) -> JsonValue:
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if value is None or isinstance(value, bool | int | str):
        return value
    raise TypeError(f"{type(value).__name__} has no place in a scorecard")


def schema() -> dict[str, Any]:
    """Return the JSON Schema of `scorecard.json`."""
    from pydantic import TypeAdapter  # noqa: PLC0415 - nothing that runs needs it

    found: dict[str, Any] = TypeAdapter(Scorecard).json_schema(mode="serialization")
    decided = found["$defs"].pop("GateDecision")
    del found["properties"]["decision"]
    found["properties"] |= decided["properties"]
    required = {*found["required"], *decided["required"]} - {"decision"}
    found["required"] = sorted(required | {"decision"} | set(found["properties"]))
    for definition in (found, *found["$defs"].values()):
        definition["additionalProperties"] = False
        definition["required"] = sorted(definition["properties"])
    return found
