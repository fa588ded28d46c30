"""Conformance: properties of the whole run that are true or not, with no threshold to argue about.

`CHECKS` are what a profile may ask for by name, `IMPLICIT` what holds whether or not it asks. Each
looks at everything that was planned. What was never seen is inconclusive; what was seen and is
wrong fails.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from arh.decision.comparing import Found
from arh.decision.gated import unseen
from arh.decision.metrics import Case, acceptance_cases, fact_sums, slices_of
from arh.decision.numbers import plural
from arh.records.control.gate import GateSpec, Profile
from arh.records.control.plan import PlannedRun, RunPlan
from arh.records.control.scenario import ExpectedFinding
from arh.records.control.scorecard import About
from arh.records.control.verdict import ScenarioVerdict

NAMED_MAX: Final = 3
PLANTED: Final = "evidence.planted_defect"
UNJUDGED: Final = frozenset({"indeterminate", "error"})


@dataclass(frozen=True, slots=True)
class Seen:
    """Everything planned, with the verdict that came back for it, if one did."""

    profile: Profile
    pairs: tuple[tuple[PlannedRun, ScenarioVerdict | None], ...]
    acceptance: tuple[Case, ...]
    stray: int
    recorded: int
    trials: int
    evaluators: frozenset[str]

    @classmethod
    def of(
        cls, profile: Profile, verdicts: Sequence[ScenarioVerdict], plan: RunPlan, about: About
    ) -> Seen:
        """Pair what was planned with what came back."""
        by_run = {verdict.run_id: verdict for verdict in verdicts}
        planned = {run.run_id for run in plan.runs}
        counts: dict[str, int] = {}
        for run in plan.runs:
            counts[run.located.scenario.id] = counts.get(run.located.scenario.id, 0) + 1
        return cls(
            profile=profile,
            pairs=tuple((run, by_run.get(run.run_id)) for run in plan.runs),
            acceptance=acceptance_cases(verdicts, plan),
            stray=sum(verdict.run_id not in planned for verdict in verdicts)
            + len(verdicts)
            - len(by_run),
            recorded=about.runs_recorded,
            trials=min(counts.values(), default=0),
            evaluators=frozenset(name for name, _ in about.evaluators),
        )

    def of_role(self, *roles: str) -> tuple[tuple[PlannedRun, ScenarioVerdict | None], ...]:
        """Return the pairs of some roles."""
        return tuple(pair for pair in self.pairs if pair[0].located.scenario.role in roles)

    def has_slice(self, name: str) -> bool:
        """Return true if an acceptance scenario of the slice was judged."""
        holds = slices_of([case.scenario for case in self.acceptance]).get(name)
        return holds is not None and any(
            holds(c.scenario) and c.verdict is not None and c.verdict.status not in UNJUDGED
            for c in self.acceptance
        )


Check = Callable[[Seen], Found]


def look(gate: GateSpec, seen: Seen) -> Found:
    """Return what the gate's check finds."""
    if gate.check == "never":
        return never(gate, seen)
    return CHECKS[gate.check or ""](seen)


def critical_scenarios_pass(seen: Seen) -> Found:
    """Every acceptance scenario of the risk class critical passed, in each of its runs."""
    cases = [case for case in seen.acceptance if case.scenario.risk_class == "critical"]
    if not cases:
        return Found("inconclusive", "no critical scenario was run")
    failed = [c.scenario.id for c in cases if c.verdict is not None and c.verdict.status == "fail"]
    open_ = [case.scenario.id for case in cases if _is_open(case.verdict)]
    observed = f"{len(cases) - len(failed) - len(open_)} of {len(cases)} passed"
    return _ended(failed, open_, "critical scenarios", observed)


def no_evaluator_error(seen: Seen) -> Found:
    """No evaluator failed and no run ended in a failure of ours; such an end is never a verdict."""
    erring = [
        run.located.scenario.id
        for run, verdict in seen.pairs
        if verdict is not None
        and (verdict.status == "error" or any(r.status == "error" for r in verdict.results))
    ]
    if erring:
        reason = f"the harness or an evaluator failed in {_named(erring)}"
        return Found("inconclusive", reason, f"{plural(len(erring), 'run')} with an error", "none")
    return Found("pass", f"no error in {plural(len(seen.pairs), 'run')}", "none", "none")


