"""The report as one HTML page that needs nothing else: bars as inline SVG, light and dark."""

from __future__ import annotations

import html
import json
from typing import TYPE_CHECKING

from bench.faults.report import HEAD, conditions, rows_of
from bench.harness import figures
from bench.harness.report_markdown import (
    CELL_HEAD,
    LOOP_ABOUT,
    RATIOS,
    absent,
    cell_row,
    loads,
    loop_head,
    loop_rows,
    memory_rows,
    problems,
    ratio_rows,
    title,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.harness.results import Run
    from bench.harness.stats import Spread

STYLE = """
:root { color-scheme: light dark; --back: #fdfcfa; --text: #1d1d1b; --soft: #66645f;
  --line: #d9d6d0; --first: #a4481b; --other: #8a97a3; --spread: #1d1d1b; }
@media (prefers-color-scheme: dark) { :root { --back: #161719; --text: #e9e7e2; --soft: #a09d96;
  --line: #35373b; --first: #e08a52; --other: #61707d; --spread: #e9e7e2; } }
body { background: var(--back); color: var(--text); font: 16px/1.5 system-ui, sans-serif;
  max-width: 72rem; margin: 0 auto; padding: 1.5rem; }
h1 { line-height: 1.2; } h2 { margin-top: 2.5rem; }
.soft { color: var(--soft); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 0.9rem; }
th, td { padding: 0.25rem 0.6rem; border-bottom: 1px solid var(--line); text-align: right;
  white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
svg { width: 100%; height: auto; display: block; }
svg text { fill: var(--text); font: 13px system-ui, sans-serif; }
svg .first { fill: var(--first); } svg .other { fill: var(--other); }
svg .spread { stroke: var(--spread); stroke-width: 1.5; }
code { font-size: 0.9em; }
"""

LABEL_WIDTH = 210
BAR_WIDTH = 520
VALUE_WIDTH = 170
ROW_HEIGHT = 28
BAR_HEIGHT = 18


def escape(text: str) -> str:
    """Text for HTML."""
    return html.escape(text)


def bars(
    values: Sequence[tuple[str, Spread | None]], unit: str, label: str, *, ours: int = 1
) -> str:
    """A bar for each peer, the first ones in their own colour, with a line for the spread."""
    width = LABEL_WIDTH + BAR_WIDTH + VALUE_WIDTH
    height = ROW_HEIGHT * len(values)
    top = max((value.high for _, value in values if value is not None), default=0.0)
    scale = BAR_WIDTH / top if top > 0 else 0.0
    parts = [
        f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{escape(label)}">',
    ]
    for index, (name, value) in enumerate(values):
        y = index * ROW_HEIGHT
        middle = y + ROW_HEIGHT / 2
        baseline = middle + 4.5
        parts.append(f'<text x="0" y="{baseline}">{escape(name)}</text>')
        if value is None:
            parts.append(f'<text x="{LABEL_WIDTH}" y="{baseline}">no valid figure</text>')
            continue
        length = value.median * scale
        low, high = LABEL_WIDTH + value.low * scale, LABEL_WIDTH + value.high * scale
        kind = "first" if index < ours else "other"
        parts.append(
            f'<rect class="{kind}" x="{LABEL_WIDTH}" y="{y + 5}" width="{length:.1f}" '
            f'height="{BAR_HEIGHT}" rx="2"/>'
        )
        parts.append(
            f'<line class="spread" x1="{low:.1f}" x2="{high:.1f}" y1="{middle}" y2="{middle}"/>'
        )
        number = (
            f"{value.median:,.0f}"
            if value.median >= figures.KEEP_DECIMALS_BELOW
            else (f"{value.median:.2f}")
        )
        parts.append(f'<text x="{high + 8:.1f}" y="{baseline}">{number} {escape(unit)}</text>')
    parts.append("</svg>")
    return "\n".join(parts)


def html_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; `**` marks what is bold, as in the Markdown report."""

    def cell(text: str) -> str:
        parts = escape(text).split("**")
        return "".join(f"<b>{part}</b>" if at % 2 else part for at, part in enumerate(parts))

    lines = ['<div class="scroll"><table>', "<thead><tr>"]
    lines += [f"<th>{escape(name)}</th>" for name in head]
    lines.append("</tr></thead><tbody>")
    for row in rows:
        lines.append("<tr>" + "".join(f"<td>{cell(text)}</td>" for text in row) + "</tr>")
    lines.append("</tbody></table></div>")
    return "\n".join(lines)


def ratio_section(run: Run) -> list[str]:
    """The ratios: two tables for each of ours with a column for each other peer."""
    head = ("", *(f"than {title(run, other)}" for other in run.others))
    parts = ["<h2>Ratios</h2>"]
    for subject in run.ours:
        for words, kind in RATIOS:
            rows = ratio_rows(run, subject, kind)
            if rows:
                parts.append(f"<h3>{escape(title(run, subject))}: {escape(words)}</h3>")
                parts.append(html_table(head, rows))
    return parts


def loop_section(run: Run) -> list[str]:
    """What a server adds to the handler alone."""
    rows = loop_rows(run)
    if not rows:
        return []
    return [
        "<h2>Against the handler alone</h2>",
        f"<p>{escape(LOOP_ABOUT)}</p>",
        html_table(loop_head(run), rows),
    ]


def case_section(run: Run, case: str) -> list[str]:
    """Bars and a table for each load."""
    facts = run.info["cases"][case]
    parts = [f"<h2>{escape(facts['title'])}</h2>", f"<p>{escape(facts['about'])}</p>"]
    for connections, heading in loads(run, case):
        name = f"{facts['title']}, {heading}"
        parts.append(f"<h3>{escape(heading[0].upper() + heading[1:])}</h3>")
        if connections:
            parts.append('<p class="soft">Requests per second: longer is better</p>')
            parts.append(picture(run, (case, connections), "rps", "req/s", f"{name}: throughput"))
            parts.append('<p class="soft">CPU time of all server processes: shorter is better</p>')
            parts.append(picture(run, (case, connections), "cpu", "µs/req", f"{name}: CPU time"))
        else:
            parts.append(
                '<p class="soft">Time within which 99 of 100 were answered: shorter is better</p>'
            )
            parts.append(picture(run, (case, connections), "p99", "µs", f"{name}: latency"))
        rows = [cell_row(run, peer, case, connections) for peer in run.shown(case, connections)]
        parts.append(html_table(CELL_HEAD, rows))
    parts.append("<h3>Memory</h3>")
    parts.append(html_table(("PSS, MiB", "idle", "under load"), memory_rows(run, case)))
    return parts


def picture(run: Run, load: tuple[str, int], figure: str, unit: str, label: str) -> str:
    """A bar for each peer that the case is for; `load` is case and connections."""
    case, connections = load
    peers = run.shown(case, connections)
    values = [(title(run, peer), run.cell(peer, case, connections, figure)) for peer in peers]
    return bars(values, unit, label, ours=len([peer for peer in run.ours if peer in peers]))


def fault_section(run: Run) -> list[str]:
    """The tables of a `faults` run that was added to this one."""
    path = run.folder / "faults" / "faults.json"
    if not path.is_file():
        return []
    document = json.loads(path.read_text())
    parts = ["<h2>Faults</h2>", f"<p>{escape(conditions(document))}</p>"]
    for name, text in document["scenarios"].items():
        rows = rows_of(document, name)
        if rows:
            parts += [f"<h3>{escape(text[0].upper() + text[1:])}</h3>", html_table(HEAD, rows)]
    return parts


def markdown_lines(lines: Sequence[str]) -> list[str]:
    """The few kinds of lines that the problems section uses."""
    parts = []
    for line in lines:
        if line.startswith("- "):
            parts.append(f"<p>• {escape(line[2:])}</p>")
        elif line:
            parts.append(f"<p>{escape(line.removeprefix('> '))}</p>")
    return parts


def html_report(run: Run) -> str:
    """The whole page."""
    heading = f"{title(run, figures.subject(run))} side by side with its peers"
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(heading)}</title>",
        f"<style>{STYLE}</style></head><body>",
        f"<h1>{escape(heading)}</h1>",
        (
            f'<p class="soft">{escape(run.info["started"][:10])}, commit '
            f"{escape(figures.commit_line(run))}</p>"
        ),
    ]
    if run.others:
        parts += ratio_section(run)
    parts += loop_section(run)
    for case in run.cases:
        parts += case_section(run, case)
    trouble = problems(run)
    if trouble:
        parts += ["<h2>Problems</h2>", *markdown_lines(trouble)]
    missing = absent(run)
    if missing:
        parts += ["<h2>Not measured</h2>", *(f"<p>• {escape(line)}</p>" for line in missing)]
    parts += fault_section(run)
    parts.append("<h2>Method</h2>")
    parts += [f"<p>{escape(paragraph)}</p>" for paragraph in figures.method(run)]
    parts.append(f"<p>Machine: {escape(figures.machine_line(run))}.</p>")
    for facts in [*run.info["peers"].values(), *run.info.get("references", {}).values()]:
        parts.append(f"<p><b>{escape(facts['title'])}</b>: {escape(facts['about'])}</p>")
    ini = "\n".join(f"{key} = {value}" for key, value in run.info["options"]["php_ini"].items())
    parts += ["<p>php.ini values of every peer:</p>", f"<pre>{escape(ini)}</pre>", "</body></html>"]
    return "\n".join(parts) + "\n"
