"""The report as Markdown: ratios first, then the figures behind them, then the method."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bench.faults.report import faults_report
from bench.harness import (
    beside,
    compression,
    figures,
    known,
    reading,
    sections,
    targets,
    workers,
)
from bench.harness.markdown import table
from bench.harness.results import faults_of, profile_of
from bench.harness.sections import row_title, title
from bench.profiler.report import profile_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.harness.results import Run


def cells(run: Run) -> list[tuple[str, int]]:
    """Returns case and connections of each row of a table of ratios."""
    return [(case, connections) for case in run.cases for connections in run.connections]


def cell_title(run: Run, case: str, connections: int) -> str:
    """Describes case and connections in words."""
    return f"{run.info['cases'][case]['title']}, {connections} connections"


RATIOS = (
    ("requests per second, times as many", "ratio"),
    ("CPU per request, times less", "cpu_ratio"),
)


def ratio_rows(run: Run, subject: str, kind: str) -> list[tuple[str, ...]]:
    """Returns one kind of ratio of one of ours against each other peer."""
    compare = run.ratio if kind == "ratio" else run.cpu_ratio

    def cell(other: str, case: str, connections: int) -> str:
        # Fewer bytes for more time is a different trade-off, neither better nor worse.
        if run.encoding(subject, case) != run.encoding(other, case):
            return figures.NONE
        return figures.ratio(compare(subject, other, case, connections))

    return [
        (
            cell_title(run, case, connections),
            *(cell(other, case, connections) for other in run.rivals(subject)),
        )
        for case, connections in cells(run)
        if run.offered(subject, case)
    ]


def ratio_head(run: Run, subject: str) -> tuple[str, ...]:
    """Returns the head of such a table: peers that ran under the same conditions."""
    return ("", *(f"than {title(run, other)}" for other in run.rivals(subject)))


def ratios(run: Run) -> list[str]:
    """Compares each of ours with each other peer."""
    lines = []
    for subject in run.ours:
        head = ratio_head(run, subject)
        for words, kind in RATIOS:
            rows = ratio_rows(run, subject, kind)
            if rows and len(head) > 1:
                lines += [f"### {title(run, subject)}: {words}", "", *table(head, rows)]
    return lines


def cell_row(run: Run, peer: str, case: str, connections: int) -> tuple[str, ...]:
    """Returns all figures of a peer in a case."""

    def cell(name: str) -> str:
        return figures.milliseconds(run.cell(peer, case, connections, name))

    cells = (
        row_title(run, peer, case),
        figures.rate(run.cell(peer, case, connections, "rps")),
        figures.microseconds(run.cell(peer, case, connections, "cpu")),
        cell("mean"),
        cell("p50"),
        cell("p75"),
        cell("p90"),
        cell("p95"),
        cell("p99"),
        cell("max"),
        # oha does not report it.
        cell("stdev") if connections else figures.NONE,
        f"{run.failed(peer, case, connections):,}",
    )
    return cells if connections else (*cells, workers.drops_text(run, peer, case))


def cell_head(connections: int) -> tuple[str, ...]:
    """Returns the head of such a table; the open loop has one more column."""
    return CELL_HEAD if connections else (*CELL_HEAD, "dropped")


CELL_HEAD = (
    "",
    "req/s",
    "CPU µs/req",
    "mean ms",
    "p50",
    "p75",
    "p90",
    "p95",
    "p99",
    "max",
    "stdev",
    "failed",
)


def loads(run: Run, case: str) -> list[tuple[int, str]]:
    """Returns the loads of a case with their headings; 0 connections means the open loop."""
    found = [(connections, f"{connections} connections") for connections in run.connections]
    if any(sample.rate and sample.case == case for sample in run.samples):
        rate = run.info["rates"][case]
        found.append((0, f"constant rate of {rate:,} requests per second (open loop)"))
    return found


def memory_rows(run: Run, case: str) -> list[tuple[str, ...]]:
    """Returns a head, and memory of each peer in a case, with any database connections."""
    peers = [peer for peer in run.peers if run.start(peer, case) is not None]
    if not peers:
        return []
    head = ["memory (PSS)", "idle MiB", "under load MiB"]
    rows = [
        [
            title(run, peer),
            figures.mebibytes(run.memory(peer, case, under_load=False)),
            figures.mebibytes(run.memory(peer, case, under_load=True)),
        ]
        for peer in peers
    ]
    held = [run.database_connections(peer, case) for peer in peers]
    if any(held):
        head.append("connections at the database")
        for row, count in zip(rows, held, strict=True):
            row.append(figures.rate(count))
    return [tuple(row) for row in [head, *rows]]


def details(run: Run) -> list[str]:
    """Returns the figures of each case."""
    lines = []
    for case in run.cases:
        facts = run.info["cases"][case]
        request = f" `{facts.get('method', 'GET')} {facts['path']}`" if facts["path"] else ""
        lines += [f"### {facts['title']}", "", f"{facts['about']}{request}", ""]
        for connections, heading in loads(run, case):
            lines += [f"{heading[0].upper()}{heading[1:]}:", ""]
            rows = [cell_row(run, peer, case, connections) for peer in run.shown(case, connections)]
            lines += table(cell_head(connections), rows)
        memory = memory_rows(run, case)
        if memory:
            lines += table(memory[0], memory[1:])
    return lines


def described(run: Run) -> list[dict[str, Any]]:
    """Returns each server and reference once, including those of added runs."""
    found: dict[str, dict[str, Any]] = {}
    for one in (run, *run.more):
        for facts in [*one.info["peers"].values(), *one.info.get("references", {}).values()]:
            found.setdefault(facts["about"], facts)
    return list(found.values())


def peers(run: Run) -> list[str]:
    """Lists the measured servers, with versions."""
    lines = []
    for facts in described(run):
        versions = "; ".join(
            text.splitlines()[0] if text else "unknown" for text in facts["versions"].values()
        )
        suffix = f" ({versions})" if versions else ""
        lines.append(f"- **{facts['title']}**: {facts['about']}{suffix}")
    return [*lines, ""]


def absent(run: Run) -> list[str]:
    """Lists measurements that are missing, with the reason, one line each."""
    lines = [
        f"{facts['title']}: {facts['reason']}" for facts in run.info.get("absent", {}).values()
    ]
    for one in (run, *run.more):
        lines += [
            f"{facts['title']}: {facts['reason']}"
            for facts in one.info.get("absent_cases", {}).values()
        ]
        for case, reasons in one.info.get("not_offered", {}).items():
            lines += [
                f"{title(one, peer)} in {one.info['cases'][case]['title']}: {reason}"
                for peer, reason in reasons.items()
            ]
    return list(dict.fromkeys(lines))


def problems(run: Run) -> list[str]:
    """Lists errors and differences; empty if there are none."""
    lines = []
    if not run.info["complete"]:
        lines += ["> The run was interrupted: these are the figures up to then.", ""]
    if not run.info["quiet"]:
        load_average = run.info["machine"]["load_average"]
        lines += [
            f"> Others used the machine when the run began (load average {load_average:.1f}).",
            "",
        ]
    found = run.problems()
    if found:
        lines += ["Not counted in any figure above:", ""]
        lines += [f"- {problem.splitlines()[0]}" for problem in found] + [""]
    different = run.info.get("differences", [])
    if different:
        lines += ["PHP ran under different conditions:", ""]
        lines += [f"- {difference}" for difference in different] + [""]
    return lines


def fault_tables(run: Run) -> list[str]:
    """Returns the report of a `faults` run that was added to this one."""
    document = faults_of(run)
    if document is None:
        return []
    return ["## Faults", "", *faults_report(document).splitlines()[2:], ""]


def profile_section(run: Run) -> list[str]:
    """Returns the table of a `profiler` run that was added to this one."""
    document = profile_of(run)
    return [] if document is None else profile_lines(document)


def section(heading: str, about: str, tables: Sequence[sections.Table]) -> list[str]:
    """Returns a heading with tables; empty without tables."""
    if not tables:
        return []
    lines = [f"## {heading}", ""]
    if about:
        lines += [about, ""]
    for one in tables:
        lines += [f"### {one.heading}", ""]
        if one.about:
            lines += [one.about, ""]
        lines += table(one.head, one.rows)
    return lines


def absent_line(run: Run) -> str:
    """Lists the servers that are not in any table, by name."""
    names = sorted({facts["title"] for facts in run.info.get("absent", {}).values()})
    return f"Not here, for the reasons given below: {', '.join(names)}." if names else ""


def overview(run: Run) -> list[tuple[str, str, list[sections.Table]]]:
    """Returns the sections before the figures of each case: heading, words, tables."""
    return [
        ("Leaderboard", absent_line(run), sections.leaderboard(run)),
        ("Requests per second by connections", sections.speeds_about(run), sections.speeds(run)),
        (beside.HEADING, beside.ABOUT, beside.tables(run)),
        ("Compression", compression.ABOUT, compression.matrix(run)),
        ("PHP processes", workers.ABOUT, workers.tables(run)),
    ]


def body(run: Run, *, short: bool) -> list[str]:
    """Returns all tables of a run, or those that compare servers."""
    lines = []
    for heading, about, tables in overview(run):
        lines += section(heading, about, tables)
    found = ratios(run) if run.others else []
    if found:
        lines += ["## Ratios", "", *found]
    lines += section(sections.ALONE_HEADING, sections.ALONE_ABOUT, sections.alone(run))
    if short:
        return lines
    lines += ["## Figures", "", *details(run)]
    return lines + section("Every round", sections.ROUNDS_ABOUT, sections.rounds(run))


def markdown_report(run: Run, whole: str = "") -> str:
    """Returns the report; with the path of the whole one, without percentiles and single rounds."""
    short = bool(whole)
    lines = [f"# {figures.heading(run)}", ""]
    lines += [f"{run.info['started'][:10]}, commit {figures.commit_line(run)}.", ""]
    if short:
        lines += [
            f"Percentiles, memory and every single round are in the [whole report]({whole}).",
            "",
        ]
    lines += [f"## {reading.HEADING}", "", *(f"- {point}" for point in reading.points(run)), ""]
    for goals in (targets, known):
        if goals.applies(run):
            goal = goals.table(run)
            lines += [f"## {goal.heading}", "", goal.about, "", *table(goal.head, goal.rows)]
    lines += body(run, short=short)
    for one in (run, *run.more):
        if one is not run:
            lines += [f"# {figures.heading(one)}", "", *body(one, short=short)]
        trouble = problems(one)
        if trouble:
            lines += ["## Problems", "", *trouble]
    missing = absent(run)
    if missing:
        lines += ["## Not measured", "", *(f"- {line}" for line in missing), ""]
    lines += profile_section(run)
    lines += fault_tables(run)
    lines += ["## Method", ""]
    for paragraph in figures.method(run):
        lines += [paragraph, ""]
    lines += [figures.other_method(run, one) + "\n" for one in run.more]
    lines += [f"Machine: {figures.machine_line(run)}.", "", *peers(run)]
    ini = [f"{key} = {value}" for key, value in run.info["options"]["php_ini"].items()]
    if ini:
        lines += ["php.ini values of every peer:", "", "```ini", *ini, "```", ""]
    return "\n".join(lines)
