"""`arh cases`: holds recorded outputs against cases and decides: PASS 0, BLOCK 1, REVIEW 3.

Nothing is run. What was done wrong blocks; what a profile leaves to a person needs an approval.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path

from arh.canonical import JsonValue
from arh.decision.measured import Approval
from arh.errors import AuthoringError, WriteFailure, quoted, safe
from arh.harness.chosen_profile import chosen_profile
from arh.harness.exits import BY_DECISION, FAIL, INCONCLUSIVE, PASS
from arh.records.control.gate import Profile
from arh.sim.clock import today
from arh.traces.cases.approvals import read_approval
from arh.traces.cases.gate import decided, result_digest, with_approval
from arh.traces.cases.reading import read_cases, read_snapshot, snapshot_files
from arh.traces.cases.records import Judged, Snapshot
from arh.traces.cases.report import (
    WORDS,
    console_lines,
    report_page,
    result_of,
    summary,
)

SUMMARY = "summary"


def main(argv: Sequence[str]) -> int:
    """Print every snapshot's decision, write what was asked for, and return the worst decision."""
    chosen = _parser().parse_args(argv)
    files = snapshot_files(chosen.outputs)
    if chosen.label is not None and len(files) != 1:
        found, expected = f"{len(files)} files", "one file of outputs, since it has one label"
        raise AuthoringError.of(found, expected=expected, field="--label")
    approvals = [read_approval(path) for path in chosen.approval]
    cases, profile = read_cases(chosen.cases), chosen_profile(chosen.profile, judges="cases")
    snapshots = [read_snapshot(file, cases, label=chosen.label) for file in files]
    if chosen.out is not None:
        _check_labels(snapshots)
    first = [decided(cases, snapshot, profile.profile) for snapshot in snapshots]
    final = [_approved(judged, profile.profile, approvals, chosen.as_of) for judged in first]
    _tell_of_strays(approvals, [result_digest(judged, profile.profile) for judged in first])
    for judged in final:
        sys.stdout.writelines(f"{line}\n" for line in _told(judged, profile.profile))
    _write(chosen, final, profile.profile)
    codes = {BY_DECISION[judged.decision.decision] for judged in final}
    return next(code for code in (FAIL, INCONCLUSIVE, PASS) if code in codes)


def _approved(
    judged: Judged, profile: Profile, approvals: Sequence[Approval], as_of: date
) -> Judged:
    """Return the snapshot with the approval that is about it; one that does not count says why."""
    digest = result_digest(judged, profile)
    for approval in approvals:
        if approval.result == digest:
            judged, refused = with_approval(judged, profile, approval, as_of=as_of)
            if refused:
                sys.stderr.write(f"{safe(judged.snapshot.label)}: {safe(refused)}\n")
    return judged


def _tell_of_strays(approvals: Sequence[Approval], digests: Sequence[str]) -> None:
    for approval in approvals:
        if approval.result not in digests:
            about = f"the approval by {approval.approver} is about another result"
            sys.stderr.write(f"{safe(about)} ({approval.result[:12]}): it answers for nothing\n")


def _told(judged: Judged, profile: Profile) -> Iterator[str]:
    yield from console_lines(judged)
    if judged.decision.decision == "inconclusive":
        yield f"  to answer for it, approve the result {result_digest(judged, profile)}"


def _check_labels(snapshots: Sequence[Snapshot]) -> None:
    """Return only if no snapshot's result has the name of the summary."""
    for snapshot in snapshots:
        if snapshot.label.casefold() == SUMMARY:
            raise AuthoringError.of(
                f"a snapshot is called {quoted(snapshot.label)}, as the summary of all is",
                field="--out",
                hint="name it with --label, or rename its file",
            )


def _write(chosen: argparse.Namespace, snapshots: Sequence[Judged], profile: Profile) -> None:
    """Write the result of each snapshot, the summary and the report, where they were asked for."""
    told = summary(snapshots, profile)
    if chosen.json_out is not None:
        results: list[JsonValue] = [_result(judged, profile) for judged in snapshots]
        _put(chosen.json_out, _json({**told, "results": results}))
    if chosen.md_out is not None:
        _put(chosen.md_out, report_page(snapshots, profile))
    if chosen.out is not None:
        for judged in snapshots:
            path = chosen.out / f"{judged.snapshot.label}.json"
            _put(path, _json(_result(judged, profile)))
        _put(chosen.out / f"{SUMMARY}.json", _json(told))
        _put(chosen.out / "report.md", report_page(snapshots, profile))


def _result(judged: Judged, profile: Profile) -> dict[str, JsonValue]:
    return {**result_of(judged, profile), "result_digest": result_digest(judged, profile)}


def _json(value: dict[str, JsonValue]) -> str:
    import json

    return json.dumps(value, indent=2, ensure_ascii=True, allow_nan=False) + "\n"


def _put(path: Path, text: str) -> None:
    """Write a file, its folder made if need be."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise WriteFailure(f"{safe(str(path))} cannot be written: {error.strerror}") from None


def _parser() -> argparse.ArgumentParser:
    words = ", ".join(f"{word} {BY_DECISION[decision]}" for decision, word in WORDS.items())
    parser = argparse.ArgumentParser(
        "arh cases", description=__doc__, epilog=f"exit codes: {words}, 2 bad input"
    )
    add = parser.add_argument
    add("--cases", type=Path, required=True, metavar="FILE", help="JSON lines: what is expected")
    add(
        "--outputs",
        nargs="+",
        required=True,
        metavar="PATH",
        help="JSON lines of recorded outputs, or folders of such files",
    )
    add("--label", metavar="NAME", help="what to call the outputs (default: the file's name)")
    add("--profile", metavar="FILE", help="gate profile, by path or name (default cases)")
    add(
        "--approval",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="somebody answers for one result: approver, reason, expires, result",
    )
    add(
        "--as-of",
        type=date.fromisoformat,
        default=today(),
        metavar="DATE",
        help="decision date (default today)",
    )
    add("--json-out", type=Path, metavar="FILE", help="write the summary and all results")
    add("--md-out", type=Path, metavar="FILE", help="write the comparison report")
    add("--out", type=Path, metavar="DIR", help="write a result each, summary.json and report.md")
    return parser
