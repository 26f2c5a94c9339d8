"""`python3 -m bench profiler`: throughput and CPU with a profile, relative to those without."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from bench.harness import machine, phpini
from bench.harness.cases import load_cases
from bench.harness.choose import absent_cases, without
from bench.harness.errors import BenchError
from bench.harness.http_check import HOST, verify
from bench.harness.load import run_wrk
from bench.harness.peers import load_peers
from bench.harness.results import PROFILE
from bench.harness.server import Setup, free_port, plain_site, serve
from bench.harness.services import Services
from bench.harness.stats import paired_ratio

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from bench.harness.server import Server
    from bench.harness.stats import Spread

PEER = "howdah-worker"
PROGRAM = "target/release/howdah"
READABLE = 0o755
# Samples per second, 0 for no profile; and the lowest throughput relative to no profile.
RATES = {0: 1.0, 100: 0.99, 1000: 0.97}
SEEN_LEAST = 95.0
WARM_UP_SECONDS = 2
SEEN = re.compile(r"\(([0-9.]+) % seen\)")
# Names of the options in the table.
CONDITIONS = ("workers", "connections", "rounds", "duration")
DEEP_CASE = "deep"
DEEP_TITLE = "A stack of 200 frames"
DEPTH = 200
DEEP = """<?php
function deep(int $depth): int
{
    return $depth > 0 ? 1 + deep($depth - 1) : array_sum(range(1, 2000));
}

