"""The table of faults."""

from __future__ import annotations

from typing import Any, NamedTuple

from bench.faults import replacement, under_load
from bench.harness.figures import NONE
from bench.harness.load import Load
from bench.harness.markdown import table

HEAD = (
    "",
    "p50 ms",
    "p99 ms",
    "max ms",
    "req/s",
    "failed",
    "what became of the fault",
    "answers again after",
)
REPLACEMENT_HEAD = (
    "",
    "lost by",
    "median ms",
    "p95 ms",
    "max ms",
    "boot ms",
    "what became of the lost request",
)

LOAD_HEAD = (
    "",
    "each ends by",
    "connections",
    "req/s",
    "p50 ms",
    "p99 ms",
    "max ms",
    "boot ms",
    "boots",
    "failed",
    "used again",
)


def pair(before: float, during: float, digits: int) -> str:
    """Formats a figure without and with the fault."""
    return f"{before:,.{digits}f} → {during:,.{digits}f}"


def outcome(result: dict[str, Any]) -> str:
    """Formats the injector's counts, the most frequent first."""
    counts = sorted(result["outcomes"].items(), key=lambda item: -item[1])
    parts = [f"{count:,} {name}" for name, count in counts]
    each = result["bytes_per_connection"]
    if each is not None:
        parts.append(f"{each / 1024:.1f} KiB each")
    return ", ".join(parts) or "nothing"


def recovered(result: dict[str, Any]) -> str:
    """Formats the time until PHP responded again."""
    seconds = result["recovery_seconds"]
    return "never" if seconds is None else f"{seconds * 1000:,.0f} ms"


def row(document: dict[str, Any], result: dict[str, Any]) -> tuple[str, ...]:
    """Returns a row of the table."""
    before, during = Load.from_dict(result["before"]), Load.from_dict(result["during"])
    return (
        document["peers"][result["peer"]],
        pair(before.p50 / 1000, during.p50 / 1000, 2),
        pair(before.p99 / 1000, during.p99 / 1000, 2),
        pair(before.max / 1000, during.max / 1000, 1),
        pair(before.requests_per_second, during.requests_per_second, 0),
        f"{during.failed:,} of {during.requests:,}",
        outcome(result),
        recovered(result),
    )


def rows_of(document: dict[str, Any], scenario: str) -> list[tuple[str, ...]]:
    """Returns a row for each peer that was measured under the fault."""
    return [
        row(document, result) for result in document["results"] if result["scenario"] == scenario
    ]


def conditions(document: dict[str, Any]) -> str:
    """Describes the method."""
    return (
        f"{document['connections']} connections ask without pause for {document['duration']} s, "
        f"without and then with the fault; {document['workers']} PHP processes, "
        f"{document['machine']['cpus']} CPUs that the clients share. Failed: answers with status "
        f"400 and above, and connections that broke. Memory is PSS of the server's processes, "
        f"without the kernel's buffers."
    )


def replacement_row(document: dict[str, Any], result: dict[str, Any]) -> tuple[str, ...]:
    """Returns the row of a server that lost its worker in one way."""
    title = document["peers"][result["peer"]]
    way = replacement.WAYS.get(result["way"], NONE)
    if result["reason"]:
        return (title, way, *[NONE] * 4, f"not measured: {result['reason']}")
    median, high, largest = replacement.summary(result["milliseconds"])
    counts = sorted(result["outcomes"].items(), key=lambda item: -item[1])
    parts = [f"{count:,} {name}" for name, count in counts]
    if result["failed"]:
        parts.append(f"{result['failed']:,} failed until then")
    return (
        title,
        way,
        f"{median:,.2f}",
        f"{high:,.2f}",
        f"{largest:,.2f}",
        f"{result['boot_ms']:,.0f}",
        ", ".join(parts),
    )


def load_row(document: dict[str, Any], result: dict[str, Any]) -> tuple[str, ...]:
    """Returns the row of a server that lost a worker with each request."""
    title = document["peers"][result["peer"]]
    begin = (title, under_load.WAYS[result["way"]], f"{result['connections']:,}")
    if result["reason"]:
        return (*begin, *[NONE] * 7, f"not measured: {result['reason']}")
    return (
        *begin,
        f"{result['requests'] / result['seconds']:,.0f}",
        *(f"{result[name]:,.1f}" for name in ("p50", "p99", "max")),
        f"{result['boot_ms']:,.0f}",
        f"{result['boots']:,}",
        f"{result['failed']:,} of {result['requests']:,}",
        f"{result['used_again']:,}",
    )


class FaultTable(NamedTuple):
    """A table of one fault."""

    heading: str
    about: str
    head: tuple[str, ...]
    rows: list[tuple[str, ...]]


def tables(document: dict[str, Any]) -> list[FaultTable]:
    """Returns a table for each measured fault."""
    found = []
    for name, title in document["scenarios"].items():
        rows = rows_of(document, name)
        if rows:
            found.append(FaultTable(f"{title[0].upper()}{title[1:]}", "", HEAD, rows))
    # A run from before this measurement existed has none.
    rows = [replacement_row(document, result) for result in document.get("replacements", [])]
    if rows:
        found.append(FaultTable(replacement.TITLE, replacement.ABOUT, REPLACEMENT_HEAD, rows))
    rows = [load_row(document, result) for result in document.get("under_load", [])]
    if rows:
        found.append(FaultTable(under_load.TITLE, under_load.ABOUT, LOAD_HEAD, rows))
    return found


def faults_report(document: dict[str, Any]) -> str:
    """Returns the whole report in Markdown."""
    lines = ["# What a fault costs the requests beside it", ""]
    if document["results"]:
        lines += [conditions(document), ""]
    for one in tables(document):
        lines += [f"### {one.heading}", ""]
        if one.about:
            lines += [one.about, ""]
        lines += table(one.head, one.rows)
    stopped = [
        f"- {document['peers'][result['peer']]} did not stop on SIGTERM after: "
        f"{document['scenarios'][result['scenario']]}"
        for result in document["results"]
        if result["forced_stops"]
    ]
    failures = [f"- {failure.splitlines()[0]}" for failure in document["failures"]]
    if stopped or failures:
        lines += ["### Problems", "", *failures, *stopped, ""]
    return "\n".join(lines)
