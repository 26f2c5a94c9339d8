"""The tables of a report in no particular format: the fastest, all speeds, every round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.harness import figures
from bench.harness.results import LIBRARY, Run, load_text
from bench.harness.stats import Spread, paired_ratio, spread

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bench.harness.results import Sample


@dataclass(frozen=True)
class Table:
    """A heading, a few words, and the cells; the first column is text, the others are figures."""

    heading: str
    about: str
    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


def title(run: Run, peer: str) -> str:
    """Returns a peer's title."""
    return str(run.info["peers"][peer]["title"])


def row_title(run: Run, peer: str, case: str) -> str:
    """Returns a peer's title, with the body's encoding if the client accepts gzip."""
    name = title(run, peer)
    if not run.info["cases"][case].get("gzip"):
        return name
    start = run.start(peer, case)
    if start is None:
        return name
    how = start.encoding or "not compressed"
    return f"{name} ({how}, {start.body_bytes:,} bytes)"


def case_title(run: Run, case: str) -> str:
    """Returns a case's title."""
    return str(run.info["cases"][case]["title"])


def improvement(run: Run, peer: str, case: str, connections: int) -> Spread | None:
    """Returns requests per second as a multiple of the baseline's, round by round."""
    baseline = run.baseline
    if baseline is None or baseline == peer:
        return None
    return paired_ratio(
        run.by_round(peer, case, connections, "rps"),
        run.by_round(baseline, case, connections, "rps"),
    )


def by_speed(run: Run, case: str, connections: int) -> list[str]:
    """Returns the measured peers of a cell, the fastest first."""
    found = {
        peer: value.median
        for peer in run.peers
        if (value := run.cell(peer, case, connections, "rps")) is not None
    }
    return sorted(found, key=lambda peer: -found[peer])


def leaderboard(run: Run) -> list[Table]:
    """Lists the fastest server of each case, at the most connections."""
    connections = max(run.connections)
    tables = []
    for case in run.cases:
        rows = []
        for place, peer in enumerate(by_speed(run, case, connections), 1):
            rows.append(
                (
                    f"{place}. {row_title(run, peer, case)}",
                    figures.rate(run.cell(peer, case, connections, "rps")),
                    figures.ratio(improvement(run, peer, case, connections)),
                    figures.microseconds(run.cell(peer, case, connections, "cpu")),
                    figures.milliseconds(run.cell(peer, case, connections, "p50")),
                    figures.milliseconds(run.cell(peer, case, connections, "p99")),
                    figures.mebibytes(run.memory(peer, case, under_load=True)),
                    f"{run.failed(peer, case, connections):,}",
                )
            )
        if rows:
            head = (
                "",
                "req/s",
                than_baseline(run),
                "CPU µs/req",
                "p50 ms",
                "p99 ms",
                "memory MiB",
                "failed",
            )
            tables.append(
                Table(f"{case_title(run, case)}, {connections} connections", "", head, rows)
            )
    return tables


def than_baseline(run: Run) -> str:
    """Returns the head of a column with improvements."""
    baseline = run.baseline
    return "improvement" if baseline is None else f"times {title(run, baseline)}"


def speeds_about(run: Run) -> str:
    """Describes the content of its cells."""
    baseline = run.baseline
    words = "The median of the rounds"
    return (
        f"{words}." if baseline is None else f"{words}, and how many times {title(run, baseline)}."
    )


def speeds(run: Run) -> list[Table]:
    """Lists requests per second by server, mode and connections; empty with one number.

    With one number of connections, the leaderboard contains all of it.
    """
    if len(run.connections) == 1:
        return []
    tables = []
    for case in run.cases:
        rows = [
            (
                row_title(run, peer, case),
                *(speed(run, peer, case, connections) for connections in run.connections),
            )
            for peer in run.peers
            if run.offered(peer, case)
        ]
        head = ("", *(f"{connections} connections" for connections in run.connections))
        if rows:
            tables.append(Table(case_title(run, case), "", head, rows))
    return tables


