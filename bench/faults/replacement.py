"""Time without a response after a server with one worker loses that worker.

The application takes 200 ms to boot. The worker is lost repeatedly in each of several ways. Each
time, the next request is sent at once. It counts until it gets a response of a different worker
that has served no request before.
"""

from __future__ import annotations

import os
import shutil
import signal
import statistics
import time
from collections import Counter
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.faults.identity import connect, parse, receive
from bench.harness import cases, phpini
from bench.harness.errors import BenchError
from bench.harness.peers import load_peers
from bench.harness.server import Server, Setup, plain_site, serve

if TYPE_CHECKING:
    import argparse
    import http.client

    from bench.faults.identity import Worker
    from bench.harness.peers import Peer

NAME = "replace"
TITLE = "A worker is lost that was the only one"
ABOUT = (
    "Time from the loss until the next request is answered, by another process (or, where workers "
    "are threads, another boot). It is sent the moment when the client has the end of the lost "
    "request, or when the signal is sent. One worker; the application holds 20 MiB, and its boot "
    "takes what stands beside."
)
SITE = Path(__file__).with_name("replace")
# Ways to lose the worker, in words.
WAYS = {
    "exit": "exit() that ends the worker",
    "fatal": "fatal error (memory limit)",
    "kill": "SIGKILL",
}
# For a server that is not measured at all.
ANY = ""
CONTRACTS = ("frankenphp", "roadrunner", "swoole")
RECOVERY_SECONDS = 10.0
# Timeout for the response to the lost request.
LOST_SECONDS = 5.0
RETRY_SECONDS = 0.0005
# Pause between a response and the next loss, so that one loss is over before the next.
PAUSE_SECONDS = 0.05
PERCENTILE = 0.95


class NotMeasuredError(Exception):
    """Reason why a server cannot be measured in this way."""


