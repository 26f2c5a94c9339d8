"""Targets for exit() in worker mode: the worker continues, or it is replaced."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.faults import under_load
from bench.harness import beside, figures
from bench.harness.goals import Finding, Target
from bench.harness.results import faults_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bench.harness.results import Run

WORKERS = {"howdah-worker": "worker", "howdah-coroutines": "coroutines"}
CASES = {"exit": "Hello world's 404", "codeigniter-exit": "CodeIgniter's 404"}
LEAST_SPEED = 0.9
# Number of consecutive requests that must hold it. A sample with fewer is not conclusive.
IN_A_ROW = 1000


def speed(peer: str, case: str) -> Callable[[Run], list[Finding]]:
    """Requests per second of a response that ends by exit over one that returns."""

    def measure(run: Run) -> list[Finding]:
        found = []
        for connections in run.connections:
            ratio = beside.over(run, peer, case, connections, "rps")
            if ratio is None:
                continue
            fewest = min(one.load.requests for one in run.select(peer, case, connections))
            text, reached = figures.ratio(ratio), None
            if fewest >= IN_A_ROW:
                reached = ratio.median >= LEAST_SPEED
            else:
                text += f" of {fewest:,} requests"
            found.append(Finding(f"{connections} connections", text, reached))
        return found

    return measure


def replacing(peer: str) -> Callable[[Run], list[Finding]]:
    """Requests that each cost a worker, from an added `faults` run."""

    def measure(run: Run) -> list[Finding]:
        return [
            Finding(under_load.where(result), under_load.summary(result), under_load.good(result))
            for result in (faults_of(run) or {}).get("under_load", [])
            if result["peer"] == peer and under_load.judged(result)
        ]

    return measure


def targets() -> Iterator[Target]:
    """Returns all targets."""
    for case, words in CASES.items():
        for peer, mode in WORKERS.items():
            # CodeIgniter handles one request at a time per process.
            if case == "exit" or mode == "worker":
                yield Target(
                    f"{words} that ends by exit, {mode}: req/s over the same without exit",
                    f"{LEAST_SPEED:g}x with {IN_A_ROW:,} in a row",
                    f"{peer} in the case {case}: make -C bench exit",
                    speed(peer, case),
                )
    yield Target(
        "Each request ends in a way that replaces its worker, and the application boots in 200 ms",
        "0 failed, none waits for a boot",
        "`faults --fault replace` and `report --faults`",
        replacing("howdah-worker"),
    )
