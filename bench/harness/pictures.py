"""Which pictures a report has of a run: what goes onto each chart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.harness import charts, figures, workers
from bench.harness.sections import title

if TYPE_CHECKING:
    from bench.harness.results import Run


def over_processes(run: Run, case: str) -> list[str]:
    """Lines over the number of PHP processes."""
    connections = max(run.connections)
    parts = []
    for words, unit, value in (
        ("Requests per second: higher is better", "req/s", worker_speed),
        ("Memory under load: lower is better", "MiB", worker_memory),
    ):
        series = [
            charts.Series(
                workers.base_title(run, base),
                any(peer in run.ours for peer in workers.variants(run, base)),
                [
                    (run.workers(peer), found)
                    for peer in workers.variants(run, base)
                    if (found := value(run, peer, case, connections)) is not None
                ],
            )
            for base in workers.bases(run)
        ]
        parts.append(charts.lines(series, unit, f"{words}, {connections} connections"))
    return parts


def worker_speed(run: Run, peer: str, case: str, connections: int) -> float | None:
    """Requests per second."""
    value = run.cell(peer, case, connections, "rps")
    return None if value is None else value.median


def worker_memory(run: Run, peer: str, case: str, _connections: int) -> float | None:
    """MiB under load."""
    value = run.memory(peer, case, under_load=True)
    return None if value is None else value.median / figures.MIB


def figure(run: Run, load: tuple[str, int], name: str, unit: str, label: str) -> str:
    """A bar for each peer that the case is for; `load` is case and connections."""
    values = [
        charts.Bar(title(run, peer), peer in run.ours, run.cell(peer, *load, name))
        for peer in run.shown(*load)
    ]
    return charts.bars(values, unit, label)


def latency(run: Run, case: str, connections: int) -> str:
    """Latencies of each peer on a logarithmic scale."""
    values = []
    for peer in run.shown(case, connections):
        found = [run.cell(peer, case, connections, name) for name in ("p50", "p99", "max")]
        p50, p99, largest = (0.0 if one is None else one.median for one in found)
        values.append(charts.Latency(title(run, peer), peer in run.ours, p50, p99, largest))
    words = (
        "Latency, logarithmic: the median (dot) to p99 (bar), the longest (tick); left is better"
    )
    return charts.latencies(values, words)


def against_memory(run: Run, case: str) -> str:
    """Throughput against memory."""
    connections = max(run.connections)
    points = []
    for peer in run.shown(case, connections):
        memory = run.memory(peer, case, under_load=True)
        speed = run.cell(peer, case, connections, "rps")
        if memory is not None and speed is not None:
            mebibytes = memory.median / figures.MIB
            points.append(charts.Point(title(run, peer), peer in run.ours, mebibytes, speed.median))
    words = f"Throughput against memory, {connections} connections: up and to the left is better"
    return charts.scatter(points, words)