@dataclass(frozen=True)
class Replacement:
    """A server that lost its worker in one way; without times, `reason` is set."""

    peer: str
    way: str
    milliseconds: list[float]
    boot_ms: float
    failed: int
    outcomes: dict[str, int]
    reason: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Returns the values for JSON."""
        return asdict(self)


def percentile(values: list[float], share: float) -> float:
    """Returns the smallest value that at least this share of all does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -int(-share * len(ordered) // 1) - 1)]


def summary(milliseconds: list[float]) -> tuple[float, float, float]:
    """Returns the median, the 95th percentile and the maximum."""
    return (
        statistics.median(milliseconds),
        percentile(milliseconds, PERCENTILE),
        max(milliseconds),
    )


class Loss:
    """Loses the worker of a server repeatedly in one way."""

    def __init__(self, server: Server, way: str) -> None:
        self.server = server
        self.way = way
        self.failed = 0
        self.outcomes: Counter[str] = Counter()

    def ready(self) -> http.client.HTTPConnection:
        """Opens a connection that will request the worker's identity."""
        return connect(self.server.port, "/", RECOVERY_SECONDS)

    def answered(
        self, connection: http.client.HTTPConnection | None = None
    ) -> tuple[Worker, float]:
        """Returns the worker that responds after any number of attempts, and the response time.

        The first attempt uses `connection`.
        """
        deadline = time.monotonic() + RECOVERY_SECONDS
        while True:
            try:
                answer = receive(connection or self.ready())
            except OSError:
                answer = b""
            moment = time.perf_counter()
            worker = parse(answer).worker
            if worker is not None:
                return worker, moment
            self.failed += 1
            try:
                self.server.group.check_alive()
            except BenchError:
                raise NotMeasuredError("it ends the whole server") from None
            if time.monotonic() > deadline:
                seconds = f"{RECOVERY_SECONDS:.0f} s"
                raise NotMeasuredError(f"it did not answer again within {seconds}")
            connection = None
            time.sleep(RETRY_SECONDS)

    def lose(self, worker: Worker) -> tuple[float, str | bytes]:
        """Returns the time of the loss, and the response to the lost request or a word for it."""
        if self.way == "kill":
            if worker.pid in self.server.group.main_pids():
                raise NotMeasuredError("the server's own process runs the requests")
            begun = time.perf_counter()
            try:
                os.kill(worker.pid, signal.SIGKILL)
            except ProcessLookupError:
                raise NotMeasuredError("its worker ends by itself after each request") from None
            return begun, "killed"
        lost: str | bytes
        try:
            lost = receive(connect(self.server.port, f"/?do={self.way}", LOST_SECONDS))
        except TimeoutError:
            raise NotMeasuredError(
                f"the client of the request heard nothing within {LOST_SECONDS:.0f} s"
            ) from None
        except OSError as error:
            lost = type(error).__name__
        return time.perf_counter(), lost

    def once(self) -> tuple[float, Worker]:
        """Returns the seconds from one loss to the next response, and its worker."""
        before, _ = self.answered()
        time.sleep(PAUSE_SECONDS)
        failed = self.failed
        with closing(self.ready()) as connection:
            begun, lost = self.lose(before)
            worker, ended = self.answered(connection)
        self.outcomes[lost if isinstance(lost, str) else parse(lost).status] += 1
        if not worker.is_other(before):
            raise NotMeasuredError("its worker goes on")
        if worker.served != 1:
            raise BenchError(
                f"{self.server.peer.name} had another worker beside the one that was lost"
            )
        if self.failed > failed:
            self.outcomes["next request failed at first"] += 1
        return ended - begun, worker


def measure_way(server: Server, way: str, losses: int) -> Replacement:
    """Measures one server in one way."""
    loss = Loss(server, way)
    found: list[float] = []
    boots: list[float] = []
    reason = ""
    try:
        # The first one finds empty caches that are filled later.
        loss.once()
        loss.failed = 0
        loss.outcomes.clear()
        for _ in range(losses):
            seconds, worker = loss.once()
            found.append(seconds * 1000)
            boots.append(worker.boot_ms)
    except NotMeasuredError as error:
        found, boots, reason = [], [], str(error)
    return Replacement(
        peer=server.peer.name,
        way=way,
        milliseconds=found,
        boot_ms=statistics.median(boots) if boots else 0.0,
        failed=loss.failed,
        outcomes=dict(loss.outcomes),
        reason=reason,
    )


def candidates() -> list[Peer]:
    """Returns peers with a worker mode whose workers outlive a request, ours first."""
    found = [
        peer
        for peer in load_peers().values()
        if peer.contract in CONTRACTS
        and peer.share != "no"
        and peer.variables.get("isolation") != "request"
    ]
    return sorted(found, key=lambda peer: not peer.ours)


def install(site: Path) -> dict[str, str]:
    """Copies the application to `site`; returns values for configuration files of peers."""
    shutil.copytree(SITE, site)
    shutil.copytree(cases.CONTRACTS, site / "contracts")
    (site / "public").mkdir()
    return {
        **plain_site(site / "public"),
        "worker_script": str(site / "contracts/frankenphp.php"),
        "contracts": str(site / "contracts"),
    }


def measure_peer(peer: Peer, arguments: argparse.Namespace, folder: Path) -> list[Replacement]:
    """Measures one server in all ways, each on a fresh start; reports a missing one once."""
    found = []
    if peer.missing():
        reason = "it is not installed; `python3 -m bench list` says what it needs"
        return [Replacement(peer.name, ANY, [], 0.0, 0, {}, reason)]
    for way in WAYS:
        values = install(folder / way / "site")
        # FrankenPHP's exit() behavior, for servers that also have a different one.
        alike = replace(peer, variables={**peer.variables, "exit": "restart"})
        setup = Setup(1, phpini.shared_ini(arguments.php_ini))
        keep = arguments.folder / "peers" / peer.name / f"{NAME}-{way}"
        with serve(alike, setup, site=values, folder=folder / way / "server", keep=keep) as server:
            found.append(measure_way(server, way, arguments.losses))
    return found
