"""Selects the charts of a report."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from bench.harness import charts, figures, plots, workers
from bench.harness.sections import title

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from bench.harness.results import Run


def over_processes(run: Run, case: str) -> list[str]:
    """Draws lines over the number of PHP processes: speed, drops, latencies, memory.

    Latencies are those at the constant rate, if there is one. Those of a closed loop only repeat
    how fast it is.
    """
    connections = max(run.connections)
    rate = run.info.get("rates", {}).get(case)
    load, where = (0, f"at {rate:,} req/s") if rate else (connections, f"{connections} connections")
    speed = worker_lines(run, case, partial(worker_cell, load=connections, name="rps"))
    parts = [
        plots.lines(
            speed, "req/s", f"Requests per second, {connections} connections: higher is better"
        )
    ]
    if rate:
        lost = worker_lines(run, case, worker_drops)
        parts.append(plots.lines(lost, "% of what was due", f"Dropped {where}: lower is better"))
    p50, p95 = (
        worker_lines(run, case, partial(worker_cell, load=load, name=name))
        for name in ("p50", "p95")
    )
    words = f"{where}, logarithmic: lower is better"
    parts += beside({f"Median latency {words}": p50, f"p95 {words}": p95}, "ms", plots.logarithmic)
    idle, busy = (
        worker_lines(run, case, partial(worker_memory, under_load=under_load))
        for under_load in (False, True)
    )
    words = "of the whole server: lower is better"
    memory = {f"Memory, idle, {words}": idle, f"Memory under load, {words}": busy}
    parts += beside(memory, "MiB", plots.from_zero)
    return ['<div class="pictures">', *parts, "</div>"]


def worker_lines(
    run: Run, case: str, value: Callable[[Run, str, str], float | None]
) -> list[plots.Series]:
    """Returns a line for each server."""
    return [
        plots.Series(
            workers.base_title(run, base),
            any(peer in run.ours for peer in workers.variants(run, base)),
            [
                (run.workers(peer), found)
                for peer in workers.variants(run, base)
                if (found := value(run, peer, case)) is not None
            ],
        )
        for base in workers.bases(run)
    ]


def beside(
    pictures: Mapping[str, list[plots.Series]],
    unit: str,
    scale: Callable[[Iterable[float]], plots.Scale],
) -> list[str]:
    """Returns charts by label that are compared with each other: they have the same scale."""
    values = [value for series in pictures.values() for one in series for _, value in one.points]
    up = scale(values)
    return [plots.lines(series, unit, label, up) for label, series in pictures.items()]


def worker_cell(run: Run, peer: str, case: str, *, load: int, name: str) -> float | None:
    """Returns a figure at a number of connections, 0 for the constant rate; latencies in ms."""
    value = run.cell(peer, case, load, name)
    if value is None or value.median <= 0:
        return None
    return value.median if name == "rps" else value.median / 1000


def worker_drops(run: Run, peer: str, case: str) -> float | None:
    """Returns the dropped percentage at the constant rate."""
    found = workers.drops(run, peer, case)
    return None if found is None else found[0] / found[1] * 100


def worker_memory(run: Run, peer: str, case: str, *, under_load: bool) -> float | None:
    """Returns the MiB of the whole server."""
    value = run.memory(peer, case, under_load=under_load)
    return None if value is None else value.median / figures.MIB


def figure(run: Run, load: tuple[str, int], name: str, unit: str, label: str) -> str:
    """Returns a bar for each peer of the case; `load` is case and connections."""
    values = [
        charts.Bar(title(run, peer), peer in run.ours, run.cell(peer, *load, name))
        for peer in run.shown(*load)
    ]
    return charts.bars(values, unit, label)


def latency(run: Run, case: str, connections: int) -> str:
    """Draws latencies of each peer on a logarithmic scale."""
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
    """Draws throughput against memory."""
    connections = max(run.connections)
    points = []
    for peer in run.shown(case, connections):
        memory = run.memory(peer, case, under_load=True)
        speed = run.cell(peer, case, connections, "rps")
        if memory is not None and speed is not None:
            mebibytes = memory.median / figures.MIB
            points.append(plots.Point(title(run, peer), peer in run.ours, mebibytes, speed.median))
    words = f"Throughput against memory, {connections} connections: up and to the left is better"
    return plots.scatter(points, words)
