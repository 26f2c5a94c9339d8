"""The report as Markdown: ratios first, then the figures behind them, then how they were made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.harness import figures
from bench.harness.stats import spread

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bench.harness.results import Run


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A Markdown table; the first column is text, the others are figures."""
    lines = [f"| {' | '.join(head)} |", f"|---|{'---:|' * (len(head) - 1)}"]
    lines += [f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in rows]
    return [*lines, ""]


def title(run: Run, peer: str) -> str:
    """A peer's title."""
    return str(run.info["peers"][peer]["title"])


def row_title(run: Run, peer: str, case: str) -> str:
    """A peer's title, with what became of the body where the client takes gzip."""
    name = title(run, peer)
    if not run.info["cases"][case].get("gzip"):
        return name
    start = next((one for one in run.starts if (one.peer, one.case) == (peer, case)), None)
    if start is None:
        return name
    how = start.encoding or "not compressed"
    return f"{name} ({how}, {start.body_bytes:,} bytes)"


def cells(run: Run) -> list[tuple[str, int]]:
    """Case and connections of each row of a table of ratios."""
    return [(case, connections) for case in run.cases for connections in run.connections]


def cell_title(run: Run, case: str, connections: int) -> str:
    """Case and connections in words."""
    return f"{run.info['cases'][case]['title']}, {connections} connections"


RATIOS = (
    ("requests per second, times as many", "ratio"),
    ("CPU per request, times less", "cpu_ratio"),
)


def ratio_rows(run: Run, subject: str, kind: str) -> list[tuple[str, ...]]:
    """One kind of ratio of one of ours against each other peer."""
    compare = run.ratio if kind == "ratio" else run.cpu_ratio

    def cell(other: str, case: str, connections: int) -> str:
        # To send fewer bytes for more time is another thing, neither better nor worse.
        if run.encoding(subject, case) != run.encoding(other, case):
            return figures.NONE
        return figures.ratio(compare(subject, other, case, connections))

    return [
        (
            cell_title(run, case, connections),
            *(cell(other, case, connections) for other in run.others),
        )
        for case, connections in cells(run)
        if run.offered(subject, case)
    ]


def ratios(run: Run) -> list[str]:
    """How each of ours compares with each other peer."""
    lines = []
    head = ("", *(f"than {title(run, other)}" for other in run.others))
    for subject in run.ours:
        for words, kind in RATIOS:
            rows = ratio_rows(run, subject, kind)
            if rows:
                lines += [f"### {title(run, subject)}: {words}", "", *table(head, rows)]
    return lines


def loop_rows(run: Run) -> list[tuple[str, ...]]:
    """What a server adds to the CPU time of the handler alone."""
    return [
        (
            cell_title(run, case, connections),
            figures.microseconds(spread(list(run.loop_us(case).values()))),
            *(figures.ratio(run.over_loop(peer, case, connections)) for peer in run.ours),
        )
        for case, connections in cells(run)
        if run.loop_us(case)
    ]


def loop_head(run: Run) -> tuple[str, ...]:
    """The head of that table."""
    return ("", "the handler alone, CPU µs", *(title(run, peer) for peer in run.ours))


LOOP_ABOUT = (
    "CPU per request as a multiple of the same handler called in a bare loop of PHP, which knows "
    "neither HTTP nor other requests:"
)


def cell_row(run: Run, peer: str, case: str, connections: int) -> tuple[str, ...]:
    """All figures of a peer in a case."""

    def cell(name: str) -> str:
        return figures.milliseconds(run.cell(peer, case, connections, name))

    return (
        row_title(run, peer, case),
        figures.rate(run.cell(peer, case, connections, "rps")),
        figures.microseconds(run.cell(peer, case, connections, "cpu")),
        cell("mean"),
        cell("p50"),
        cell("p75"),
        cell("p90"),
        cell("p99"),
        cell("max"),
        # oha tells none.
        cell("stdev") if connections else figures.NONE,
        f"{run.failed(peer, case, connections):,}",
    )


