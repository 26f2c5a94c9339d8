"""Effect of the number of PHP processes: speed, latency, drops, memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.harness import figures
from bench.harness.sections import Table, case_title, title

if TYPE_CHECKING:
    from bench.harness.results import Run

ABOUT = (
    "The same load for different numbers of PHP processes. At the constant rate, dropped is what "
    "was due within the time and was not answered well: the load generator could not send it "
    "because every connection was waiting, or it failed. Memory is that of the whole server."
)


def counts(run: Run) -> list[int]:
    """Returns the numbers of PHP processes that a run compares."""
    return sorted({run.workers(peer) for peer in run.peers})


def bases(run: Run) -> list[str]:
    """Returns the servers without their numbers, in the order of the run."""
    return list(dict.fromkeys(run.base(peer) for peer in run.peers))


def variants(run: Run, base: str) -> list[str]:
    """Returns one server with its numbers of processes, the smallest first."""
    found = [peer for peer in run.peers if run.base(peer) == base]
    return sorted(found, key=run.workers)


def base_title(run: Run, base: str) -> str:
    """Returns a server's title without the number."""
    return title(run, variants(run, base)[0]).rpartition(",")[0]


def drops(run: Run, peer: str, case: str) -> tuple[int, int] | None:
    """Returns drops and due requests at the constant rate, over all rounds; None without it."""
    samples = run.select(peer, case, 0)
    if not samples:
        return None
    due = sum(sample.rate for sample in samples) * run.info["options"]["duration"]
    answered = sum(sample.load.requests - sample.load.status for sample in samples)
    return max(0, due - answered), due


def drops_text(run: Run, peer: str, case: str) -> str:
    """Returns the same in words."""
    found = drops(run, peer, case)
    if found is None:
        return figures.NONE
    dropped, due = found
    return f"{dropped:,} of {due:,}"


def row(run: Run, peer: str, case: str) -> tuple[str, ...]:
    """Returns all figures of a server with one number of processes."""
    connections = max(run.connections)
    cells = [base_title(run, run.base(peer)), str(run.workers(peer))]
    for load in (connections, 0):
        cells += [
            figures.rate(run.cell(peer, case, load, "rps")),
            figures.milliseconds(run.cell(peer, case, load, "p50")),
            figures.milliseconds(run.cell(peer, case, load, "p95")),
        ]
    return (
        *cells,
        drops_text(run, peer, case),
        figures.mebibytes(run.memory(peer, case, under_load=False)),
        figures.mebibytes(run.memory(peer, case, under_load=True)),
    )


def tables(run: Run) -> list[Table]:
    """Returns a table for each case; empty if every server had the same number of processes."""
    if len(counts(run)) == 1:
        return []
    found = []
    for case in run.cases:
        rate = run.info.get("rates", {}).get(case)
        constant = f"at {rate:,} req/s" if rate else "at a constant rate"
        head = (
            "",
            "processes",
            f"{max(run.connections)} connections: req/s",
            "p50 ms",
            "p95 ms",
            f"{constant}: answered/s",
            "p50 ms",
            "p95 ms",
            "dropped",
            "idle MiB",
            "under load MiB",
        )
        rows = [
            row(run, peer, case)
            for base in bases(run)
            for peer in variants(run, base)
            if run.offered(peer, case)
        ]
        if rows:
            found.append(Table(case_title(run, case), "", head, rows))
    return found
