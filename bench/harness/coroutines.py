"""Targets for few processes with coroutines, at a rate at which requests mostly wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.harness import figures, workers
from bench.harness.goals import Finding, Target

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bench.harness.results import Run

PEER = "howdah-coroutines"
BLOCKING = "howdah-worker"
CASE = "statements"
# Of that case: ten responses that arrive after 2.3 ms each.
BARE_WAIT_US = 23_000
BLOCKING_WORKERS = 25
WORKERS = 4
LARGEST_P50 = 1.3
LARGEST_P95 = 3.0
# Share of the requests that were due at the constant rate.
SMALLEST_ANSWERED = 0.98
NEEDS = "make -C bench coroutines"


def few(run: Run) -> str | None:
    """Returns the peer with that few processes, or None if the run has none at that rate."""
    peer = f"{PEER}-w{WORKERS}"
    if peer not in run.peers:
        peer = PEER
    if peer not in run.peers or run.workers(peer) != WORKERS:
        return None
    return peer if run.select(peer, CASE, 0) else None


def where(run: Run) -> str:
    """Describes the constant rate in words."""
    return f"{run.info['rates'][CASE]:,} req/s"


def rate(run: Run) -> list[Finding]:
    """Requests per second of few processes with coroutines over many blocking ones."""
    peer, many = f"{PEER}-w{WORKERS}", f"{BLOCKING}-w{BLOCKING_WORKERS}"
    if peer not in run.peers or many not in run.peers or CASE not in run.cases:
        return []
    connections = max(run.connections)
    ratio = run.ratio(peer, many, CASE, connections)
    if ratio is None:
        return []
    return [Finding(f"{connections} connections", figures.ratio(ratio), ratio.median >= 1)]


def latency(name: str, at_most: float) -> Callable[[Run], list[Finding]]:
    """Returns a latency at the constant rate over the bare wait."""

    def measure(run: Run) -> list[Finding]:
        peer = few(run)
        found = None if peer is None else run.cell(peer, CASE, 0, name)
        if found is None:
            return []
        times = found.median / BARE_WAIT_US
        return [Finding(where(run), f"**{times:.2f}x**", times <= at_most)]

    return measure


def answered(run: Run) -> list[Finding]:
    """Returns the share of requests with a response, over all rounds, including invalid ones."""
    peer = few(run)
    found = None if peer is None else workers.drops(run, peer, CASE)
    if found is None:
        return []
    dropped, due = found
    part = (due - dropped) / due
    text = f"**{part:.2%}**, {dropped:,} of {due:,} dropped"
    return [Finding(where(run), text, part >= SMALLEST_ANSWERED)]


def failures(run: Run) -> list[Finding]:
    """Returns failed requests at the constant rate, over all rounds."""
    peer = few(run)
    if peer is None:
        return []
    failed = run.failed(peer, CASE, 0)
    total = sum(one.load.requests for one in run.select(peer, CASE, 0))
    return [Finding(where(run), f"{failed:,} of {total:,} failed", failed == 0)]


def targets() -> Iterator[Target]:
    """Returns all targets."""
    begin = f"Coroutines, {WORKERS} processes"
    yield Target(
        f"{begin}, 23 ms of waiting in each request: req/s of {BLOCKING_WORKERS} processes that "
        f"block",
        "1x",
        NEEDS,
        rate,
    )
    for name, words, at_most in (
        ("p50", "median latency", LARGEST_P50),
        ("p95", "p95", LARGEST_P95),
    ):
        wanted = f"at most {at_most:g}x"
        measure = latency(name, at_most)
        yield Target(f"{begin}: {words} over the bare wait", wanted, NEEDS, measure)
    yield Target(
        f"{begin}: answered of a constant rate",
        f"{SMALLEST_ANSWERED:.0%} or more",
        NEEDS,
        answered,
    )
    yield Target(f"{begin}: failed requests at a constant rate", "0", NEEDS, failures)
