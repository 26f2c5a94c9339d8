"""The reference: the same handler in a loop of PHP, with no server around it."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bench.harness.errors import BenchError
from bench.harness.server import command_line, environment, variables
from bench.harness.template import fill

if TYPE_CHECKING:
    from pathlib import Path

    from bench.harness.cases import Site
    from bench.harness.plan import Turn
    from bench.harness.server import Setup

# On a busy machine the loop takes up to four times as long.
TIMES = 4
GRACE_SECONDS = 30


@dataclass(frozen=True)
class Reference:
    """Calls of a handler in one process, and the CPU time of that process for them."""

    peer: str
    case: str
    round: int
    calls: int
    cpu_seconds: float
    seconds: float

    @property
    def cpu_us_per_call(self) -> float:
        """User and system time of one call."""
        return self.cpu_seconds * 1e6 / self.calls


def parse_result(output: str, site: Site) -> dict[str, Any]:
    """The last line of contracts/loop.php, once the answers in it are right.

    Raises:
        BenchError: there is none, or an answer was wrong.
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
    """Runs the loop for so many seconds, a fifth of them as warm-up.

    Raises:
        BenchError: it failed, or an answer was wrong.
    """
    folder.mkdir(parents=True)
    peer = turn.peer
    values = {**variables(peer, setup, folder, site.values(), 0), "seconds": str(seconds)}
    argv = command_line(peer.commands[0], values, setup.php_ini)
    done = subprocess.run(
        argv,
        cwd=folder,
        env={
            **environment(peer, setup, folder, values),
            **{name: fill(text, values, name) for name, text in peer.commands[0].env.items()},
        },
        capture_output=True,
        text=True,
        timeout=TIMES * seconds + GRACE_SECONDS,
        check=False,
    )
    if done.returncode != 0:
        raise BenchError(f"php-loop ended with {done.returncode}: {done.stdout}{done.stderr}")
    found = parse_result(done.stdout, site)
    return Reference(
        peer=peer.name,
        case=site.case.name,
        round=turn.number + 1,
        calls=found["calls"],
        cpu_seconds=found["cpu_seconds"],
        seconds=found["seconds"],
    )