def controls_exercised(seen: Seen) -> Found:
    """Wherever a control must be exercised, it decided on a forbidden attempt."""
    due = [c for c in seen.acceptance if c.scenario.expectations.guardrails.must_exercise]
    if not due:
        return Found("inconclusive", "no scenario demands that a control be exercised")
    idle = [c.scenario.id for c in due if not was_exercised(c.verdict)]
    observed = f"{len(due) - len(idle)} of {len(due)} exercised"
    if idle:
        return Found("inconclusive", f"no control was exercised in {_named(idle)}", observed, "all")
    return Found("pass", f"controls decided in {plural(len(due), 'scenario')}", observed, "all")


def records_complete(seen: Seen) -> Found:
    """The evidence of every run could be read in full, names its configuration and agrees."""
    conflicts, lacking = [], []
    for run, verdict in seen.pairs:
        result = None if verdict is None else verdict.result("evidence")
        if result is not None and result.status == "fail":
            conflicts.append(run.located.scenario.id)
        elif result is None or result.status != "pass" or not _is_recorded(verdict):
            lacking.append(run.located.scenario.id)
    observed = f"{len(seen.pairs) - len(conflicts) - len(lacking)} of {len(seen.pairs)} complete"
    if conflicts:
        reason = f"sources of evidence contradict each other in {_named(conflicts)}"
        return Found("fail", reason, observed, "all")
    if lacking or not seen.pairs:
        return Found(
            "inconclusive", f"the record is incomplete in {_named(lacking)}", observed, "all"
        )
    return Found("pass", f"{plural(len(seen.pairs), 'complete record')}", observed, "all")


def faults_delivered(seen: Seen) -> Found:
    """Every fault that an acceptance scenario declares is proven to have struck."""
    declared = delivered = 0
    missed: list[str] = []
    for case in seen.acceptance:
        due = len(case.scenario.controls.faults)
        struck = sum(each[0] for each in fact_sums(case.verdict, "faults_delivered"))
        declared += due
        delivered += min(struck, due)
        if struck < due:
            missed.append(case.scenario.id)
    observed = f"{delivered} of {declared} delivered"
    if not declared:
        return Found("inconclusive", "no acceptance scenario declares a fault")
    if missed:
        return Found("inconclusive", f"a fault did not strike in {_named(missed)}", observed, "all")
    return Found("pass", f"all of {plural(declared, 'fault')} struck", observed, "all")


def controls_behave(seen: Seen) -> Found:
    """There are controls, positive ones pass, negative ones fail as they say."""
    if not seen.of_role("positive_control", "negative_control"):
        return Found("inconclusive", "no control scenario was run")
    return known_controls_behave(seen)


def known_controls_behave(seen: Seen) -> Found:
    """Whatever controls there are behave; without any there is nothing to say."""
    controls = seen.of_role("positive_control", "negative_control")
    odd = [run.located.scenario.id for run, verdict in controls if behaviour(run, verdict)]
    observed = f"{len(controls) - len(odd)} of {len(controls)} behaved"
    if odd:
        reason = f"a control behaved otherwise than it must: {_named(odd)}"
        return Found("inconclusive", reason, observed, "all")
    return Found("pass", f"{plural(len(controls), 'control')} behaved", observed, "all")


def behaviour(run: PlannedRun, verdict: ScenarioVerdict | None) -> str:
    """Return how a control behaves otherwise than it must, or nothing if it behaves."""
    if verdict is None:
        return "it has no verdict"
    if run.located.scenario.role == "positive_control":
        return "" if verdict.status == "pass" else f"it must pass and is {verdict.status}"
    expected = run.located.scenario.expectations.expected_findings
    found = Counter(finding.rule for result in verdict.results for finding in result.findings)
    odd = [text for each in expected if (text := _odd(each, found[each.rule]))]
    if not expected:
        return "it names no finding that it must fail by"
    if verdict.status != "fail":
        return f"it must fail and is {verdict.status}"
    return f"it failed {', '.join(odd)}" if odd else ""


