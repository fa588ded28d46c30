"""What the GitHub action runs: the commands that its inputs ask for, their reports, one exit code.

Inputs come through the environment, where no shell and no workflow expression reads them, and
become arguments of a list. Uses the standard library only; arh is asked as a command, as users ask
it. With a baseline the comparison decides, else the verdict on the traces; at the gate, the gate.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

PREFIX = "ARH_INPUT_"
USAGE = 2
SUMMARY_BYTES_MAX = 900_000
KINDS = {
    "json": "report.json",
    "md": "report.md",
    "junit": "junit.xml",
    "sarif": "report.sarif",
    "html": "report.html",
}
NAMES = {"md": "markdown"}
GATE_KINDS = {"json": "scorecard.json", "markdown": "scorecard.md", "junit": "junit.xml"}
COMPARISONS = {"comparison": "comparison.json", "comparison-markdown": "comparison.md"}


@dataclass(frozen=True)
class Done:
    """What the action came to: the code to exit with, and the reports that it wrote."""

    code: int
    reports: Mapping[str, Path]


def main(environment: Mapping[str, str]) -> int:
    """The commands have run, the summary and the outputs are written; the deciding code returns."""
    inputs = {
        name.removeprefix(PREFIX).lower(): value.strip()
        for name, value in environment.items()
        if name.startswith(PREFIX)
    }
    folder = Path(inputs.get("reports") or "arh-reports")
    if any(character in str(folder) for character in "\r\n"):
        return refused("the input `reports` is no folder's name")
    mode = inputs.get("mode") or "validate"
    if mode not in MODES:
        return refused("the input `mode` is neither `validate` nor `gate`")
    missing = [name for name in MODES[mode][1] if not inputs.get(name)]
    if missing:
        return refused(f"the input `{missing[0]}` is missing")
    forget(folder)
    done = MODES[mode][0](inputs, folder)
    summarise(environment.get("GITHUB_STEP_SUMMARY"), done.reports)
    tell(environment.get("GITHUB_OUTPUT"), done)
    return done.code


def validated(inputs: Mapping[str, str], folder: Path) -> Done:
    """The traces were judged, and compared if there is a baseline."""
    traces = [line.strip() for line in inputs["traces"].splitlines() if line.strip()]
    reports = {NAMES.get(kind, kind): folder / file for kind, file in KINDS.items()}
    judging = [
        f"--policy={inputs['policy']}",
        *given(inputs, "format", "fail_under"),
    ]
    outs = [f"--{kind}-out={folder / file}" for kind, file in KINDS.items()]
    code = arh("validate", *judging, *outs, "--", *traces)
    if code == USAGE or not inputs.get("baseline"):
        return Done(code, written(reports))
    reports |= {kind: folder / file for kind, file in COMPARISONS.items()}
    code = arh(
        "compare",
        f"--baseline={inputs['baseline']}",
        f"--candidate={reports['json']}",
        *given(inputs, "fail_on", "max_score_drop"),
        f"--json-out={reports['comparison']}",
        f"--md-out={reports['comparison-markdown']}",
    )
    return Done(code, written(reports))


def gated(inputs: Mapping[str, str], folder: Path) -> Done:
    """The release gate has decided."""
    options = given(inputs, "workflow", "scenarios", "profile", "agent", "baseline")
    code = arh("gate", *options, f"--out={folder}")
    return Done(code, written({kind: folder / file for kind, file in GATE_KINDS.items()}))


MODES = {"validate": (validated, ("traces", "policy")), "gate": (gated, ())}


def forget(folder: Path) -> None:
    """No report of an earlier run is left, which could pass for one of this run."""
    for kinds in (KINDS, COMPARISONS, GATE_KINDS):
        for file in kinds.values():
            (folder / file).unlink(missing_ok=True)


def given(inputs: Mapping[str, str], *names: str) -> list[str]:
    """The inputs that were given, as options; none can become another option."""
    return [f"--{name.replace('_', '-')}={inputs[name]}" for name in names if inputs.get(name)]


def arh(*words: str) -> int:
    """The exit code of the command."""
    print(f"arh {words[0]}", flush=True)
    return subprocess.run([sys.executable, "-m", "arh", *words], check=False).returncode


def written(reports: Mapping[str, Path]) -> dict[str, Path]:
    """The reports that are there."""
    return {name: path for name, path in reports.items() if path.is_file()}


def summarise(summary: str | None, reports: Mapping[str, Path]) -> None:
    """The Markdown reports stand in the job's summary, cut where it takes no more."""
    if not summary:
        return
    pages = [reports[name] for name in ("comparison-markdown", "markdown") if name in reports]
    text = b"\n".join(page.read_bytes() for page in pages)
    if len(text) > SUMMARY_BYTES_MAX:
        text = text[:SUMMARY_BYTES_MAX].rpartition(b"\n")[0] + b"\n\nThe rest is in the report.\n"
    with Path(summary).open("ab") as file:
        file.write(text)


def tell(output: str | None, done: Done) -> None:
    """The paths of the reports and the exit code are outputs of the step."""
    if not output:
        return
    with Path(output).open("a", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines(done))


def lines(done: Done) -> Iterator[str]:
    """Each output as one line; a path has no line end."""
    yield f"exit-code={done.code}"
    yield from (f"{name}={path.as_posix()}" for name, path in done.reports.items())


def refused(reason: str) -> int:
    """The reason has been said, and the code of wrong usage returns."""
    sys.stderr.write(f"{reason}\n")
    return USAGE


if __name__ == "__main__":
    sys.exit(main(os.environ))
