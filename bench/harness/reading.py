"""Notes on how to read a report: meaning and limits of its figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.harness import targets

if TYPE_CHECKING:
    from bench.harness.results import Run

HEADING = "How to read it"


def points(run: Run) -> list[str]:
    """Returns the main points, one each, with `**` around its start."""
    found = [
        (
            "**Ratios first.** They are made of servers that were measured minutes apart on the "
            "same machine, and hold on others better than requests per second, which are those of "
            "this machine."
        ),
        (
            "**Parentheses.** The figure is the median of the rounds; behind it are the smallest "
            "and the largest: 4.00x (3.00–5.00) is four times as much, three times in the worst "
            "round and five times in the best."
        ),
    ]
    if not run.info.get("running"):
        found.append(
            "**CPU per request** is the steadier figure where others use the machine, as on most "
            "virtual machines: what they take makes all servers slower, but hardly adds to the CPU "
            "time of a request. A lead that both figures show is one."
        )
    found.append(
        "**No difference.** Where the ranges of two figures overlap, or that of a ratio has 1 in "
        "it, the rounds do not agree on who is ahead: take it for none."
    )
    if targets.applies(run):
        found.append(
            "**Missed** says that the median stays behind what Howdah holds itself to, at one load "
            "of one run at least. It does not say that the other server is ahead: with a target of "
            "4x, 3.9x is missed. Not measured says that no run of this report is about it."
        )
    return found
