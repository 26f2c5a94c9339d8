"""The faults, and the requests during them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.faults.flood import Flood
from bench.faults.injectors import (
    BadRequests,
    IdleConnections,
    Injector,
    SlowClients,
    WorkerKiller,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.harness.server import Server


@dataclass(frozen=True)
class Sizes:
    """Quantities, from the command line."""

    workers: int
    idle_connections: int
    flood_clients: int


@dataclass(frozen=True)
class Scenario:
    """A fault; `path` is the request target of the observed clients during it."""

    name: str
    title: str
    inject: Callable[[Server, Sizes], Injector]
    path: str = "/index.php"


SCENARIOS = (
    Scenario(
        "kill",
        "SIGKILL to a PHP process every 100 ms",
        lambda server, _sizes: WorkerKiller(server),
    ),
    Scenario(
        "segv",
        "SIGSEGV inside PHP every 100 ms",
        lambda server, _sizes: BadRequests(server, "/segv.php"),
    ),
    Scenario(
        "oom",
        "a request that exhausts memory_limit every 100 ms",
        lambda server, _sizes: BadRequests(server, "/oom.php"),
    ),
    Scenario(
        "full-queue",
        "more clients of a slow page than the queue has places; others ask for a static file",
        lambda server, sizes: Flood(server, sizes.flood_clients),
        path="/static.txt",
    ),
    Scenario(
        "slow-clients",
        "one client sends and one reads a byte a second",
        lambda server, _sizes: SlowClients(server, 1),
    ),
    Scenario(
        "slow-clients-all",
        "as many such clients of each kind as there are PHP processes",
        lambda server, sizes: SlowClients(server, sizes.workers),
    ),
    Scenario(
        "slow-clients-large",
        "as many such clients of each kind as there are PHP processes, and answers of 20 MiB",
        lambda server, sizes: SlowClients(server, sizes.workers, "/big.php?mib=20"),
    ),
    Scenario(
        "idle",
        "idle keep-alive connections",
        lambda server, sizes: IdleConnections(server, sizes.idle_connections),
    ),
)
