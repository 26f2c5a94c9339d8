"""`python3 -m bench faults`: latency of other requests without and with each fault."""

from __future__ import annotations

import contextlib
import http.client
import json
import resource
import shutil
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.faults import replacement, under_load
from bench.faults.injectors import IdleConnections
from bench.faults.report import faults_report
from bench.faults.scenarios import SCENARIOS, Scenario, Sizes
from bench.harness import machine, phpini
from bench.harness.choose import choose_peers, without
from bench.harness.errors import BenchError
from bench.harness.http_check import fetch
from bench.harness.load import Load, run_wrk
from bench.harness.peers import absent_peers
from bench.harness.progress import Progress
from bench.harness.server import Server, Setup, plain_site, serve

if TYPE_CHECKING:
    import argparse

    from bench.faults.replacement import Replacement
    from bench.faults.under_load import UnderLoad
    from bench.harness.peers import Peer

SITE = Path(__file__).with_name("site")
RECOVERY_SECONDS = 60.0
POLL_SECONDS = 0.02
WRK_THREADS = 1
SPARE_FILES = 500
INTERRUPTED = 130
DEFAULT_PEERS = ("howdah", "nginx-fpm", "caddy-fpm", "frankenphp")


@dataclass(frozen=True)
class FaultResult:
    """A peer under a fault; `recovery_seconds` is None if it did not recover."""

    peer: str
    scenario: str
    before: Load
    during: Load
    outcomes: dict[str, int]
    recovery_seconds: float | None
    bytes_per_connection: float | None
    forced_stops: list[str]

    def as_dict(self) -> dict[str, Any]:
        """Returns the values for JSON."""
        return asdict(self)