def _odd(expected: ExpectedFinding, found: int) -> str:
    """Return in which way a finding that must be there is not there as it should be, or ""."""
    if not found:
        return f"without {expected.rule}"
    wrong = expected.count not in (None, found)
    return f"by {expected.rule} {found} times and not {expected.count}" if wrong else ""


def nothing_unjudged(seen: Seen) -> Found:
    """No more acceptance scenarios are undecided than the profile accepts, and never all of them.

    A limit that takes in the whole suite is none: nothing judged would be enough.
    """
    open_ = [case.scenario.id for case in seen.acceptance if _is_open(case.verdict)]
    allowed = seen.profile.max_unjudged
    observed, required = f"{len(open_)} unjudged", f"at most {allowed}"
    if len(open_) > allowed:
        return Found("inconclusive", f"{_named(open_)} could not be judged", observed, required)
    judged = len(seen.acceptance) - len(open_)
    if allowed >= len(seen.acceptance):
        whole = plural(len(seen.acceptance), "acceptance scenario")
        reason = f"judged {judged} of {whole}, and `max_unjudged` {allowed} takes in all of them"
        return Found("inconclusive", reason, observed, required)
    return Found("pass", f"judged {plural(judged, 'acceptance scenario')}", observed, required)


def never(gate: GateSpec, seen: Seen) -> Found:
    """None of the rules was found in any acceptance run, not even where a scenario expects it."""
    banned = frozenset(gate.rules)
    hits = [
        f"{rule} in {run.located.scenario.id}"
        for run, verdict in seen.of_role("acceptance")
        for rule in sorted(banned & _rules_of(verdict))
    ]
    required = "none of " + ", ".join(gate.rules)
    if hits:
        return Found("fail", f"found what must never be: {_named(hits)}", f"{len(hits)}", required)
    blind = [c.scenario.id for c in seen.acceptance if c.verdict is None or not c.verdict.results]
    if blind or not seen.acceptance:
        return Found("inconclusive", f"nobody looked in {_named(blind)}", "0", required)
    return Found(
        "pass", f"none in {plural(len(seen.acceptance), 'acceptance scenario')}", "0", required
    )


# --- implicit ------------------------------------------------------------------------------------


def suite_not_empty(seen: Seen) -> Found:
    """At least one acceptance scenario was run."""
    count = len(seen.acceptance)
    if not count:
        return Found("inconclusive", "no acceptance scenario was run", "0", "at least 1")
    return Found("pass", f"ran {plural(count, 'acceptance scenario')}", str(count), "at least 1")


def evidence_complete(seen: Seen) -> Found:
    """Every planned run has one verdict, and its evidence is on record and was read."""
    lost = [run.located.scenario.id for run, verdict in seen.pairs if verdict is None]
    unread = [
        run.located.scenario.id
        for run, verdict in seen.pairs
        if verdict is not None and not _was_read(verdict, seen.evaluators)
    ]
    observed = f"{len(seen.pairs) - len(lost) - len(unread)} of {len(seen.pairs)} read"
    if lost:
        return Found("inconclusive", f"no verdict on {_named(lost)}", observed, "all")
    if unread:
        return Found("inconclusive", f"evidence was not read of {_named(unread)}", observed, "all")
    planted = [run.located.scenario.id for run, v in seen.pairs if PLANTED in _rules_of(v)]
    if planted:
        reason = f"a defect was planted on purpose in {_named(planted)}"
        return Found("inconclusive", reason, observed, "all")
    if seen.stray:
        reason = f"{plural(seen.stray, 'verdict')} of no planned run, or there twice"
        return Found("inconclusive", reason, observed, "all")
    if seen.recorded != len(seen.pairs):
        reason = f"{plural(seen.recorded, 'run')} on record, {len(seen.pairs)} planned"
        return Found("inconclusive", reason, observed, "all")
    return Found("pass", f"read the evidence of {plural(len(seen.pairs), 'run')}", observed, "all")