while (frankenphp_handle_request(static function (): void {
    echo deep(%d);
}));
"""


@dataclass(frozen=True)
class Sample:
    """A load: requests per second, µs of CPU per request, and the samples seen in percent."""

    rps: float
    cpu: float
    seen: float | None


@dataclass(frozen=True)
class Target:
    """A started server, its admin address and the request target."""

    server: Server
    admin: str
    path: str

    def measure(self, hz: int, *, connections: int, seconds: int) -> Sample:
        """Runs a load, with a profile around it unless `hz` is 0.

        Raises:
            BenchError: requests failed, or there was no profile.
        """
        taken: list[subprocess.CompletedProcess[str]] = []
        profile = threading.Thread(target=lambda: taken.append(self.profile(hz, seconds)))
        if hz:
            profile.start()
        before = self.server.group.cpu_seconds()
        url = self.server.url(self.path)
        load = run_wrk(url, connections=connections, seconds=seconds, threads=2).load
        used = self.server.group.cpu_seconds() - before
        seen = None
        if hz:
            profile.join()
            seen = seen_of(taken)
        if load.failed:
            raise BenchError(f"{load.failed} requests of {url} failed")
        return Sample(load.requests_per_second, used * 1e6 / load.requests, seen)

    def profile(self, hz: int, seconds: int) -> subprocess.CompletedProcess[str]:
        """Takes a profile that starts before the load and ends after it."""
        command = [PROGRAM, "profile", "--address", self.admin, "--hz", str(hz)]
        command += ["--seconds", str(seconds + 1), "--format", "pprof", "-o", "-"]
        return subprocess.run(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False
        )


def seen_of(taken: list[subprocess.CompletedProcess[str]]) -> float:
    """Parses the command's report about its samples.

    Raises:
        BenchError: it failed.
    """
    for done in taken:
        found = SEEN.search(done.stderr)
        if done.returncode == 0 and found:
            return float(found.group(1))
    raise BenchError(f"no profile: {''.join(done.stderr for done in taken).strip()}")


@contextmanager
def started(site: Mapping[str, str], path: str, setup: Setup, folder: Path) -> Iterator[Target]:
    """Starts a server with an admin API."""
    admin = f"{HOST}:{free_port()}"
    peer = load_peers()[PEER]
    peer = replace(peer, variables={**peer.variables, "admin": admin})
    with serve(peer, setup, site=site, folder=folder) as server:
        yield Target(server, admin, path)


@contextmanager
def deep_target(setup: Setup, folder: Path) -> Iterator[Target]:
    """Returns a worker whose requests have a stack of 200 frames."""
    root = folder / "root"
    root.mkdir(parents=True)
    (root / "index.php").write_text(DEEP % DEPTH)
    with started(plain_site(root), "/", setup, folder / "server") as target:
        yield target


@contextmanager
def case_target(name: str, setup: Setup, folder: Path) -> Iterator[Target]:
    """Returns a case of the other benchmarks.

    Raises:
        BenchError: the case does not exist, or a requirement is missing.
    """
    case = load_cases().get(name)
    if case is None:
        raise BenchError(f"unknown case {name}; `list` shows all cases")
    if (missing := case.missing()) is not None:
        raise BenchError(f"{name}: {missing}")
    services = Services(folder / "services")
    try:
        site = case.install(folder / "site", services)
        with started(site.values(), case.path, setup, folder / "server") as target:
            verify(target.server.port, case, site.body())
            yield target
    finally:
        services.stop()


def show(spread: Spread | None) -> str:
    """Formats a ratio with the minimum and maximum of its rounds."""
    if spread is None:
        return "-"
    return f"{spread.median:.3f} ({spread.low:.3f} to {spread.high:.3f})"


@dataclass(frozen=True)
class Cost:
    """Cost of a profile of a case at a rate: multiples of the figures without it."""

    title: str
    hz: int
    wanted: float
    rps: Spread | None
    cpu: Spread | None
    seen: float

    @property
    def good(self) -> bool:
        """Whether it reaches the target."""
        enough = self.rps is not None and self.rps.median >= self.wanted
        return enough and self.seen >= SEEN_LEAST

    def line(self) -> str:
        """Formats it for the terminal."""
        return (
            f"{self.title}, {self.hz} Hz: req/s {show(self.rps)}, wanted {self.wanted}; "
            f"CPU/req {show(self.cpu)}; at least {self.seen:.1f} % of the samples due, "
            f"wanted {SEEN_LEAST:.0f} %{'' if self.good else '  <- missed'}"
        )


def measure(target: Target, title: str, arguments: argparse.Namespace) -> list[Cost]:
    """Measures one target at each rate, and prints its lines."""
    rates = list(RATES)
    samples: dict[int, dict[int, Sample]] = {hz: {} for hz in rates}
    for number in range(arguments.rounds):
        # The order rotates in each round, so that a machine that slows down favours none.
        for hz in rates[number % len(rates) :] + rates[: number % len(rates)]:
            samples[hz][number] = target.measure(
                hz, connections=arguments.connections, seconds=arguments.duration
            )
    costs = []
    for hz, wanted in RATES.items():
        if hz == 0:
            continue
        speed, cpu = (
            paired_ratio(
                *({n: getattr(s, figure) for n, s in samples[at].items()} for at in (hz, 0))
            )
            for figure in ("rps", "cpu")
        )
        seen = min(sample.seen or 0.0 for sample in samples[hz].values())
        costs.append(Cost(title, hz, wanted, speed, cpu, seen))
        print(costs[-1].line(), flush=True)
    return costs


def measure_case(name: str, arguments: argparse.Namespace) -> list[Cost]:
    """Starts a server for a case and measures it.

    Raises:
        BenchError: the case is unknown or lacks a requirement, or requests failed.
    """
    with tempfile.TemporaryDirectory(prefix="howdah-profiler-") as temporary:
        folder = Path(temporary)
        folder.chmod(READABLE)
        setup = Setup(arguments.workers, phpini.shared_ini(arguments.php_ini))
        target = (
            deep_target(setup, folder) if name == DEEP_CASE else case_target(name, setup, folder)
        )
        title = DEEP_TITLE if name == DEEP_CASE else load_cases()[name].title
        with target as server:
            server.measure(0, connections=arguments.connections, seconds=WARM_UP_SECONDS)
            return measure(server, title, arguments)


def profiler(arguments: argparse.Namespace) -> int:
    """Measures each case; returns the exit status.

    With a folder for the table, which shows missed targets, only a failed measurement is a failure.
    """
    costs: list[Cost] = []
    failures: list[str] = []
    absent = absent_cases(arguments.case) if arguments.skip_missing else {}
    for name in without(arguments.case, absent):
        try:
            costs += measure_case(name, arguments)
        except BenchError as error:
            if arguments.out is None:
                raise
            failures.append(f"{name}: {error}")
            print(f"error: {failures[-1]}", file=sys.stderr)
    if arguments.out is None:
        return 0 if all(cost.good for cost in costs) else 1
    document = {
        "machine": machine.facts(),
        **{name: getattr(arguments, name) for name in CONDITIONS},
        "seen_least": SEEN_LEAST,
        "results": [{**asdict(cost), "good": cost.good} for cost in costs],
        "failures": failures,
        "absent": [f"{case['title']}: {case['reason']}" for case in absent.values()],
    }
    arguments.out.mkdir(parents=True)
    (arguments.out / PROFILE).write_text(json.dumps(document, indent=2) + "\n")
    return 1 if failures else 0