def allow_files(needed: int) -> None:
    """Raises the limit of open files, which the servers inherit, and disables core dumps."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise BenchError(
            f"{needed} open files are needed and {hard} allowed; try: ulimit -n {needed}, "
            f"or fewer --idle-connections and --flood-clients"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, needed), hard))
    _, core = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, core))


def recovery(server: Server) -> float | None:
    """Measures the seconds until PHP responds again."""
    begun = time.monotonic()
    while time.monotonic() - begun < RECOVERY_SECONDS:
        # A broken response counts as no response.
        with contextlib.suppress(OSError, http.client.HTTPException):
            if fetch(server.port, "/index.php").body == b"Hello, world!\n":
                return time.monotonic() - begun
        time.sleep(POLL_SECONDS)
    return None


def measure(
    peer: Peer, scenario: Scenario, sizes: Sizes, arguments: argparse.Namespace, folder: Path
) -> FaultResult:
    """Measures one peer under one fault, on a fresh server with scratch files in `folder`."""
    docroot = folder / "site"
    shutil.copytree(SITE, docroot)
    setup = Setup(arguments.workers, phpini.shared_ini(arguments.php_ini))
    keep = arguments.folder / "peers" / peer.name / scenario.name

    def load(server: Server) -> Load:
        return run_wrk(
            server.url(scenario.path),
            connections=arguments.connections,
            seconds=arguments.duration,
            threads=WRK_THREADS,
        ).load

    bytes_each = None
    site = plain_site(docroot)
    with serve(peer, setup, site=site, folder=folder / "server", keep=keep) as server:
        if fetch(server.port, "/index.php").body != b"Hello, world!\n":
            raise BenchError(f"{peer.name} does not serve the site of the faults")
        before = load(server)
        with scenario.inject(server, sizes) as injector:
            during = load(server)
        if isinstance(injector, IdleConnections):
            bytes_each = injector.bytes_each
        recovered = recovery(server)
        server.group.check_alive()
    return FaultResult(
        peer=peer.name,
        scenario=scenario.name,
        before=before,
        during=during,
        outcomes=dict(injector.outcomes),
        recovery_seconds=recovered,
        bytes_per_connection=bytes_each,
        forced_stops=server.group.forced_stops,
    )


def choose(wanted: list[str] | None) -> tuple[list[Scenario], bool]:
    """Returns scenarios by name, and whether to measure replacements; all by default."""
    known = {scenario.name: scenario for scenario in SCENARIOS}
    for name in wanted or []:
        if name not in known and name != replacement.NAME:
            names = ", ".join([*known, replacement.NAME])
            raise BenchError(f"no fault {name}; there are: {names}")
    if not wanted:
        return list(SCENARIOS), True
    return [known[name] for name in wanted if name in known], replacement.NAME in wanted


def replacing_peers(wanted: list[str] | None) -> list[Peer]:
    """Returns the named peers whose workers are replaced, or all peers with a worker mode."""
    if wanted is None:
        return replacement.candidates()
    return [peer for peer in choose_peers(wanted) if peer.contract in replacement.CONTRACTS]


def measure_replacements(
    peers: list[Peer], arguments: argparse.Namespace, temporary: Path, progress: Progress
) -> tuple[list[Replacement], list[str]]:
    """Measures each available peer in each way; returns results and errors."""
    found: list[Replacement] = []
    failures = []
    for peer in peers:
        progress.doing(f"{replacement.NAME}  {peer.name}")
        try:
            folder = temporary / f"{replacement.NAME}-{peer.name}"
            found += replacement.measure_peer(peer, arguments, folder)
            progress.step(f"{replacement.NAME}  {peer.name}")
        except (BenchError, OSError) as error:
            failures.append(f"{replacement.NAME}, {peer.name}: {error}")
            progress.step(failures[-1])
    return found, failures


def measure_under_load(
    peers: list[Peer], arguments: argparse.Namespace, temporary: Path, progress: Progress
) -> tuple[list[UnderLoad], list[str]]:
    """Measures peers that can lose a worker with each request; returns results and errors."""
    found: list[UnderLoad] = []
    failures = []
    for peer in peers:
        words = f"{replacement.NAME} under load  {peer.name}"
        progress.doing(words)
        try:
            folder = temporary / f"{replacement.NAME}-load-{peer.name}"
            found += under_load.measure_peer(peer, arguments, folder)
            progress.step(words)
        except (BenchError, OSError) as error:
            failures.append(f"{replacement.NAME} under load, {peer.name}: {error}")
            progress.step(failures[-1])
    return found, failures


def measure_faults(arguments: argparse.Namespace, folder: Path) -> int:
    """Runs the whole command; prints the table and stores it with the raw data in `folder`."""
    scenarios, replaces = choose(arguments.fault)
    names = arguments.peer or without(DEFAULT_PEERS, absent_peers())
    peers = choose_peers(names) if scenarios else []
    replacing = replacing_peers(arguments.peer) if replaces else []
    loaded = [peer for peer in replacing if under_load.takes_part(peer)]
    if not peers and not replacing:
        raise BenchError("none of these peers has a worker mode")
    sizes = Sizes(arguments.workers, arguments.idle_connections, arguments.flood_clients)
    # A front that proxies to PHP uses two descriptors per request.
    allow_files(max(sizes.idle_connections, 2 * sizes.flood_clients) + SPARE_FILES)
    folder.mkdir(parents=True)
    arguments.folder = folder
    info: dict[str, Any] = {
        "machine": machine.facts(),
        "workers": sizes.workers,
        "connections": arguments.connections,
        "duration": arguments.duration,
        "peers": {peer.name: peer.title for peer in [*peers, *replacing]},
        "scenarios": {scenario.name: scenario.title for scenario in scenarios},
        "sizes": asdict(sizes),
        "failures": [],
    }
    results: list[FaultResult] = []
    replacements: list[Replacement] = []
    under: list[UnderLoad] = []
    progress = Progress(len(scenarios) * len(peers) + len(replacing) + len(loaded))
    interrupted = False
    with tempfile.TemporaryDirectory(prefix="howdah-faults-") as temporary:
        try:
            for scenario in scenarios:
                for peer in peers:
                    progress.doing(f"{scenario.name}  {peer.name}")
                    scratch = Path(temporary) / f"{scenario.name}-{peer.name}"
                    try:
                        results.append(measure(peer, scenario, sizes, arguments, scratch))
                        progress.step(f"{scenario.name}  {peer.name}")
                    except (BenchError, OSError, http.client.HTTPException) as error:
                        message = f"{scenario.name}, {peer.name}: {error}"
                        info["failures"].append(message)
                        progress.step(message)
            replacements, failures = measure_replacements(
                replacing, arguments, Path(temporary), progress
            )
            info["failures"] += failures
            under, failures = measure_under_load(loaded, arguments, Path(temporary), progress)
            info["failures"] += failures
        except KeyboardInterrupt:
            interrupted = True
            info["failures"].append("interrupted: the rest was not measured")
    document = {
        **info,
        "results": [result.as_dict() for result in results],
        "replacements": [result.as_dict() for result in replacements],
        "under_load": [result.as_dict() for result in under],
    }
    (folder / "faults.json").write_text(json.dumps(document, indent=2) + "\n")
    text = faults_report(document)
    (folder / "report.md").write_text(text)
    print(text, end="")
    print(f"{folder}/report.md", file=sys.stderr)
    if interrupted:
        return INTERRUPTED
    return 1 if info["failures"] else 0