def speed(run: Run, peer: str, case: str, connections: int) -> str:
    """Returns one cell of it."""
    value = run.cell(peer, case, connections, "rps")
    if value is None:
        return figures.NONE
    better = improvement(run, peer, case, connections)
    return (
        f"{value.median:,.0f}" if better is None else f"{value.median:,.0f} ({better.median:,.2f}x)"
    )


ALONE_HEADING = "Against PHP and hyper alone"
ALONE_ABOUT = (
    "CPU per request as a multiple of what is left without the server: the same handler called in "
    "a bare loop of PHP, which knows neither HTTP nor other requests, in as many processes at a "
    "time as servers have; and this added to hyper, the HTTP library of Howdah, where it answers "
    "by itself. In classic mode PHP begins and ends each request anew, which neither of them has."
)


def alone(run: Run) -> list[Table]:
    """Lists what servers add to PHP alone, and to PHP and the HTTP library alone."""
    loop = alone_table(
        run,
        ("Over the handler alone", "the handler alone, CPU µs"),
        lambda case, _: list(run.loop_us(case).values()),
        run.over_loop,
    )
    both = alone_table(
        run,
        ("Over the handler alone and hyper alone, added up", "hyper alone, CPU µs"),
        lambda case, connections: list(run.by_round(LIBRARY, case, connections, "cpu").values()),
        run.over_alone,
    )
    return [table for table in (loop, both) if table.rows]


def alone_table(
    run: Run,
    words: tuple[str, str],
    alone_us: Callable[[str, int], list[float]],
    over: Callable[[str, str, int], Spread | None],
) -> Table:
    """Compares ours with that many microseconds; `words` are the heading and the name."""
    rows = [
        (
            f"{case_title(run, case)}, {connections} connections",
            figures.microseconds(spread(values)),
            *(figures.ratio(over(peer, case, connections)) for peer in run.ours),
        )
        for case in run.cases
        for connections in run.connections
        if (values := alone_us(case, connections))
    ]
    return Table(words[0], "", ("", words[1], *(title(run, peer) for peer in run.ours)), rows)


ROUNDS_ABOUT = (
    "Requests per second of each single sample, so that it can be seen how far they agree. What "
    "does not count is marked, and Problems says why. The range is that between the smallest and "
    "the largest in percent of the median. A timeout is a request without an answer within the run."
)


def rounds(run: Run) -> list[Table]:
    """Lists every sample of every case with its timeouts and failures."""
    count = run.info["options"]["rounds"]
    head = (
        "",
        *(f"round {number}" for number in range(1, count + 1)),
        "range",
        "timeouts",
        "failed",
    )
    tables = []
    for case in run.cases:
        rows = []
        for connections in (*run.connections, 0):
            for peer in run.peers:
                samples = run.select(peer, case, connections)
                if samples:
                    rows.append(round_row(run, samples, count))
        if rows:
            tables.append(Table(case_title(run, case), "", head, rows))
    return tables


def round_row(run: Run, samples: list[Sample], count: int) -> tuple[str, ...]:
    """Returns the samples of one peer at one load."""
    first = samples[0]
    by_number = {sample.round: sample for sample in samples}
    value = run.cell(first.peer, first.case, 0 if first.rate else first.connections, "rps")
    spread = figures.NONE
    if value is not None and value.median > 0:
        spread = f"{(value.high - value.low) / value.median:.0%}"
    return (
        f"{title(run, first.peer)}, {load_text(first.connections, first.rate)}",
        *(round_cell(by_number.get(number)) for number in range(1, count + 1)),
        spread,
        f"{sum(sample.load.timeout for sample in samples):,}",
        f"{sum(sample.load.failed for sample in samples):,}",
    )


def round_cell(sample: Sample | None) -> str:
    """Returns requests per second of a sample, and whether it counts."""
    if sample is None:
        return figures.NONE
    text = f"{sample.load.requests_per_second:,.0f}"
    return text if sample.problem is None else f"{text} (does not count)"
