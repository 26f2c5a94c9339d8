"""Targets of Howdah, as ratios, and whether a run met them.

A target is met if the median of the ratios of the rounds reaches it at every number of connections
to which it applies, in every run that measured it. `report --with` combines these runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.faults import replacement
from bench.harness import before, coroutines, exits, figures
from bench.harness.compression import comparable
from bench.harness.goals import Finding, Target, any_measured, goal_table
from bench.harness.results import Run, faults_of
from bench.harness.sections import case_title
from bench.harness.workers import counts, variants

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bench.harness.sections import Table
    from bench.harness.stats import Spread

CLASSIC = "howdah"
WORKER = "howdah-worker"
PRELOAD = "howdah-preload"
NGINX = "nginx-fpm"
NGINXES = (
    "nginx-fpm",
    "nginx-fpm-keepalive",
    "nginx-fpm-default",
    "nginx-fpm-files",
    "nginx-fpm-tcp",
    "nginx-fpm-tcp-keepalive",
)
COMPRESSORS = (*NGINXES, "caddy-fpm", "frankenphp", "frankenphp-tuned")
FRANKENPHP_WORKERS = ("frankenphp-worker", "frankenphp-worker-tuned")
SWOOLES = ("swoole", "swoole-process")
FRAMEWORKS = ("codeigniter", "symfony")
# Target of preloading in classic mode.
PRELOADED = {"symfony": 1.4, "codeigniter": 1.2}
STORES = {
    "codeigniter-stores": "CodeIgniter with a database, a cache and a session",
    "all": "A handler with a database, a cache and a session",
    "postgresql": "A handler with PostgreSQL",
    "mariadb": "A handler with MariaDB",
    "redis": "A handler with Redis",
}
# The target of hello world against nginx was set at 32 and 64 connections: below, waking processes
# takes more time than requests (docs/adr/0010-hello-world-is-judged-under-load.md).
BUSY_CONNECTIONS = 32
LARGEST_OVER_LOOP = 1.05
LARGEST_OVER_ALONE = 1.5
LARGEST_WORKER_MIB = 3.0
LARGEST_REPLACEMENT_MS = 5.0


def against(  # noqa: PLR0913, one for each part of the target
    subject: str,
    others: tuple[str, ...],
    case: str,
    at_least: float,
    *,
    kind: str = "ratio",
    from_connections: int = 0,
) -> Callable[[Run], list[Finding]]:
    """Evaluates a ratio to the best of several servers; `kind` is `ratio` or `cpu_ratio`.

    With fewer than `from_connections` it is shown and not judged.
    """

    def measure(run: Run) -> list[Finding]:
        if subject not in run.peers or case not in run.cases:
            return []
        compare = run.ratio if kind == "ratio" else run.cpu_ratio
        found = []
        for connections in run.connections:
            # The best of the others is the one with the smallest ratio.
            ratios = [
                ratio
                for other in others
                if other in run.peers
                and comparable(run, subject, other, case)
                and (ratio := compare(subject, other, case, connections)) is not None
            ]
            if ratios:
                worst = min(ratios, key=lambda ratio: ratio.median)
                judged = connections >= from_connections
                reached = worst.median >= at_least if judged else None
                found.append(Finding(f"{connections} connections", figures.ratio(worst), reached))
        return found

    return measure


def worker_cpu(
    case: str, over: Callable[[Run, str, str, int], Spread | None], at_most: float
) -> Callable[[Run], list[Finding]]:
    """Evaluates CPU per request in worker mode as a multiple of the bare parts."""

    def measure(run: Run) -> list[Finding]:
        if WORKER not in run.peers or case not in run.cases:
            return []
        return [
            Finding(f"{connections} connections", figures.ratio(ratio), ratio.median <= at_most)
            for connections in run.connections
            if (ratio := over(run, WORKER, case, connections)) is not None
        ]

    return measure


def no_failures(case: str) -> Callable[[Run], list[Finding]]:
    """Checks that no request fails in worker mode."""

    def measure(run: Run) -> list[Finding]:
        samples = [one for one in run.samples if (one.peer, one.case) == (WORKER, case)]
        if not samples:
            return []
        failed = sum(one.load.failed for one in samples)
        total = sum(one.load.requests for one in samples)
        return [Finding("all loads", f"{failed:,} of {total:,} failed", failed == 0)]

    return measure


def memory_per_worker(run: Run) -> list[Finding]:
    """Evaluates the memory of one more process of a booted application under load."""
    found: list[Finding] = []
    if len(counts(run)) == 1:
        return found
    peers = variants(run, WORKER)
    for case in run.cases:
        sizes = [
            (run.workers(peer), size.median)
            for peer in peers
            if (size := run.memory(peer, case, under_load=True)) is not None
        ]
        if len(sizes) > 1:
            (low, small), (high, large) = sizes[0], sizes[-1]
            each = (large - small) / (high - low) / figures.MIB
            where = f"{case_title(run, case)}, {low} to {high} processes"
            found.append(Finding(where, f"**{each:.2f} MiB**", each <= LARGEST_WORKER_MIB))
    return found


def replacements(run: Run) -> list[Finding]:
    """Evaluates the time until a new worker responds, for each way, from an added `faults` run."""
    found = []
    for result in (faults_of(run) or {}).get("replacements", []):
        if result["peer"] == WORKER and result["milliseconds"]:
            median, _, _ = replacement.summary(result["milliseconds"])
            where = replacement.WAYS[result["way"]]
            text = f"**{median:.2f} ms**"
            found.append(Finding(where, text, median < LARGEST_REPLACEMENT_MS))
    return found


def targets() -> Iterator[Target]:
    """Returns all targets."""
    yield from hello_world()
    yield from pages()
    yield from preloading()
    yield from worker_mode()
    yield from coroutines.targets()
    yield from exits.targets()
    yield from before.targets()
    yield from processes()
    yield from static_files()


def hello_world() -> Iterator[Target]:
    """Returns the targets of the smallest response."""
    busy = f"from {BUSY_CONNECTIONS} connections on"
    for subject, mode, at_least, kind, what in (
        (CLASSIC, "classic", 4, "ratio", "req/s"),
        (CLASSIC, "classic", 4, "cpu_ratio", "CPU per request, times less"),
        (WORKER, "worker", 4.5, "ratio", "req/s"),
    ):
        yield Target(
            f"Hello world, {mode}, against nginx + php-fpm: {what}",
            f"{at_least:g}x {busy}",
            f"{subject} and nginx-fpm in the case hello, {busy}",
            against(
                subject, (NGINX,), "hello", at_least, kind=kind, from_connections=BUSY_CONNECTIONS
            ),
        )
    yield Target(
        "Hello world, worker, against Swoole's own handler: req/s",
        "1.3x",
        "Swoole",
        against(WORKER, SWOOLES, "hello", 1.3),
    )


def pages() -> Iterator[Target]:
    """Returns the targets of large and compressed responses of PHP."""
    yield Target(
        "50 KiB page, classic, against nginx + php-fpm: req/s",
        "3x",
        "howdah and nginx-fpm in the case page-50k",
        against(CLASSIC, (NGINX,), "page-50k", 3),
    )
    for case, words in (
        ("page-50k-gzip", "50 KiB page with gzip"),
        ("pdf", "PDF"),
        ("pdf-gzip", "PDF where the client takes gzip"),
        ("text", "Random text"),
        ("text-gzip", "Random text where the client takes gzip"),
    ):
        yield Target(
            f"{words}, classic, against the best of nginx, Caddy and FrankenPHP: req/s",
            "1.5x",
            f"the case {case}: make -C bench compression",
            against(CLASSIC, COMPRESSORS, case, 1.5),
        )


def preloading() -> Iterator[Target]:
    """Returns the targets of preloading in classic mode."""
    for case, at_least in PRELOADED.items():
        yield Target(
            f"A framework's page ({case}), classic, preloading, against the same without: req/s",
            f"{at_least:g}x",
            f"{PRELOAD} and {CLASSIC} in the case {case}",
            against(PRELOAD, (CLASSIC,), case, at_least),
        )
    yield Target(
        "A framework's page (symfony), classic, preloading, against nginx + php-fpm: req/s",
        "1.3x",
        f"{PRELOAD} and nginx-fpm in the case symfony",
        against(PRELOAD, (NGINX,), "symfony", 1.3),
    )


def worker_mode() -> Iterator[Target]:
    """Returns the targets of applications in worker mode, and of its CPU time."""
    for case in FRAMEWORKS:
        yield from of_worker(case, f"A framework's page ({case})", 2)
        yield Target(
            f"A framework's page ({case}), worker: CPU per request over the bare loop",
            f"at most {LARGEST_OVER_LOOP}x",
            f"howdah-worker and php-loop in the case {case}",
            worker_cpu(case, Run.over_loop, LARGEST_OVER_LOOP),
        )
    for case, words in STORES.items():
        yield from of_worker(case, words, 3.5)
        yield Target(
            f"{words}, worker: failed requests",
            "0",
            f"howdah-worker in the case {case}",
            no_failures(case),
        )
    # Only worker mode, whose handler is the loop's. The work that PHP does for each request in
    # classic mode, at its start and its end, is not part of any bare loop.
    yield Target(
        "Hello world, worker: CPU per request over hyper alone and the bare loop, added up",
        f"at most {LARGEST_OVER_ALONE}x",
        "howdah-worker, php-loop and hyper in the case hello",
        worker_cpu("hello", Run.over_alone, LARGEST_OVER_ALONE),
    )


def processes() -> Iterator[Target]:
    """Returns the targets of the memory and the replacement of PHP processes."""
    yield Target(
        "Memory of one more process of a booted application (its proportional share)",
        f"at most {LARGEST_WORKER_MIB:.0f} MiB",
        "howdah-worker with several numbers of processes: --workers 4,8",
        memory_per_worker,
    )
    yield Target(
        "A worker of an application that boots in 200 ms is lost: median until the next answers",
        f"below {LARGEST_REPLACEMENT_MS:.0f} ms",
        "`faults --fault replace` and `report --faults`",
        replacements,
    )


def static_files() -> Iterator[Target]:
    """Returns the targets of files without PHP."""
    for case in ("static-small", "static", "static-large"):
        yield Target(
            f"Files ({case}), against the best nginx with sendfile: req/s",
            "1x",
            f"the case {case}: make -C bench static",
            against(CLASSIC, NGINXES, case, 1),
        )


def of_worker(case: str, words: str, over_nginx: float) -> Iterator[Target]:
    """Evaluates worker mode against nginx and FrankenPHP."""
    yield Target(
        f"{words}, worker, against nginx + php-fpm: req/s",
        f"{over_nginx:g}x",
        f"howdah-worker and nginx-fpm in the case {case}",
        against(WORKER, (NGINX,), case, over_nginx),
    )
    yield Target(
        f"{words}, worker, against FrankenPHP worker: req/s",
        "1.25x",
        f"howdah-worker and a worker of FrankenPHP in the case {case}",
        against(WORKER, FRANKENPHP_WORKERS, case, 1.25),
    )


ABOUT = (
    "What Howdah holds itself to, as ratios side by side in one run. Met means that the median "
    "reaches it at every load that it is about in every run that measured it: the worst figure "
    "decides."
)


def table(run: Run) -> Table:
    """Lists each target, and whether it was met."""
    return goal_table(run, "Targets", ABOUT, targets(), ("met", "**missed**"))


def applies(run: Run) -> bool:
    """Whether the run is about one of them."""
    return any_measured(run, targets())
