"""The tables and charts of the pages in docs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.faults import replacement
from bench.harness import figures, page_runs, workers
from bench.harness.bar_chart import Chart, Group
from bench.harness.errors import BenchError
from bench.harness.markdown import table
from bench.harness.page_runs import (
    CLASSIC,
    FRANKENPHP,
    NGINX,
    SWOOLE,
    WORKER,
    Server,
    best,
    run_of,
)
from bench.harness.publish import RESULTS
from bench.harness.sections import case_title
from bench.harness.targets import memory_per_worker

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bench.harness.results import Run

Lines = list[str]
CONNECTIONS = 32
SERVERS = (NGINX, FRANKENPHP, SWOOLE, CLASSIC, WORKER)


@dataclass(frozen=True)
class Row:
    """A case in the run of all peers; `part` is the title of the run that contains it."""

    name: str
    case: str
    part: str = ""

    @property
    def run(self) -> Run:
        """Returns the run."""
        return run_of(page_runs.ALL, self.part)

    def speed(self, server: Server) -> float | None:
        """Returns requests per second."""
        peer = best(self.run, server.peers, self.case, CONNECTIONS)
        cell = None if peer is None else self.run.cell(peer, self.case, CONNECTIONS, "rps")
        return None if cell is None else cell.median

    def ratio(self, subject: Server, other: Server) -> float | None:
        """Returns how many times as many requests the subject serves, round by round."""
        ours, theirs = (
            best(self.run, server.peers, self.case, CONNECTIONS) for server in (subject, other)
        )
        if ours is None or theirs is None:
            return None
        found = self.run.ratio(ours, theirs, self.case, CONNECTIONS)
        return None if found is None else found.median


HELLO = Row("hello world", "hello")
SYMFONY = Row("Symfony page", "symfony")
STORES = Row("CodeIgniter with stores", "codeigniter-stores", page_runs.CODEIGNITER)
LARAVEL = Row("Laravel page", "laravel-octane", page_runs.OTHER)
POSTGRESQL = Row("PostgreSQL, two queries", "postgresql", page_runs.OTHER)
ROWS = (
    HELLO,
    Row("50 KiB page", "page-50k"),
    SYMFONY,
    Row("CodeIgniter page", "codeigniter", page_runs.CODEIGNITER),
    STORES,
    LARAVEL,
    POSTGRESQL,
    Row("handler with stores", "all", page_runs.OTHER),
)
SHORT_ROWS = (HELLO, SYMFONY, STORES, LARAVEL, POSTGRESQL)


def number(value: float | None) -> str:
    """Formats requests per second without their spread."""
    return figures.NONE if value is None else f"{value:,.0f}"


def times(value: float | None) -> str:
    """Formats a ratio without its spread."""
    return figures.NONE if value is None else f"{value:.1f}x"


def comparison(rows: Sequence[Row], servers: Sequence[Server], *, ratios: bool) -> Lines:
    """Lists requests per second of each server; the largest figure of a row is bold."""
    head = ["requests/s", *(server.title for server in servers)]
    if ratios:
        head += ["vs nginx", "vs FrankenPHP"]
    lines = []
    for row in rows:
        speeds = [row.speed(server) for server in servers]
        most = max(speed for speed in speeds if speed is not None)
        cells = [f"**{number(speed)}**" if speed == most else number(speed) for speed in speeds]
        if ratios:
            cells += [times(row.ratio(WORKER, other)) for other in (NGINX, FRANKENPHP)]
        lines.append([row.name, *cells])
    return table(head, lines)


def servers() -> Lines:
    """Returns the first table of the page about performance."""
    return comparison(ROWS, SERVERS, ratios=True)


def readme() -> Lines:
    """Returns the table of the README."""
    return comparison(SHORT_ROWS, SERVERS, ratios=False)


def servers_chart() -> Chart:
    """Returns the same rows as multiples of nginx with php-fpm."""
    groups = []
    for row in SHORT_ROWS:
        ratios = [1.0 if one is NGINX else row.ratio(one, NGINX) for one in SERVERS]
        groups.append(Group(row.name, tuple(ratios)))
    return Chart(
        "Requests per second, times nginx + php-fpm",
        tuple(server.title for server in SERVERS),
        tuple(groups),
        ratios=True,
    )


def against(
    run: Run, subject: Server, others: Sequence[Server], cases: Sequence[str], cpu: Server | None
) -> Lines:
    """Lists ratios of one of ours per number of connections; CPU is compared with that of `cpu`."""
    head = ["", "connections", *(f"requests/s vs {other.title}" for other in others)]
    if cpu is not None:
        head.append(f"CPU per request vs {cpu.title}, times less")
    rows = []
    for case in cases:
        for connections in run.connections:
            ours = best(run, subject.peers, case, connections)
            if ours is None:
                continue
            cells = [case_title(run, case), f"{connections}"]
            for other in others:
                peer = best(run, other.peers, case, connections)
                ratio = None if peer is None else run.ratio(ours, peer, case, connections)
                cells.append(figures.ratio(ratio))
            if cpu is not None:
                peer = best(run, cpu.peers, case, connections)
                found = None if peer is None else run.cpu_ratio(ours, peer, case, connections)
                cells.append(figures.ratio(found))
            rows.append(cells)
    return table(head, rows)


def classic() -> Lines:
    """Compares classic mode with nginx."""
    run = run_of(page_runs.SHORT)
    return against(run, CLASSIC, [NGINX], ["hello", "page-50k", "symfony"], NGINX)


def worker() -> Lines:
    """Compares worker mode with nginx, and with FrankenPHP as it ships."""
    run = run_of(page_runs.FRAMEWORKS)
    cases = ["hello", "symfony", "codeigniter"]
    return against(run, WORKER, [NGINX, FRANKENPHP], cases, FRANKENPHP)


def quoted(run: str, heading: str, columns: Sequence[int], rows: Sequence[str] = ()) -> Lines:
    """Quotes columns of a report's table: all rows, or those that start with one of these words.

    Raises:
        BenchError: the report has no such table.
    """
    report = RESULTS / run / "report.md"
    _, _, rest = report.read_text().partition(f"# {heading}\n")
    lines = [line for line in rest.partition("\n#")[0].splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    wanted = [row for row in cells[2:] if not rows or row[0].startswith(tuple(rows))]
    if not wanted:
        raise BenchError(f"{report} has no table {heading}")
    return table([cells[0][at] for at in columns], [[row[at] for at in columns] for row in wanted])


def loop() -> Lines:
    """Compares CPU of worker mode with that of the bare loop."""
    return quoted(
        page_runs.FRAMEWORKS, "Over the handler alone", (0, 1, 2), ("CodeIgniter", "Symfony")
    )


def library() -> Lines:
    """Compares CPU of worker mode with that of hyper and of the bare loop."""
    heading = "Over the handler alone and hyper alone, added up"
    return quoted(page_runs.FRAMEWORKS, heading, (0, 1, 2))


def files() -> Lines:
    """Compares files with an nginx that is tuned for them."""
    run = run_of(page_runs.FILES)
    nginx = Server("nginx with sendfile and open_file_cache", ("nginx-fpm-files",))
    return against(run, CLASSIC, [nginx], run.cases, nginx)


def packed() -> Lines:
    """Compares compression with the fastest server that sends no more bytes."""
    lines = quoted(page_runs.COMPRESSION, "Howdah classic and the fastest", (0, 1, 2, 4, 5))
    return [
        "| | requests/s, times the fastest other | Howdah | fastest other | its requests/s |",
        *lines[1:],
    ]


def losses() -> Lines:
    """Lists the times until a lost worker is replaced."""
    return quoted(
        page_runs.FAULTS, replacement.TITLE, (0, 1, 2, 3, 4, 6), ("Howdah", "Frank", "Road")
    )


def slow_clients() -> Lines:
    """Lists the cost of slow clients for other clients."""
    heading = "As many such clients of each kind as there are PHP processes, and answers of 20 MiB"
    return quoted(page_runs.FAULTS, heading, (0, 4, 2, 5))


def crashes() -> Lines:
    """Lists the cost of a PHP crash for other clients."""
    return quoted(page_runs.FAULTS, "SIGSEGV inside PHP every 100 ms", (0, 4, 2, 5, 6))


def tls() -> Lines:
    """Lists idle and active connections over TLS."""
    return quoted(page_runs.TLS, "TLS connections", (0, 2, 3, 5, 6, 7, 8))


COROUTINE_SERVERS = (
    Server("nginx + php-fpm", ("nginx-fpm",)),
    Server("Swoole", ("swoole-coroutines",)),
    Server("Howdah worker", ("howdah-worker",)),
    Server("Howdah coroutines", ("howdah-coroutines",)),
)
STATEMENTS = "statements"


def coroutines() -> Lines:
    """Compares processes with and without coroutines: at full speed, and at a constant rate."""
    run = run_of(page_runs.ALL, page_runs.COROUTINES)
    connections, rate = max(run.connections), run.info["rates"][STATEMENTS]
    rows = []
    for server, count in [(2, 4), (2, 25), (1, 4), (1, 25), (3, 4), (3, 25)]:
        peer = f"{COROUTINE_SERVERS[server].peers[0]}-w{count}"
        opened = [run.cell(peer, STATEMENTS, 0, name) for name in ("p50", "p95")]
        rows.append(
            [
                COROUTINE_SERVERS[server].title,
                f"{count}",
                figures.rate(run.cell(peer, STATEMENTS, connections, "rps")),
                *map(figures.milliseconds, opened),
                workers.drops_text(run, peer, STATEMENTS),
            ]
        )
    constant = f"at {rate:,} requests/s:"
    head = ["", "processes", "requests/s", f"{constant} p50 ms", "p95 ms", "dropped"]
    return table(head, rows)


def coroutines_chart() -> Chart:
    """Draws requests per second by the number of processes."""
    run = run_of(page_runs.ALL, page_runs.COROUTINES)
    connections = max(run.connections)
    groups = []
    for count in workers.counts(run):
        cells = [
            run.cell(f"{server.peers[0]}-w{count}", STATEMENTS, connections, "rps")
            for server in COROUTINE_SERVERS
        ]
        values = tuple(None if cell is None else cell.median for cell in cells)
        groups.append(Group(f"{count} PHP processes", values))
    return Chart(
        "Requests per second, ten SQL statements each, a database 2.3 ms away",
        tuple(server.title for server in COROUTINE_SERVERS),
        tuple(groups),
    )


def memory() -> Lines:
    """Lists the memory of one more worker."""
    rows = [
        [found.where, found.text]
        for part in (page_runs.COROUTINES, page_runs.MEMORY)
        for found in memory_per_worker(run_of(page_runs.ALL, part))
    ]
    return table(["application", "one more worker"], rows)


TABLES: dict[str, Callable[[], Lines]] = {
    "servers": servers,
    "readme": readme,
    "classic": classic,
    "worker": worker,
    "loop": loop,
    "library": library,
    "files": files,
    "packed": packed,
    "losses": losses,
    "slow-clients": slow_clients,
    "crashes": crashes,
    "tls": tls,
    "coroutines": coroutines,
    "memory": memory,
}
CHARTS: dict[str, Callable[[], Chart]] = {
    "servers": servers_chart,
    "coroutines": coroutines_chart,
}
