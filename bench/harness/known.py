"""Reported problems of similar servers, and whether they were reproduced here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.harness.coroutines import PEER as COROUTINES
from bench.harness.coroutines import WORKERS as COROUTINE_WORKERS
from bench.harness.goals import Finding, Target, any_measured, goal_table
from bench.harness.services import MOST_CONNECTIONS
from bench.harness.targets import CLASSIC, FRAMEWORKS, NGINX, WORKER, against

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bench.harness.results import Run
    from bench.harness.sections import Table

APACHE = "apache-prefork"
DATABASES = ("postgresql", "mariadb", "all")
# A tail that is this many times as long as the other's.
LONGER_TAIL = 1.5
# Share of a constant arrival rate.
HELD = 0.98
ABOUT = (
    "Findings of measurements that people pass around, and whether they come out on this machine "
    "with these settings."
)


def failures(case: str) -> Callable[[Run], list[Finding]]:
    """Failures of a server that connects for each request, and of worker mode."""

    def measure(run: Run) -> list[Finding]:
        found = []
        for connections in run.connections:
            # The finding is a server all of whose samples failed.
            if not all(run.select(peer, case, connections) for peer in (NGINX, WORKER)):
                continue
            theirs, ours = (run.failed(peer, case, connections) for peer in (NGINX, WORKER))
            held = [run.database_connections(peer, case) for peer in (NGINX, WORKER)]
            text = f"{theirs:,} and {ours:,} failed"
            if held[0] is not None and held[1] is not None:
                text += (
                    f" with {held[0].median:,.0f} and {held[1].median:,.0f} connections at the "
                    f"database"
                )
            processes = run.workers(NGINX)
            if theirs == 0 and processes < MOST_CONNECTIONS:
                text += (
                    f"; it cannot come out with {processes:,} processes, each of which has one "
                    f"connection at a time, since the databases take {MOST_CONNECTIONS:,} here"
                )
            found.append(Finding(f"{connections} connections", text, theirs > 0 and ours == 0))
        return found

    return measure


def tail(run: Run) -> list[Finding]:
    """p99 over p50 of Apache, and of nginx, at the most connections."""
    found = []
    connections = max(run.connections)
    for case in ("hello", "page-50k"):
        if case not in run.cases:
            continue
        tails = []
        for peer in (APACHE, NGINX):
            p50 = run.cell(peer, case, connections, "p50")
            p99 = run.cell(peer, case, connections, "p99")
            if p50 is not None and p99 is not None and p50.median > 0:
                tails.append(p99.median / p50.median)
        if len(tails) == len((APACHE, NGINX)):
            text = f"p99 is {tails[0]:.1f} and {tails[1]:.1f} times p50"
            where = f"{connections} connections, {case}"
            found.append(Finding(where, text, tails[0] >= LONGER_TAIL * tails[1]))
    return found


def rate_is_held(run: Run) -> list[Finding]:
    """Share of the arrival rate that few processes serve, with coroutines and without."""
    case = "statements"
    few = [f"{peer}-w{COROUTINE_WORKERS}" for peer in (COROUTINES, WORKER)]
    if case not in run.cases or any(peer not in run.peers for peer in few):
        return []
    cells = [run.cell(peer, case, 0, "rps") for peer in few]
    if cells[0] is None or cells[1] is None:
        return []
    rate = run.info["rates"][case]
    parts = [cell.median / rate for cell in cells if cell is not None]
    text = f"{parts[0]:.1%} with coroutines, {parts[1]:.1%} without"
    return [Finding(f"{rate:,} req/s", text, parts[0] >= HELD > parts[1])]


def findings() -> Iterator[Target]:
    """Returns all findings."""
    for case in FRAMEWORKS:
        yield Target(
            f"Worker mode answers a multiple of what classic mode does on a framework ({case})",
            "2x or more",
            f"howdah and howdah-worker in the case {case}",
            against(WORKER, (CLASSIC,), case, 2),
        )
    for case in DATABASES:
        yield Target(
            f"A connection for each request fails at the database's limits, worker mode does not "
            f"({case})",
            "failures of nginx + php-fpm alone",
            f"nginx-fpm and howdah-worker in the case {case}: make -C bench cases",
            failures(case),
        )
    yield Target(
        "Apache prefork has a long tail of latency, more so than nginx + php-fpm",
        f"{LONGER_TAIL} times as long",
        "apache-prefork and nginx-fpm in the case hello",
        tail,
    )
    yield Target(
        f"{COROUTINE_WORKERS} processes with coroutines hold an arrival rate that as many without "
        f"them do not",
        f"{HELD:.0%} of the rate",
        "make -C bench coroutines",
        rate_is_held,
    )


def table(run: Run) -> Table:
    """Lists each finding, and whether it was reproduced."""
    return goal_table(run, "Findings of others", ABOUT, findings(), ("came out", "**did not**"))


def applies(run: Run) -> bool:
    """Whether the run is about one of them."""
    return any_measured(run, findings())
