"""Rules of category `flow`: retries, retry storms, and side effects that were repeated.

Calls with the same tool and the same arguments are a group. Each failed call is a check where
retries are required, each group where attempts are limited, and each group of a tool with side
effects. A call whose result is not known may have taken effect, so it counts as one that did.
"""

from __future__ import annotations

import hashlib

from arh.traces.authoring.policy import Policy
from arh.traces.findings import Judged, shown
from arh.traces.judging.facts import Facts
from arh.traces.trace import Step

TAG_CHARS = 12


def judge(facts: Facts, policy: Policy) -> Judged:
    """Return how the calls of a trace break the flow rules."""
    judged = Judged("flow")
    handling = policy.error_handling
    effects = [
        tool
        for tool, schema in policy.allowed_tools.items()
        if schema.side_effect and tool in facts.by_tool
    ]
    if handling.require_retry_on_error:
        _retries(judged, facts)
    if not judged.errors and _is_calm(facts, handling.max_attempts, effects):
        # Every check holds; how many there are is of no consequence then.
        is_limited = handling.max_attempts is not None and bool(facts.named)
        judged.applicable = judged.total > 0 or is_limited or bool(effects)
        return judged
    if handling.max_attempts is not None:
        for tool in sorted(facts.by_tool):
            _attempts(judged, facts, tool, handling.max_attempts)
    for tool in sorted(effects):
        _effects(judged, facts, tool)
    judged.applicable = judged.total > 0
    return judged


def _is_calm(facts: Facts, most: int | None, effects: list[str]) -> bool:
    """Return whether it is certain, without comparing calls in full, that no limit is exceeded."""
    if most is not None and any(len(calls) > most for calls in facts.by_tool.values()):
        return False
    return all(facts.all_differ(tool) for tool in effects)


def _retries(judged: Judged, facts: Facts) -> None:
    """Check that after each failed call its tool is called again; the last call decides."""
    for step in facts.named:
        if step.status != "error":
            continue
        tool = step.tool_name or ""
        retried = facts.by_tool[tool][-1] is not step
        judged.check(holds=retried)
        if not retried:
            judged.add(
                "ARH-FLW-001",
                f"{shown(tool)} failed and was not called again",
                facts.anchor(step),
                expected="a later call of the tool",
                observed="none",
                subject=tool,
            )


def _attempts(judged: Judged, facts: Facts, tool: str, most: int) -> None:
    groups = facts.groups(tool)
    large = {key: calls for key, calls in groups.items() if len(calls) > most}
    judged.check(holds=True, times=len(groups) - len(large))
    judged.check(holds=False, times=len(large))
    for key in sorted(large):
        judged.add(
            "ARH-FLW-002",
            f"the same call of {shown(tool)} was made {len(large[key])} times",
            facts.anchor(large[key][most]),
            expected=f"at most {most} attempts",
            observed=f"{len(large[key])} attempts",
            subject=_subject(tool, key),
        )


def _effects(judged: Judged, facts: Facts, tool: str) -> None:
    """Check that no call of a tool with side effects is repeated after it succeeded."""
    groups = facts.groups(tool)
    repeated = {key: rest for key, calls in groups.items() if (rest := _after_success(calls))}
    judged.check(holds=True, times=len(groups) - len(repeated))
    judged.check(holds=False, times=len(repeated))
    for key in sorted(repeated):
        subject = _subject(tool, key)
        times = len(repeated[key]) + 1
        for step in repeated[key]:
            judged.add(
                "ARH-FLW-003",
                f"the same call of {shown(tool)} was made again after it had succeeded",
                facts.anchor(step),
                expected="1 call that takes effect",
                observed=f"{times} calls",
                subject=subject,
            )


def _after_success(calls: list[Step]) -> list[Step]:
    """Return the calls after the first that did not fail."""
    for at, step in enumerate(calls):
        if step.status != "error":
            return calls[at + 1 :]
    return []


def _subject(tool: str, key: str) -> str:
    """Return a name for a group: the arguments themselves may be long, or secret."""
    return f"{tool} {hashlib.sha256(key.encode()).hexdigest()[:TAG_CHARS]}"
