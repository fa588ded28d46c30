"""`arh replay-policy`: what a policy would have said of recorded calls, and what never spoke.

A trace policy (`--policy`) flags recorded conduct, an authorisation policy (`--authorization`, or
the one of `--workflow`) says who may do what. Both may be tried on the same recordings before they
are put in force. Exit code 0; 1 if something could not be judged or, with `--fail-on`, if a call
would be flagged or denied; 2 usage.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from arh.canonical import Json, JsonValue
from arh.cli import trace_options as options
from arh.render.text import console
from arh.security.policy import PolicySet, read_policy
from arh.security.replay import Known, PolicyReplay, Replayed
from arh.traces.authoring.policy import Policy
from arh.traces.authoring.policy_lint import Useless, asked_rules, lint_policy
from arh.traces.findings import bounded
from arh.traces.judging.validator import validate_trace
from arh.traces.reading.inputs import find_recordings
from arh.traces.registry import RULES
from arh.traces.rendering.run import Unjudged
from arh.traces.trace import Step, Trace

SHOWN_MAX: Final = 500
AUTHORIZATION_BYTES_MAX: Final = 4 * 2**20
FAIL_ON: Final = ("flagged", "denied", "unknown")


@dataclass(frozen=True, slots=True)
class Call:
    """One recorded call: which rules flag it, and what the authorisation policy says."""

    trace_id: str
    step_id: str
    tool: str
    flagged: tuple[str, ...]
    replayed: Replayed | None

    @property
    def kinds(self) -> frozenset[str]:
        """What `--fail-on` may name of the call."""
        said = "" if self.replayed is None else self.replayed.status
        kinds = {"denied" if said == "deny" else said, "flagged" if self.flagged else ""}
        return frozenset(kinds)


@dataclass(slots=True)
class Replay:
    """Both policies, and what they have said so far.

    `cut` counts the errors of each rule that were found and not kept: which calls they are of is
    not known.
    """

    policy: Policy | None
    authorization: PolicyReplay | None
    fired: Counter[str] = field(default_factory=Counter)
    cut: Counter[str] = field(default_factory=Counter)

    def of(self, trace: Trace) -> Iterator[Call]:
        """Yield every call of a trace with what is said of it."""
        flagged: dict[str, list[str]] = {}
        if self.policy is not None:
            report = validate_trace(trace, self.policy)
            cut = report.findings_cut
            self.cut.update({rule: cut[rule] for rule in cut if RULES[rule].severity == "error"})
            for finding in report.findings:
                self.fired[finding.rule_id] += 1
                if finding.severity == "error" and finding.step_id is not None:
                    flagged.setdefault(finding.step_id, []).append(finding.rule_id)
        for step in trace.steps:
            if step.type == "tool_call":
                yield self._call(trace, step, flagged.get(bounded(step.anchor), []))

    def _call(self, trace: Trace, step: Step, flagged: list[str]) -> Call:
        replayed = None
        if self.authorization is not None:
            replayed = self.authorization.ask(step.tool_name or "", step.arguments)
        rules = tuple(dict.fromkeys(flagged))
        return Call(trace.trace_id, step.anchor, step.tool_name or "", rules, replayed)


def main(argv: Sequence[str]) -> int:
    """Print what would have been said of each call, then what never spoke."""
    parser = _parser()
    chosen = parser.parse_args(argv)
    named = (chosen.policy, chosen.authorization, chosen.workflow)
    if all(each is None for each in named):
        parser.error("nothing to replay: give --policy, --authorization or --workflow")
    return options.guarded(lambda: _replayed(chosen))


def _replayed(chosen: argparse.Namespace) -> int:
    replay = Replay(
        None
        if chosen.policy is None
        else options.read_policy(chosen.policy, chosen.assertions, trusted=False),
        _authorization(chosen),
    )
    calls: list[Call] = []
    unjudged: list[Unjudged] = []
    for recorded in find_recordings(chosen.traces, sys.stdin.buffer):
        found = options.traces_of(recorded, chosen.format)
        if isinstance(found, Unjudged):
            unjudged.append(found)
        else:
            calls.extend(call for trace in found for call in replay.of(trace))
    sys.stdout.writelines(f"{line}\n" for line in _told(calls, unjudged, replay))
    text = json.dumps(_document(calls, unjudged, replay), indent=2) + "\n"
    is_whole = options.written([(chosen.json_out, lambda: text)], is_quiet=False)
    breached = any(kind in call.kinds for kind in chosen.fail_on for call in calls)
    breached = breached or ("flagged" in chosen.fail_on and bool(replay.cut))
    return options.FAILED if unjudged or breached or not is_whole else options.PASSED


def _authorization(chosen: argparse.Namespace) -> PolicyReplay | None:
    policy = _policy_set(chosen)
    known = Known(chosen.subject, chosen.tenant, chosen.scopes, chosen.actor_scopes)
    return None if policy is None else PolicyReplay(policy, known)


def _policy_set(chosen: argparse.Namespace) -> PolicySet | None:
    """Return the authorisation policy of a file, or the one that a workflow is deployed with."""
    if chosen.authorization is not None:
        path: Path = chosen.authorization
        data = options.bytes_of(path, AUTHORIZATION_BYTES_MAX)
        value = options.json_of(data, str(path), AUTHORIZATION_BYTES_MAX)
        return read_policy(Json.of(value), file=str(path))
    if chosen.workflow is None:
        return None
    from arh.bootstrap import load_pack

    pack = load_pack(chosen.workflow)
    name, document = pack.policies[0]
    return read_policy(document, file=f"{pack.name}:{name}")


def _told(calls: Sequence[Call], unjudged: Sequence[Unjudged], replay: Replay) -> Iterator[str]:
    shown = [call for call in calls if call.kinds - {"", "allow"}]
    yield from (_line(call) for call in shown[:SHOWN_MAX])
    if (more := len(shown) - SHOWN_MAX) > 0:
        yield f"and {more} more calls"
    yield from (f"[NOT JUDGED] {console(str(each))}" for each in unjudged)
    counts = Counter(kind for call in calls for kind in call.kinds if kind)
    parts = [f"{counts[kind]} {kind}" for kind in ("flagged", "denied", "unknown", "allow")]
    yield f"{len(calls)} calls: {', '.join(parts)}"
    for rule, count in sorted(replay.cut.items()):
        yield f"more calls may be flagged: {count} findings of {rule} were counted and not kept"
    for title, names in _silent(replay):
        yield f"{title}: {', '.join(console(name) for name in names) or 'none'}"
    if replay.policy is not None:
        yield from (f"useless: {console(str(each))}" for each in lint_policy(replay.policy))


def _line(call: Call) -> str:
    said = [] if call.replayed is None else [_said(call.replayed)]
    flagged = [f"flagged by {', '.join(call.flagged)}"] if call.flagged else []
    place = f"{console(call.trace_id)} {console(call.step_id)} {console(call.tool)}"
    return f"{place}: {'; '.join([*flagged, *said])}"


def _said(replayed: Replayed) -> str:
    rule = f" by {console(replayed.rule)}" if replayed.rule else ""
    missing = f", not known: {', '.join(replayed.missing)}" if replayed.missing else ""
    return f"{replayed.status}{rule} ({replayed.reason}){missing}"


def _silent(replay: Replay) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield what was asked for and never spoke."""
    if replay.policy is not None:
        asked = asked_rules(replay.policy)
        yield "rules that never fired", [rule for rule in asked if not replay.fired[rule]]
    if replay.authorization is not None:
        yield "authorisation rules that decided no call", replay.authorization.never_fired()


