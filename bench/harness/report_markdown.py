"""The report as Markdown: ratios first, then the figures behind them, then how they were made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.harness import figures

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


def ratios(run: Run) -> list[str]:
    """How the first peer compares with each other one."""
    subject = figures.subject(run)
    lines = []
    for other in run.peers[1:]:
        rows = [
            (
                f"{run.info['cases'][case]['title']}, {connections} connections",
                figures.ratio(run.ratio(subject, other, case, connections)),
                figures.ratio(run.cpu_ratio(subject, other, case, connections)),
            )
            for case in run.cases
            for connections in run.connections
        ]
        lines += [f"### {title(run, subject)} against {title(run, other)}", ""]
        lines += table(
            ("", "requests per second, times as many", "CPU per request, times less"), rows
        )
    return lines


def cell_row(run: Run, peer: str, case: str, connections: int) -> tuple[str, ...]:
    """All figures of a peer in a case."""

    def cell(name: str) -> str:
        return figures.milliseconds(run.cell(peer, case, connections, name))

    return (
        title(run, peer),
        figures.rate(run.cell(peer, case, connections, "rps")),
        figures.microseconds(run.cell(peer, case, connections, "cpu")),
        cell("mean"),
        cell("p50"),
        cell("p75"),
        cell("p90"),
        cell("p99"),
        cell("max"),
        cell("stdev"),
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


def details(run: Run) -> list[str]:
    """The figures of each case."""
    lines = []
    for case in run.cases:
        facts = run.info["cases"][case]
        lines += [f"### {facts['title']}", "", f"{facts['about']} `GET {facts['path']}`", ""]
        for connections in run.connections:
            lines += [f"{connections} connections:", ""]
            rows = [cell_row(run, peer, case, connections) for peer in run.peers]
            lines += table(CELL_HEAD, rows)
        rows = [
            (
                title(run, peer),
                figures.mebibytes(run.memory(peer, case, under_load=False)),
                figures.mebibytes(run.memory(peer, case, under_load=True)),
            )
            for peer in run.peers
        ]
        lines += table(("memory (PSS)", "idle MiB", "under load MiB"), rows)
    return lines


def peers(run: Run) -> list[str]:
    """What was measured, with versions."""
    lines = []
    for facts in run.info["peers"].values():
        versions = "; ".join(
            text.splitlines()[0] if text else "unknown" for text in facts["versions"].values()
        )
        lines.append(f"- **{facts['title']}**: {facts['about']} ({versions})")
    return [*lines, ""]


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
    if len(run.peers) > 1:
        lines += ["## Ratios", "", *ratios(run)]
    lines += ["## Figures", "", *details(run)]
    trouble = problems(run)
    if trouble:
        lines += ["## Problems", "", *trouble]
    lines += fault_tables(run)
    lines += ["## Method", ""]
    for paragraph in figures.method(run):
        lines += [paragraph, ""]
    lines += [f"Machine: {figures.machine_line(run)}.", "", *peers(run)]
    lines += ["php.ini values of every peer:", "", "```ini"]
    lines += [f"{key} = {value}" for key, value in run.info["options"]["php_ini"].items()]
    lines += ["```", ""]
    return "\n".join(lines)
