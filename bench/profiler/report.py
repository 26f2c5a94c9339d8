"""The table of the cost of a profile."""

from __future__ import annotations

from typing import Any

from bench.harness import figures
from bench.harness.markdown import table
from bench.harness.sections import Table
from bench.harness.stats import Spread

HEADING = "What a profile costs"
HEAD = ("", "req/s", "wanted", "CPU per request", "samples taken", "")
MISSED = "missed"


def conditions(document: dict[str, Any]) -> str:
    """Describes the method."""
    return (
        f"Multiples of the same server without a profile, in turns: {document['rounds']} rounds of "
        f"{document['duration']} s, {document['connections']} connections, {document['workers']} "
        f"PHP processes. Of the samples due the fewest of a round were taken; "
        f"{document['seen_least']:.0f} % are wanted."
    )


def ratio(values: dict[str, Any] | None) -> str:
    """Formats a ratio from run.json."""
    return figures.ratio(None if values is None else Spread(**values))


def row(result: dict[str, Any]) -> tuple[str, ...]:
    """Returns a row of a case at a rate."""
    return (
        f"{result['title']}, {result['hz']:,} Hz",
        ratio(result["rps"]),
        f"{result['wanted']:.2f}x",
        ratio(result["cpu"]),
        f"{result['seen']:.1f} %",
        "" if result["good"] else MISSED,
    )


def profile_table(document: dict[str, Any]) -> Table:
    """Returns a row for each case and rate."""
    return Table(HEADING, conditions(document), HEAD, [row(one) for one in document["results"]])


def profile_lines(document: dict[str, Any]) -> list[str]:
    """Returns the section of a report in Markdown."""
    one = profile_table(document)
    lines = [f"## {one.heading}", "", one.about, "", *table(one.head, one.rows)]
    notes = [f"- {failure}" for failure in document["failures"]]
    # Reports of earlier versions do not have it.
    notes += [f"- not measured: {case}" for case in document.get("absent", [])]
    return lines if not notes else [*lines, *notes, ""]
