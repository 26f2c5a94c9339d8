"""Changes between two runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.harness import figures
from bench.harness.markdown import table

if TYPE_CHECKING:
    from bench.harness.results import Run
    from bench.harness.stats import Spread


def change(before: Spread | None, after: Spread | None) -> str:
    """Formats the change of the median, marked `*` if the two spreads do not overlap."""
    if before is None or after is None or before.median == 0:
        return figures.NONE
    apart = after.low > before.high or after.high < before.low
    return f"{after.median / before.median - 1:+.1%}{'*' if apart else ''}"


def compare(before: Run, after: Run) -> str:
    """Returns a Markdown table of all cells that both runs have."""
    rows = []
    for case in after.cases:
        for peer in after.peers:
            # 0 represents the open loop.
            for connections in (*after.connections, 0):
                cell = (peer, case, connections)
                pairs = {
                    name: (before.cell(*cell, name), after.cell(*cell, name))
                    for name in ("rps", "cpu", "p50", "p99")
                }
                if any(old is None or new is None for old, new in pairs.values()):
                    continue
                rows.append(
                    (
                        f"{case}, {peer}, "
                        + (f"{connections} connections" if connections else "constant rate"),
                        figures.rate(pairs["rps"][0]),
                        figures.rate(pairs["rps"][1]),
                        *(change(old, new) for old, new in pairs.values()),
                    )
                )
    lines = [
        f"Before: {before.info['started'][:16]}, commit {figures.commit_line(before)}.",
        f"After: {after.info['started'][:16]}, commit {figures.commit_line(after)}.",
        "",
        *table(
            ("", "req/s before", "req/s after", "req/s", "CPU/req", "p50", "p99"),
            rows,
        ),
        "`*`: no round of one run reaches into the range of the other. The runs were made at",
        "different times: on a shared machine judge by the CPU column, and by peers that did",
        "not change.",
        "",
    ]
    return "\n".join(lines)
