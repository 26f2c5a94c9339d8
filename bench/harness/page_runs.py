"""The published runs from which the pages in docs take their figures, and lookups in them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from bench.harness.errors import BenchError
from bench.harness.publish import RESULTS
from bench.harness.results import load_run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.harness.results import Run

# The latest run of each kind. To publish a newer one, enter its name here, run `python3 -m bench
# pages`, and remove the one that it replaces.
ALL = "2026-11-23-all-peers-and-faults-amd-2-cores"
SHORT = "2026-11-25-short-requests-amd-2-cores"
FRAMEWORKS = "2026-11-26-workers-amd-2-cores"
FILES = "2026-11-25-files-in-one-session-amd-2-cores"
FAULTS = "2026-11-24-faults-amd-2-cores"
TLS = "2026-11-25-tls-amd-2-cores"
COMPRESSION = "2026-11-25-compression-amd-2-cores"

# Parts of the first by their titles.
CODEIGNITER, OTHER = "Frameworks: CodeIgniter", "Other cases"
COROUTINES = "Coroutines"
MEMORY = "Memory by number of workers"


@dataclass(frozen=True)
class Server:
    """A column: one server, or the best of its configurations."""

    title: str
    peers: tuple[str, ...]


NGINX = Server("nginx + php-fpm", ("nginx-fpm",))
FRANKENPHP = Server(
    "FrankenPHP worker", ("frankenphp-worker", "frankenphp-worker-tuned", "frankenphp-octane")
)
SWOOLE = Server("Swoole", ("swoole", "swoole-process", "swoole-octane"))
CLASSIC = Server("Howdah classic", ("howdah",))
WORKER = Server("Howdah worker", ("howdah-worker", "howdah-octane"))


@cache
def run_of(name: str, part: str = "") -> Run:
    """Returns a published run, or the run of that title in its report.

    Raises:
        BenchError: there is no such run.
    """
    run = load_run(RESULTS / name)
    if not part:
        return run
    for one in run.more:
        if one.info["options"]["title"] == part:
            return one
    raise BenchError(f"{name} has no part {part}")


def best(run: Run, peers: Sequence[str], case: str, connections: int) -> str | None:
    """Returns the one with the most requests per second; None if none was measured."""
    speeds = {
        peer: cell.median
        for peer in peers
        if (cell := run.cell(peer, case, connections, "rps")) is not None
    }
    return max(speeds, key=lambda peer: speeds[peer], default=None)
