"""The report as one self-contained HTML page: bars as inline SVG, light and dark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.faults.report import conditions
from bench.faults.report import tables as fault_tables
from bench.harness import (
    charts,
    figures,
    known,
    pictures,
    plots,
    reading,
    sections,
    targets,
    workers,
)
from bench.harness.charts import escape
from bench.harness.report_markdown import (
    RATIOS,
    absent,
    cell_head,
    cell_row,
    described,
    loads,
    memory_rows,
    overview,
    problems,
    ratio_head,
    ratio_rows,
)
from bench.harness.results import faults_of, profile_of
from bench.harness.sections import title
from bench.profiler.report import profile_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.harness.results import Run

STYLE = """
:root { color-scheme: light dark; --back: #fdfcfa; --text: #1d1d1b; --soft: #66645f;
  --line: #d9d6d0; --first: #a4481b; --other: #66747f; --spread: #1d1d1b; --track: #f1eee8; }
@media (prefers-color-scheme: dark) { :root { --back: #161719; --text: #e9e7e2; --soft: #a09d96;
  --line: #35373b; --first: #e08a52; --other: #8494a1; --spread: #e9e7e2; --track: #212327; } }
* { box-sizing: border-box; }
body { background: var(--back); color: var(--text); font: 16px/1.5 system-ui, sans-serif;
  max-width: 72rem; margin: 0 auto; padding: 1.5rem; }
h1 { line-height: 1.2; } h2 { margin-top: 2.5rem; }
.soft { color: var(--soft); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 0.9rem; }
th, td { padding: 0.25rem 0.6rem; border-bottom: 1px solid var(--line); text-align: right;
  white-space: nowrap; }
th:first-child, td:first-child { text-align: left; white-space: normal; min-width: 15rem;
  position: sticky; left: 0; background: var(--back); }
.words th, .words td { text-align: left; white-space: normal; min-width: 6rem; }
.points { padding-left: 1.2rem; } .points li { margin: 0.3rem 0; max-width: 50rem; }
code { font-size: 0.9em; }
pre { overflow-x: auto; }
summary { cursor: pointer; margin: 0.5rem 0; }
summary h1, summary h2 { display: inline; margin: 0; font-size: 1.2rem; }
.chapter { border-top: 1px solid var(--line); }
.chapter > .chapter { margin-left: 1.2rem; }
.chapter[open] > summary { margin-bottom: 1rem; }
@media (max-width: 40rem) { body { padding: 1rem; }
  th:first-child, td:first-child { min-width: 9rem; max-width: 11rem; }
  .words thead { display: none; }
  .words tr { display: block; border-bottom: 1px solid var(--line); padding: 0.4rem 0; }
  .words td, .words td:first-child { display: block; border: 0; max-width: none;
    padding: 0.1rem 0; } }
"""


def rich(text: str) -> str:
    """Escapes text for HTML; `**` marks bold text, as in the Markdown report."""
    parts = escape(text).replace("\n", "<br>").split("**")
    return "".join(f"<b>{part}</b>" if at % 2 else part for at, part in enumerate(parts))


def html_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Returns a table."""
    lines = ['<div class="scroll"><table>', "<thead><tr>"]
    lines += [f"<th>{escape(name)}</th>" for name in head]
    lines.append("</tr></thead><tbody>")
    for row in rows:
        lines.append("<tr>" + "".join(f"<td>{rich(text)}</td>" for text in row) + "</tr>")
    lines.append("</tbody></table></div>")
    return "\n".join(lines)


def chapter(heading: str, parts: Sequence[str], *, level: int = 2, opened: bool) -> list[str]:
    """Returns a collapsed part of the page, so that the page starts as its table of contents."""
    if not parts:
        return []
    return [
        f'<details class="chapter"{" open" if opened else ""}>',
        f"<summary><h{level}>{escape(heading)}</h{level}></summary>",
        *parts,
        "</details>",
    ]


def ratio_section(run: Run) -> list[str]:
    """Returns the ratios: two tables for each of ours with a column for each other peer."""
    parts = []
    for subject in run.ours:
        head = ratio_head(run, subject)
        for words, kind in RATIOS:
            rows = ratio_rows(run, subject, kind)
            if rows and len(head) > 1:
                parts.append(f"<h3>{escape(title(run, subject))}: {escape(words)}</h3>")
                parts.append(html_table(head, rows))
    return chapter("Ratios", parts, opened=is_small(run))


def section(run: Run, heading: str, about: str, tables: Sequence[sections.Table]) -> list[str]:
    """Returns a chapter with tables; empty without tables."""
    parts = []
    if about and tables:
        parts.append(f"<p>{escape(about.replace('`', ''))}</p>")
    for one in tables:
        parts += [f"<h3>{escape(one.heading)}</h3>", html_table(one.head, one.rows)]
    return chapter(heading, parts, opened=is_small(run))


def target_section(run: Run) -> list[str]:
    """Returns each target and each reported problem, with the measured figures."""
    parts = []
    for goals in (targets, known):
        if goals.applies(run):
            goal = goals.table(run)
            cells = html_table(goal.head, goal.rows).replace("<table>", '<table class="words">', 1)
            inner = [f"<p>{escape(goal.about)}</p>", cells]
            parts += chapter(goal.heading, inner, opened=is_small(run))
    return parts


def case_section(run: Run, case: str) -> list[str]:
    """Returns charts and a table for each load."""
    facts = run.info["cases"][case]
    parts = [f"<p>{escape(facts['about'])}</p>"]
    if len(workers.counts(run)) > 1:
        parts += pictures.over_processes(run, case)
    for connections, heading in loads(run, case):
        parts.append(f"<h3>{escape(heading[0].upper() + heading[1:])}</h3>")
        load = (case, connections)
        if connections:
            parts.append(
                pictures.figure(run, load, "rps", "req/s", "Requests per second: longer is better")
            )
            if any(run.cell(peer, case, connections, "cpu") for peer in run.peers):
                words = "CPU time of all server processes: shorter is better"
                parts.append(pictures.figure(run, load, "cpu", "µs/req", words))
        parts.append(pictures.latency(run, case, connections))
        rows = [cell_row(run, peer, case, connections) for peer in run.shown(case, connections)]
        parts.append(html_table(cell_head(connections), rows))
    memory = memory_rows(run, case)
    if memory:
        parts += ["<h3>Memory</h3>", pictures.against_memory(run, case)]
        parts.append(html_table(memory[0], memory[1:]))
    return chapter(facts["title"], parts, opened=is_small(run))


def round_section(run: Run) -> list[str]:
    """Returns every sample, collapsed."""
    tables = sections.rounds(run)
    parts = [f"<p>{escape(sections.ROUNDS_ABOUT)}</p>"] if tables else []
    for one in tables:
        parts += [f"<h3>{escape(one.heading)}</h3>", html_table(one.head, one.rows)]
    return chapter("Every round", parts, opened=False)


def fault_section(run: Run) -> list[str]:
    """Returns the tables of a `faults` run that was added to this one."""
    document = faults_of(run)
    if document is None:
        return []
    parts = []
    if document["results"]:
        parts.append(f"<p>{escape(conditions(document))}</p>")
    for one in fault_tables(document):
        parts.append(f"<h3>{escape(one.heading)}</h3>")
        if one.about:
            parts.append(f"<p>{escape(one.about)}</p>")
        parts.append(html_table(one.head, one.rows))
    return chapter("Faults", parts, opened=False)


def profile_section(run: Run) -> list[str]:
    """Returns the table of a `profiler` run that was added to this one."""
    document = profile_of(run)
    if document is None:
        return []
    one = profile_table(document)
    parts = [f"<p>{escape(one.about)}</p>", html_table(one.head, one.rows)]
    return chapter(one.heading, parts, opened=False)


def markdown_lines(lines: Sequence[str]) -> list[str]:
    """Converts the few kinds of lines that the problems section uses."""
    parts = []
    for line in lines:
        if line.startswith("- "):
            parts.append(f"<p>• {escape(line[2:])}</p>")
        elif line:
            parts.append(f"<p>{escape(line.removeprefix('> '))}</p>")
    return parts


def is_small(run: Run) -> bool:
    """Whether a report is short enough to be shown without collapsed parts."""
    return not run.more and len(run.cases) == 1


def fastest(run: Run, peers: Sequence[str], case: str, connections: int) -> tuple[str, str]:
    """Returns the fastest of them by name, and its text; empty if none was measured."""
    peer = next((one for one in sections.by_speed(run, case, connections) if one in peers), None)
    if peer is None:
        return "", figures.NONE
    cell = run.cell(peer, case, connections, "rps")
    speed = figures.NONE if cell is None else f"{cell.median:,.0f}"
    return peer, f"{title(run, peer)}: {speed}"


def summary_rows(run: Run, cases: Sequence[str]) -> list[list[str]]:
    """Returns the fastest of ours and of the others in each case, at the most connections."""
    connections = max(run.connections)
    rows = []
    for case in cases:
        ours, cell = fastest(run, run.ours, case, connections)
        if not ours or not run.others:
            continue
        heading = f"{sections.case_title(run, case)}, {connections} connections"
        ratio = figures.ratio(sections.improvement(run, ours, case, connections))
        rows.append([heading, ratio, cell, fastest(run, run.others, case, connections)[1]])
    return rows


def summary(run: Run) -> list[str]:
    """Returns a summary for one screen: each case, one case per added run, the goals."""
    rows = summary_rows(run, run.cases)
    for one in run.more:
        rows += summary_rows(one, one.cases[:1])
    parts = []
    if rows:
        head = ("", sections.than_baseline(run), "fastest Howdah, req/s", "fastest other, req/s")
        parts.append(html_table(head, rows))
    if targets.applies(run):
        verdicts = [row[1] for row in targets.table(run).rows]
        met, missed = verdicts.count("met"), verdicts.count("**missed**")
        parts.append(
            f"<p>{met} goals met, {missed} missed, {len(verdicts) - met - missed} not measured.</p>"
        )
    return parts


def run_sections(run: Run) -> list[str]:
    """Returns all tables and charts of a run."""
    parts = []
    for heading, about, tables in overview(run):
        parts += section(run, heading, about, tables)
    if run.others:
        parts += ratio_section(run)
    parts += section(run, sections.ALONE_HEADING, sections.ALONE_ABOUT, sections.alone(run))
    for case in run.cases:
        parts += case_section(run, case)
    parts += round_section(run)
    trouble = problems(run)
    if trouble:
        parts += chapter("Problems", markdown_lines(trouble), opened=False)
    return parts


def html_report(run: Run) -> str:
    """Returns the whole page."""
    heading = figures.heading(run)
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(heading)}</title>",
        f"<style>{STYLE}{charts.STYLE}{plots.STYLE}</style></head><body>",
        f"<h1>{escape(heading)}</h1>",
        (
            f'<p class="soft">{escape(run.info["started"][:10])}, commit '
            f"{escape(figures.commit_line(run))}</p>"
        ),
    ]
    parts += summary(run)
    points = [f"<li>{rich(point)}</li>" for point in reading.points(run)]
    points = ['<ul class="points">', *points, "</ul>"]
    parts += chapter(reading.HEADING, points, opened=is_small(run))
    parts += target_section(run)
    parts += run_sections(run)
    for one in run.more:
        parts += chapter(figures.heading(one), run_sections(one), level=1, opened=False)
    missing = [f"<p>• {escape(line)}</p>" for line in absent(run)]
    parts += chapter("Not measured", missing, opened=False)
    parts += profile_section(run)
    parts += fault_section(run)
    parts += chapter("Method", method_section(run), opened=False)
    parts.append("</body></html>")
    return "\n".join(parts) + "\n"


def method_section(run: Run) -> list[str]:
    """Returns the method and the conditions."""
    method = [*figures.method(run), *(figures.other_method(run, one) for one in run.more)]
    parts = [f"<p>{escape(paragraph)}</p>" for paragraph in method]
    parts.append(f"<p>Machine: {escape(figures.machine_line(run))}.</p>")
    parts += [
        f"<p><b>{escape(facts['title'])}</b>: {escape(facts['about'])}</p>"
        for facts in described(run)
    ]
    ini = "\n".join(f"{key} = {value}" for key, value in run.info["options"]["php_ini"].items())
    if ini:
        parts += ["<p>php.ini values of every peer:</p>", f"<pre>{escape(ini)}</pre>"]
    return parts