def _document(
    calls: Sequence[Call], unjudged: Sequence[Unjudged], replay: Replay
) -> dict[str, JsonValue]:
    listed: list[JsonValue] = [
        {
            "trace_id": call.trace_id,
            "step_id": call.step_id,
            "tool": call.tool,
            "flagged": list(call.flagged),
            "authorization": None if call.replayed is None else _fields(call.replayed),
        }
        for call in calls
    ]
    useless: Sequence[Useless] = () if replay.policy is None else lint_policy(replay.policy)
    silent: dict[str, JsonValue] = {title: list(names) for title, names in _silent(replay)}
    return {
        "schema_version": 1,
        "calls": listed,
        "findings_cut": dict(sorted(replay.cut.items())),
        "never_fired": silent,
        "useless": [asdict(each) for each in useless],
        "unjudged": [each.to_dict() for each in unjudged],
    }


def _fields(replayed: Replayed) -> dict[str, JsonValue]:
    return {
        "status": replayed.status,
        "reason": replayed.reason,
        "rule": replayed.rule,
        "missing": list(replayed.missing),
    }


def _scopes(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("arh replay-policy", description=__doc__)
    add = parser.add_argument
    add("traces", nargs="+", metavar="PATH", help="files, folders, patterns, or -")
    add("--policy", type=Path, metavar="FILE", help="trace policy, JSON or YAML")
    add("--assertions", type=Path, metavar="FILE", help="inline assertions, JSON or YAML")
    add("--authorization", type=Path, metavar="FILE", help="authorisation policy, JSON")
    add("--workflow", metavar="NAME", help="the authorisation policy of an installed workflow")
    options.add_format(parser)
    add("--subject", metavar="ID", help="who acted, if it is known")
    add("--tenant", metavar="ID", help="for which tenant, if it is known")
    add("--scopes", type=_scopes, metavar="A,B", help="what the subject held, if it is known")
    add("--actor-scopes", type=_scopes, metavar="A,B", help="what the agent held, if it is known")
    add(
        "--fail-on",
        action="append",
        default=[],
        choices=FAIL_ON,
        help="exit with 1 if a call is flagged, denied or unknown",
    )
    add("--json-out", type=Path, metavar="FILE", help="write what was said of every call")
    return parser
