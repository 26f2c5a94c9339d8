"""Cost of compression: each body with and without it, with its size on the wire."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.harness import figures
from bench.harness.sections import Table, by_speed, case_title, title
from bench.harness.stats import paired_ratio

if TYPE_CHECKING:
    from bench.harness.results import Run

# Implementations of one format and level differ by less. A larger size is a different trade-off.
SAME_SIZE = 1.1
ABOUT = (
    "Each body is asked for without compression (identity) and with `Accept-Encoding: gzip`. The "
    "sizes are those of the body on the wire. So that none wins by compressing worse, ours are "
    "compared with the fastest of those that send at most a tenth more bytes than they do; who is "
    "faster with more bytes is named beside it."
)


@dataclass(frozen=True)
class Pair:
    """Two cases that differ in the encodings that the client accepts."""

    identity: str
    gzip: str


def pairs(run: Run) -> list[Pair]:
    """Finds the same response to the same request, with and without compression."""
    cases = run.info["cases"]

    def key(case: str) -> tuple[str, str, str]:
        facts = cases[case]
        return facts.get("body_sha256", ""), facts.get("method", "GET"), facts["path"]

    plain = {key(case): case for case in run.cases if not cases[case].get("gzip")}
    return [
        Pair(plain[key(case)], case)
        for case in run.cases
        if cases[case].get("gzip") and key(case)[0] and key(case) in plain
    ]


def body(run: Run, peer: str, case: str) -> str:
    """Describes the size on the wire and the encoding."""
    start = run.start(peer, case)
    if start is None:
        return figures.NONE
    return f"{start.body_bytes:,} {start.encoding or 'identity'}"


def size(run: Run, peer: str, case: str) -> int:
    """Returns the bytes of the body on the wire, 0 if the peer was never started."""
    start = run.start(peer, case)
    return 0 if start is None else start.body_bytes


def comparable(run: Run, subject: str, rival: str, case: str) -> bool:
    """Whether the rival did not save CPU time by sending more bytes."""
    return size(run, rival, case) <= size(run, subject, case) * SAME_SIZE


def rivals_by_speed(run: Run, subject: str, case: str, connections: int) -> list[str]:
    """Returns the other measured peers, the fastest first."""
    rivals = run.rivals(subject)
    return [peer for peer in by_speed(run, case, connections) if peer in rivals]


def best_row(run: Run, subject: str, case: str, connections: int) -> tuple[str, ...]:
    """Compares one of ours with the fastest of the others."""
    rivals = rivals_by_speed(run, subject, case, connections)
    fit = [peer for peer in rivals if comparable(run, subject, peer, case)]
    asked = "gzip" if run.info["cases"][case].get("gzip") else "identity"
    name = f"{case_title(run, case).removesuffix(', gzip')}, {asked}, {connections} connections"
    own = (
        figures.rate(run.cell(subject, case, connections, "rps")),
        body(run, subject, case),
    )
    if not fit:
        return (name, figures.NONE, *own, "none sends as little", *(figures.NONE,) * 3)
    rival = fit[0]
    ratio = figures.ratio(run.ratio(subject, rival, case, connections))
    if not comparable(run, rival, subject, case):
        ratio += ", but more bytes"
    larger = [
        f"{title(run, peer)} ({body(run, peer, case)})" for peer in rivals[: rivals.index(rival)]
    ]
    return (
        name,
        ratio,
        *own,
        title(run, rival),
        figures.rate(run.cell(rival, case, connections, "rps")),
        body(run, rival, case),
        "; ".join(larger) or figures.NONE,
    )


def cost(run: Run, peer: str, pair: Pair, connections: int) -> str:
    """Returns CPU time with gzip as a multiple of that without."""
    return figures.ratio(
        paired_ratio(
            run.by_round(peer, pair.gzip, connections, "cpu"),
            run.by_round(peer, pair.identity, connections, "cpu"),
        )
    )


def matrix_row(run: Run, peer: str, pair: Pair, connections: int) -> tuple[str, ...]:
    """Returns the row of one server with both variants."""
    cells: tuple[str, ...] = (title(run, peer),)
    for case in (pair.identity, pair.gzip):
        cells += (
            figures.rate(run.cell(peer, case, connections, "rps")),
            figures.microseconds(run.cell(peer, case, connections, "cpu")),
            body(run, peer, case),
        )
    return (*cells, cost(run, peer, pair, connections))


def matrix(run: Run) -> list[Table]:
    """Returns a table of ours against the best, then of every server in every case."""
    found = pairs(run)
    tables: list[Table] = []
    if not found:
        return tables
    for subject in run.ours if run.others else ():
        rows = [
            best_row(run, subject, case, connections)
            for pair in found
            for case in (pair.identity, pair.gzip)
            for connections in run.connections
            if run.offered(subject, case)
        ]
        head = (
            "",
            "times as many",
            "req/s",
            "bytes",
            "than the fastest of the others",
            "req/s",
            "bytes",
            "faster with more bytes",
        )
        if rows:
            tables.append(Table(f"{title(run, subject)} and the fastest", "", head, rows))
    columns = (
        "",
        "identity: req/s",
        "CPU µs",
        "bytes",
        "gzip: req/s",
        "CPU µs",
        "bytes",
        "CPU with gzip",
    )
    for pair in found:
        for connections in run.connections:
            rows = [
                matrix_row(run, peer, pair, connections)
                for peer in run.peers
                if run.offered(peer, pair.gzip)
            ]
            heading = f"{case_title(run, pair.identity)}, {connections} connections"
            tables.append(Table(heading, "", columns, rows))
    return tables
