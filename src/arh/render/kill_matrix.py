"""The kill matrix for a console, as Markdown, and as one HTML page that needs nothing else.

Plain data in, text out. The page holds no script and loads nothing: its policy allows the one style
sheet that stands in it, by digest.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from typing import Final

from arh.records.control.kills import Cell, CellStatus, KillMatrix, Row
from arh.render.parts import section, table
from arh.render.text import code, console, markdown, markup

NAMED_MAX: Final = 3
SIGNS: Final[dict[CellStatus, str]] = {
    "killed": "K",
    "survived": "S",
    "untouched": "\N{MIDDLE DOT}",
    "unclear": "?",
    "untried": "",
}
LEGEND: Final[dict[CellStatus, str]] = {
    "killed": "the scenario noticed",
    "survived": "the run went otherwise, and the scenario did not mind",
    "untouched": "the run was the same without the control",
    "unclear": "the run broke off, which proves nothing",
    "untried": "not run: another scenario had noticed already",
}
TITLE: Final = "Kill matrix"
EXPLAINED: Final = (
    "Each control of the configuration was broken, one at a time, and every scenario was run"
    " without it. A control that no scenario notices is not covered, however many scenarios pass."
)


def row_lines(row: Row, width: int) -> Iterator[str]:
    """Yield a control in a line, and what is broken about it in another if nobody noticed."""
    yield f"{console(row.control):<{width}}  {console(_said(row))}"
    if row.status == "survived":
        yield f"{'':<{width}}  {console(row.breaks)}: write a scenario that fails then"


def summary_lines(matrix: KillMatrix) -> Iterator[str]:
    """Yield the scenarios that could notice nothing, then the numbers."""
    for scenario, why in matrix.unfit:
        yield console(f"{scenario} was left out: with every control in place, {why}")
    yield console(_summary(matrix))


def _said(row: Row) -> str:
    if row.status == "not applicable":
        return f"not applicable: {row.why}"
    if row.status == "survived":
        return f"SURVIVED: {row.why}"
    killed = row.scenarios("killed")
    named = ", ".join(f"{cell.scenario} ({cell.by})" for cell in killed[:1])
    more = "" if len(killed) == 1 else f" and {len(killed) - 1} more"
    return f"killed by {named}{more}"


def _summary(matrix: KillMatrix) -> str:
    tried = len(matrix.of("killed")) + len(matrix.of("survived"))
    return (
        f"{matrix.workflow}: {tried} controls broken one at a time over"
        f" {len(matrix.scenarios)} scenarios: {len(matrix.of('killed'))} killed,"
        f" {len(matrix.of('survived'))} survived; {len(matrix.of('not applicable'))} not applicable"
    )


# --- Markdown ------------------------------------------------------------------------------------


def matrix_page(matrix: KillMatrix) -> str:
    """Return the matrix as Markdown: what survived first, then every control, then every cell."""
    columns = ("Control", "Broken", "Status", "Noticed by", "Went otherwise", "Broke off")
    parts = (
        code(f"{matrix.workflow} with the agent {matrix.agent}"),
        "",
        f"# {TITLE}",
        "",
        EXPLAINED,
        "",
        markdown(_summary(matrix)),
        "",
        *section("Not covered", [_uncovered(row) for row in matrix.of("survived")]),
        *table("Controls", columns, [_row(row) for row in matrix.rows]),
        *section("Left out", [f"{code(name)}: {markdown(why)}" for name, why in matrix.unfit]),
        *_scenarios(matrix),
    )
    return "\n".join(parts).rstrip() + "\n"


def _uncovered(row: Row) -> str:
    return f"{code(row.control)}: {markdown(row.breaks)}. {markdown(row.why)}."


def _row(row: Row) -> tuple[str, ...]:
    killed = row.scenarios("killed")
    named = "; ".join(
        f"{code(cell.scenario)} by {markdown(cell.by)}" for cell in killed[:NAMED_MAX]
    )
    more = f" and {len(killed) - NAMED_MAX} more" if len(killed) > NAMED_MAX else ""
    status = row.status if row.status == "killed" else f"**{row.status}**"
    others = (str(len(row.scenarios("survived"))), str(len(row.scenarios("unclear"))))
    return (
        code(row.control),
        markdown(row.breaks),
        status,
        f"{named}{more}" or markdown(row.why),
        *others,
    )


def _scenarios(matrix: KillMatrix) -> Iterator[str]:
    """Yield the matrix itself: a line for each scenario, a column for each control in use."""
    used = [row for row in matrix.rows if row.cells]
    signs = [{cell.scenario: SIGNS[cell.status] for cell in row.cells} for row in used]
    columns = ("Scenario", *(code(row.control) for row in used))
    rows = [(code(name), *(of.get(name, "") for of in signs)) for name in matrix.scenarios]
    yield from section("Signs", [f"{sign or 'none'}: {LEGEND[of]}" for of, sign in SIGNS.items()])
    yield from table("Scenarios", columns, rows)


# --- HTML ----------------------------------------------------------------------------------------

STYLE: Final = """
:root { color-scheme: light dark; font: 15px/1.45 system-ui, sans-serif; }
body { margin: 2rem; }
h1 { font-size: 1.5rem; margin: 0 0 .3rem; }
p { max-width: 50rem; margin: .4rem 0; }
.wide { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; }
th, td { border: 1px solid #8886; padding: .15rem .4rem; }
th { text-align: left; font-weight: 600; vertical-align: bottom; }
thead th.s { padding: .4rem .1rem; }
thead th.s span { writing-mode: vertical-rl; transform: rotate(180deg); white-space: nowrap;
  font-weight: 400; font-size: .8rem; }
tbody th { white-space: nowrap; position: sticky; left: 0; background: Canvas; }
tbody th small { display: block; font-weight: 400; opacity: .75; white-space: normal;
  min-width: 17rem; }
td { text-align: center; font-variant-numeric: tabular-nums; }
td.why { text-align: left; opacity: .75; }
.killed { background: #1f883d; color: #fff; }
.survived { background: #cf222e; color: #fff; }
.calm { background: #f6c34588; }
.unclear { background: #8250df; color: #fff; }
.untouched { opacity: .5; }
.chip { display: inline-block; min-width: 1.3rem; text-align: center; margin-right: .3rem; }
"""


def policy(style: str) -> str:
    """Return the content security policy of a page that holds this style sheet and nothing else."""
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def matrix_html(matrix: KillMatrix) -> str:
    """Return the matrix as one page: a line for each control, a column for each scenario."""
    return "\n".join(
        (
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{markup(policy(STYLE))}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{TITLE}: {markup(matrix.workflow)}</title>",
            f"<style>{STYLE}</style></head><body>",
            f"<h1>{TITLE}: {markup(matrix.workflow)}</h1>",
            f"<p>Agent: {markup(matrix.agent)}</p>",
            f"<p>{EXPLAINED}</p>",
            f"<p><strong>{markup(_summary(matrix))}</strong></p>",
            *_legend(),
            *_grid(matrix),
            *_left_out(matrix),
            "</body></html>\n",
        )
    )


def _legend() -> Iterator[str]:
    for status, sign in SIGNS.items():
        yield f'<p><span class="chip {_class(status)}">{sign}</span>{LEGEND[status]}</p>'


def _grid(matrix: KillMatrix) -> Iterator[str]:
    heads = "".join(
        f'<th class="s" scope="col"><span>{markup(name)}</span></th>' for name in matrix.scenarios
    )
    yield '<div class="wide"><table><thead><tr><th scope="col">Control</th>'
    yield f'<th scope="col">Status</th>{heads}</tr></thead><tbody>'
    for row in matrix.rows:
        yield from _line(row, len(matrix.scenarios))
    yield "</tbody></table></div>"


def _line(row: Row, width: int) -> Iterator[str]:
    name = f"{markup(row.control)}<small>{markup(row.breaks)}</small>"
    of = row.status if row.status in ("killed", "survived") else "untouched"
    yield f'<tr><th scope="row">{name}</th><td class="{of}">{markup(row.status)}</td>'
    if row.cells:
        yield "".join(_cell(cell) for cell in row.cells)
    else:
        yield f'<td class="why" colspan="{max(width, 1)}">{markup(row.why)}</td>'
    yield "</tr>"


def _cell(cell: Cell) -> str:
    about = f"{cell.scenario}: {cell.by or LEGEND[cell.status]}"
    sign = SIGNS[cell.status]
    return f'<td class="{_class(cell.status)}" title="{markup(about)}">{sign}</td>'


def _class(status: CellStatus) -> str:
    """Return the class of a cell: one scenario that does not mind is no alarm, a whole row is."""
    return "calm" if status == "survived" else status


def _left_out(matrix: KillMatrix) -> Iterator[str]:
    if matrix.unfit:
        yield "<h2>Left out</h2><ul>"
        yield from (f"<li>{markup(name)}: {markup(why)}</li>" for name, why in matrix.unfit)
        yield "</ul>"
