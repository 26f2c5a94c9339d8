"""The reference: the same handler in loops of PHP, without a server around them.

There are as many concurrent loops as servers have PHP processes, because the effect of concurrent
processes on each other's caches is not a cost of a server.
"""

from __future__ import annotations

import json
import subprocess
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bench.harness.cores import on
from bench.harness.errors import BenchError
from bench.harness.proc import machine_time
from bench.harness.server import command_line, environment, variables
from bench.harness.steal import share
from bench.harness.template import fill

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bench.harness.cases import Site
    from bench.harness.plan import Turn
    from bench.harness.server import Setup

# On a busy machine a loop takes up to four times as long, and longer if all share a CPU.
TIMES = 4
GRACE_SECONDS = 30


@dataclass(frozen=True)
class Reference:
    """Calls of a handler in concurrent processes, and the sum of their CPU time."""

    peer: str
    case: str
    round: int
    calls: int
    cpu_seconds: float
    seconds: float
    processes: int = 1
    steal_seconds: float = 0.0

    @property
    def cpu_us_per_call(self) -> float:
        """Returns user and system time of one call."""
        return self.cpu_seconds * 1e6 / self.calls

    def stolen(self, cpus: int) -> float:
        """Returns the share of all CPUs that the host used."""
        return share(self.steal_seconds, cpus, self.seconds)


def parse_result(output: str, site: Site) -> dict[str, Any]:
    """Parses the last line of contracts/loop.php and checks its responses.

    Raises:
        BenchError: the line is missing, or a response was wrong.
    """
    lines = output.strip().splitlines()
    try:
        found: dict[str, Any] = json.loads(lines[-1])
        digests = {found["first_sha256"], found["last_sha256"]}
        if not found["opcache"]:
            raise BenchError("php-loop: OPcache is off")
        if found["calls"] < 1 or found["cpu_seconds"] <= 0:
            raise BenchError("php-loop: no call ended within the time; try a longer --duration")
    except (IndexError, KeyError, TypeError, json.JSONDecodeError) as error:
        raise BenchError(f"php-loop printed no figures: {output[-500:]}") from error
    if digests != {site.case.check.body_sha256}:
        raise BenchError(f"php-loop: the handler of {site.case.name} gave another body")
    return found


def run_loop(turn: Turn, setup: Setup, site: Site, folder: Path, seconds: int) -> Reference:
    """Runs a loop per PHP process of servers for `seconds` seconds, with a fifth as warm-up.

    Raises:
        BenchError: one failed, or a response was wrong.
    """
    folder.mkdir(parents=True)
    peer = turn.peer
    values = {**variables(peer, setup, folder, site.values(), 0), "seconds": str(seconds)}
    argv = command_line(peer.commands[0], values, setup.php_ini)
    env = {
        **environment(peer, setup, folder, values),
        **{name: fill(text, values, name) for name, text in peer.commands[0].env.items()},
    }
    before = machine_time()
    with ExitStack() as stack:
        with on(setup.cpus):
            loops = [stack.enter_context(loop(argv, folder, env)) for _ in range(setup.workers)]
        deadline = time.monotonic() + TIMES * setup.workers * seconds + GRACE_SECONDS
        found = [parse_result(output_of(one, deadline), site) for one in loops]
    return Reference(
        peer=peer.name,
        case=site.case.name,
        round=turn.number + 1,
        calls=sum(one["calls"] for one in found),
        cpu_seconds=sum(one["cpu_seconds"] for one in found),
        seconds=max(one["seconds"] for one in found),
        processes=len(found),
        steal_seconds=machine_time().steal - before.steal,
    )


@contextmanager
def loop(argv: list[str], folder: Path, env: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """Runs one of the processes, which has exited after the block."""
    with subprocess.Popen(
        argv,
        cwd=folder,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def output_of(process: subprocess.Popen[str], deadline: float) -> str:
    """Returns its output up to its end.

    Raises:
        BenchError: it failed, or did not finish in time.
    """
    try:
        output, _ = process.communicate(timeout=max(deadline - time.monotonic(), 0))
    except subprocess.TimeoutExpired as error:
        raise BenchError(f"php-loop was not done after {error.timeout:.0f} s") from error
    if process.returncode != 0:
        raise BenchError(f"php-loop ended with {process.returncode}: {output}")
    return output
