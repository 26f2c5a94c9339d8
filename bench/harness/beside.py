"""Cost of a feature: a case compared with a similar case without that feature."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.harness import figures
from bench.harness.sections import Table, case_title, title
from bench.harness.stats import paired_ratio

if TYPE_CHECKING:
    from bench.harness.results import Run
    from bench.harness.stats import Spread

HEADING = "One case over the other"
ABOUT = (
    "Each server gets the two in turn, at each load another one first in the next round, and the "
    "ratio is made within the round: requests per second, times as many, and behind it CPU per "
    "request, times as much."
)


def other(run: Run, case: str) -> str | None:
    """Returns the case to compare with, or None."""
    return run.info["cases"].get(case, {}).get("beside") or None


def over(run: Run, peer: str, case: str, connections: int, name: str) -> Spread | None:
    """Returns a figure of a case as a multiple of the other's, round by round."""
    than = other(run, case)
    if than is None:
        return None
    return paired_ratio(
        run.by_round(peer, case, connections, name), run.by_round(peer, than, connections, name)
    )


def cell(run: Run, peer: str, case: str, connections: int) -> str:
    """Returns both ratios of a server."""
    speed, cpu = (over(run, peer, case, connections, name) for name in ("rps", "cpu"))
    return figures.NONE if speed is None else f"{figures.ratio(speed)}, {figures.ratio(cpu)}"


def tables(run: Run) -> list[Table]:
    """Returns a table for each pair of cases, with a row for each server."""
    found = []
    for case in run.cases:
        than = other(run, case)
        if than is None:
            continue
        head = ("", *(f"{connections} connections" for connections in run.connections))
        rows = [
            (
                title(run, peer),
                *(cell(run, peer, case, connections) for connections in run.connections),
            )
            for peer in run.peers
            if run.offered(peer, case)
        ]
        if rows:
            heading = f"{case_title(run, case)} over {case_title(run, than)}"
            found.append(Table(heading, "", head, rows))
    return found