CELL_HEAD = (
    "",
    "req/s",
    "CPU µs/req",
    "mean ms",
    "p50",
    "p75",
    "p90",
    "p99",
    "max",
    "stdev",
    "failed",
)


def loads(run: Run, case: str) -> list[tuple[int, str]]:
    """The loads of a case with their headings; 0 connections stands for the open loop."""
    found = [(connections, f"{connections} connections") for connections in run.connections]
    if any(sample.rate and sample.case == case for sample in run.samples):
        rate = run.info["rates"][case]
        found.append((0, f"constant rate of {rate:,} requests per second (open loop)"))
    return found


def memory_rows(run: Run, case: str) -> list[tuple[str, ...]]:
    """Memory of each peer in a case."""
    return [
        (
            title(run, peer),
            figures.mebibytes(run.memory(peer, case, under_load=False)),
            figures.mebibytes(run.memory(peer, case, under_load=True)),
        )
        for peer in run.peers
        if run.offered(peer, case)
    ]


def details(run: Run) -> list[str]:
    """The figures of each case."""
    lines = []
    for case in run.cases:
        facts = run.info["cases"][case]
        request = f"`{facts.get('method', 'GET')} {facts['path']}`"
        lines += [f"### {facts['title']}", "", f"{facts['about']} {request}", ""]
        for connections, heading in loads(run, case):
            lines += [f"{heading[0].upper()}{heading[1:]}:", ""]
            rows = [cell_row(run, peer, case, connections) for peer in run.shown(case, connections)]
            lines += table(CELL_HEAD, rows)
        lines += table(("memory (PSS)", "idle MiB", "under load MiB"), memory_rows(run, case))
    return lines


def peers(run: Run) -> list[str]:
    """What was measured, with versions."""
    lines = []
    for facts in [*run.info["peers"].values(), *run.info.get("references", {}).values()]:
        versions = "; ".join(
            text.splitlines()[0] if text else "unknown" for text in facts["versions"].values()
        )
        lines.append(f"- **{facts['title']}**: {facts['about']} ({versions})")
    return [*lines, ""]


def absent(run: Run) -> list[str]:
    """What was not measured and why, one line each."""
    lines = [
        f"{facts['title']}: {facts['reason']}" for facts in run.info.get("absent", {}).values()
    ]
    for case, reasons in run.info.get("not_offered", {}).items():
        lines += [
            f"{title(run, peer)} in {run.info['cases'][case]['title']}: {reason}"
            for peer, reason in reasons.items()
        ]
    return lines


def problems(run: Run) -> list[str]:
    """What went wrong, what differs; nothing when all is well."""
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
    """The report of a `faults` run that was added to this one."""
    path = run.folder / "faults" / "report.md"
    if not path.is_file():
        return []
    text = path.read_text()
    return ["## Faults", "", *text.splitlines()[2:], ""]


def markdown_report(run: Run) -> str:
    """The whole report."""
    lines = [f"# {title(run, figures.subject(run))} side by side with its peers", ""]
    lines += [f"{run.info['started'][:10]}, commit {figures.commit_line(run)}.", ""]
    if run.others:
        lines += ["## Ratios", "", *ratios(run)]
    rows = loop_rows(run)
    if rows:
        lines += ["## Against the handler alone", "", LOOP_ABOUT, "", *table(loop_head(run), rows)]
    lines += ["## Figures", "", *details(run)]
    trouble = problems(run)
    if trouble:
        lines += ["## Problems", "", *trouble]
    missing = absent(run)
    if missing:
        lines += ["## Not measured", "", *(f"- {line}" for line in missing), ""]
    lines += fault_tables(run)
    lines += ["## Method", ""]
    for paragraph in figures.method(run):
        lines += [paragraph, ""]
    lines += [f"Machine: {figures.machine_line(run)}.", "", *peers(run)]
    lines += ["php.ini values of every peer:", "", "```ini"]
    lines += [f"{key} = {value}" for key, value in run.info["options"]["php_ini"].items()]
    lines += ["```", ""]
    return "\n".join(lines)