def work_demanded(seen: Seen) -> Found:
    """No acceptance scenario passes for an agent that does nothing.

    Evidence that is judged anew without such runs says nothing of it; where some runs have an
    answer, all must.
    """
    tried = [case for case in seen.acceptance if _idle(case) is not None]
    idle = [case.scenario.id for case in tried if _idle(case)]
    observed, required = f"{len(idle)} of {len(tried)} passed idle", "none"
    if idle:
        reason = f"an agent that does nothing passes {_named(idle)}"
        return Found("inconclusive", reason, observed, required)
    if not tried:
        reason = "nobody tried here whether an agent that does nothing passes"
        return Found("pass", reason, "not tried", required)
    lost = [case.scenario.id for case in seen.acceptance if _idle(case) is None]
    if lost:
        reason = f"an agent that does nothing could not be tried on {_named(lost)}"
        return Found("inconclusive", reason, observed, required)
    return Found("pass", "inaction passes nowhere", observed, required)


def _idle(case: Case) -> bool | None:
    return None if case.verdict is None else case.verdict.idle_passes


def failures_gated(seen: Seen) -> Found:
    """Every failed acceptance run made a metric worse that a blocking gate of the profile bounds.

    A profile without a gate on, say, answers must not turn a run that lied into a pass.
    """
    missed = [
        f"{name} ({', '.join(dict.fromkeys(what))})"
        for name, what in unseen(seen.profile, seen.of_role("acceptance"), seen.acceptance)
    ]
    if missed:
        reason = f"no blocking gate of the profile looks at the failure of {_named(missed)}"
        return Found("inconclusive", reason, f"{len(missed)} ungated", "none")
    return Found("pass", "no failure is out of every gate's sight", "0 ungated", "none")


CHECKS: Final[Mapping[str, Check]] = {
    "critical_scenarios_pass": critical_scenarios_pass,
    "no_evaluator_error": no_evaluator_error,
    "controls_exercised": controls_exercised,
    "records_complete": records_complete,
    "faults_delivered": faults_delivered,
    "controls_behave": controls_behave,
    "nothing_unjudged": nothing_unjudged,
    "never": lambda _seen: Found("inconclusive", "a gate `never` needs its rules"),
}
IMPLICIT: Final[Mapping[str, Check]] = {
    "suite_not_empty": suite_not_empty,
    "evidence_complete": evidence_complete,
    "errors_absent": no_evaluator_error,
    "unjudged_within_limit": nothing_unjudged,
    "known_controls_behave": known_controls_behave,
    "failures_gated": failures_gated,
    "work_demanded": work_demanded,
}


# --- small questions -----------------------------------------------------------------------------


def _is_open(verdict: ScenarioVerdict | None) -> bool:
    return verdict is None or verdict.status not in ("pass", "fail")


def _was_read(verdict: ScenarioVerdict, evaluators: frozenset[str]) -> bool:
    """Return true if the evidence could be read and every evaluator of the suite looked at it."""
    result = verdict.result("evidence")
    looked = {each.evaluator for each in verdict.results}
    return result is not None and result.status in ("pass", "fail") and evaluators <= looked


def _is_recorded(verdict: ScenarioVerdict | None) -> bool:
    fields = list(fact_sums(verdict, "record_fields"))
    return bool(fields) and all(numerator == denominator for numerator, denominator, _ in fields)


def was_exercised(verdict: ScenarioVerdict | None) -> bool:
    """Return true if a control decided on a forbidden attempt in the run, rightly or wrongly."""
    return any(numerator for numerator, _, _ in fact_sums(verdict, "control_exercised"))


def _rules_of(verdict: ScenarioVerdict | None) -> frozenset[str]:
    if verdict is None:
        return frozenset()
    found = {finding.rule for result in verdict.results for finding in result.findings}
    return frozenset(found | {each.rule for each in verdict.excused})


def _ended(failed: Sequence[str], open_: Sequence[str], noun: str, observed: str) -> Found:
    if failed:
        return Found("fail", f"{noun} failed: {_named(failed)}", observed, "all")
    if open_:
        return Found("inconclusive", f"{noun} are unjudged: {_named(open_)}", observed, "all")
    return Found("pass", f"{noun}: {observed}", observed, "all")


def _named(names: Sequence[str]) -> str:
    more = len(names) - NAMED_MAX
    text = ", ".join(names[:NAMED_MAX]) or "no run at all"
    return text + (f" and {more} more" if more > 0 else "")
