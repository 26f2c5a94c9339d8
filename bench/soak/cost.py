"""`python3 -m bench soak --cost`: cost of a request that does nothing, and of one that waits."""

from __future__ import annotations

import http.client
import os
import statistics
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bench.harness import phpini
from bench.harness.errors import BenchError
from bench.harness.http_check import HOST
from bench.harness.load import run_wrk
from bench.harness.peers import REPOSITORY, load_peers
from bench.harness.server import Setup, plain_site, serve

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.harness.server import Server
    from bench.harness.services import Services

ROUNDS = 7
ROUND_SECONDS = 2
CONNECTIONS = 8
# Limits for the difference of the two, and for the memory of a request that waits.
CPU_TIMES = 1.5
MEMORY_KB = 60
SCRIPT = REPOSITORY / "tests" / "worker" / "coroutine" / "cost.php"


@dataclass(frozen=True)
class Worker:
    """A server with one worker of the script."""

    server: Server

    def count(self) -> tuple[int, int]:
        """Returns its process, and the number of its requests."""
        connection = http.client.HTTPConnection(HOST, self.server.port, timeout=60)
        connection.request("GET", "/?count")
        pid, count = connection.getresponse().read().split()
        connection.close()
        return int(pid), int(count)

    def microseconds(self) -> float:
        """Returns CPU time of the worker's process per request of a round."""
        pid, before = self.count()
        used = cpu_ns(pid)
        run_wrk(self.server.url("/"), connections=CONNECTIONS, seconds=ROUND_SECONDS, threads=1)
        again, after = self.count()
        if again != pid:
            raise BenchError(f"the process of {self.server.peer.name} was replaced")
        return (cpu_ns(pid) - used) / (after - before) / 1000


@contextmanager
def worker(name: str, folder: Path) -> Iterator[Worker]:
    """Returns one process of a peer of ours."""
    site = {**plain_site(SCRIPT.parent), "worker_script": str(SCRIPT)}
    setup = Setup(1, phpini.shared_ini([]))
    with serve(load_peers()[name], setup, site=site, folder=folder / name) as server:
        yield Worker(server)


def cpu_ns(pid: int) -> int:
    """Returns CPU time of a process, of all its threads."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks)


def compare_cpu(folder: Path) -> None:
    """Prints CPU time for each empty request with and without coroutines."""
    with worker("howdah-worker", folder) as alone, worker("howdah-coroutines", folder) as many:
        pairs = [(alone.microseconds(), many.microseconds()) for _ in range(ROUNDS)]
    first, second = (statistics.median(column) for column in zip(*pairs, strict=True))
    times = statistics.median(with_it / without for without, with_it in pairs)
    print(
        f"an empty request: {first:.1f} µs of CPU in worker mode, {second:.1f} µs with coroutines, "
        f"{times:.2f} times (wanted: at most {CPU_TIMES}); {ROUNDS} rounds of {ROUND_SECONDS} s "
        f"at {CONNECTIONS} connections, medians",
        flush=True,
    )


def measure_memory(services: Services, folder: Path) -> int:
    """Lets the test print memory for each request that waits; returns its exit status."""
    pdo = services.provide(["postgresql"], folder)["pdo"]
    database = pdo[0].removeprefix("pgsql:")
    command = ["cargo", "test", "--locked", "-q", "-p", "howdah-tests", "--test", "coroutine"]
    print(f"a request that waits in a transaction (wanted: at most {MEMORY_KB} KB):", flush=True)
    env = {**os.environ, "HOWDAH_TEST_PGSQL": database}
    return subprocess.run(
        [*command, "cost::", "--", "--nocapture"], cwd=REPOSITORY, env=env, check=False
    ).returncode


def cost(services: Services, folder: Path) -> int:
    """Measures both; returns the exit status."""
    compare_cpu(folder)
    return measure_memory(services, folder)
