"""Changes the code that decides, one small change at a time, and shows which no test noticed.

`make mutation` starts it, `make mutation MUTANTS="arh.decision.*"` for a part. Which files are
mutated and which tests answer stands in pyproject.toml. It takes from minutes to hours, works in
`mutants/`, goes on where it was stopped, and needs a system that can fork. A survivor is a
question, not a failure: the answer is a new test, or a line that is not needed.
"""

from __future__ import annotations

import json
import subprocess
import sys

from tools import environment
from tools.environment import MUTATION_LOCK, ROOT

STATISTICS = ROOT / "mutants" / "mutmut-cicd-stats.json"


def main(names: list[str]) -> int:
    """Every chosen mutant has met the tests (0), or the tests fail without any mutant (not 0)."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    interpreter = environment.ensure(
        ROOT / ".venv-mutation", python=sys.executable, version=version, lock=MUTATION_LOCK
    )
    command = [str(interpreter.with_name("mutmut"))]
    run = subprocess.run([*command, "run", *names], cwd=ROOT, check=False)
    if run.returncode:
        return run.returncode
    results = subprocess.run([*command, "results"], cwd=ROOT, check=True, capture_output=True)
    lines = results.stdout.decode().splitlines()
    print("", *(line for line in lines if not line.endswith("not checked")), sep="\n")
    subprocess.run([*command, "export-cicd-stats"], cwd=ROOT, check=True, capture_output=True)
    counts = json.loads(STATISTICS.read_text("utf-8"))
    print(", ".join(f"{count} {name}" for name, count in counts.items() if count))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
