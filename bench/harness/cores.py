"""Separates the CPUs of the load generators from those of the servers.

With few CPUs nothing is pinned, because a server with one of two CPUs is not comparable. Affinities
are set for the calling thread around a start, and started processes inherit them.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from bench.harness.errors import BenchError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

# With at least this many CPUs they are split, and one in this many belongs to the load generators.
ENOUGH = 4
PART = 4
TOPOLOGY = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"


def first_sibling(cpu: int) -> int:
    """Returns the lowest CPU of the same core; the CPU itself if that is unknown."""
    try:
        text = Path(TOPOLOGY.format(cpu)).read_text()
    except OSError:
        return cpu
    # The list has the form 0-1 or 0,4, in order.
    return int(text.replace("-", ",").split(",")[0])


@dataclass(frozen=True)
class Split:
    """CPUs of the load generators, and those of servers, databases and loops."""

    load: tuple[int, ...]
    servers: tuple[int, ...]

    def facts(self) -> dict[str, list[int]]:
        """Returns the values to record."""
        return {name: list(cpus) for name, cpus in asdict(self).items()}

    @classmethod
    def recorded(cls, facts: dict[str, Any] | None) -> Self | None:
        """Restores the split from `facts`; None if nothing is pinned.

        Raises:
            BenchError: this process may not use all of these CPUs.
        """
        if facts is None:
            return None
        split = cls(tuple(facts["load"]), tuple(facts["servers"]))
        lost = {*split.load, *split.servers} - os.sched_getaffinity(0)
        if lost:
            raise BenchError(
                f"the run was begun on more CPUs than this process may use: {ranges(lost)} are "
                f"missing; give it these CPUs, or begin a new run"
            )
        return split


def split(cpus: Collection[int], core: Callable[[int], int] = first_sibling) -> Split | None:
    """Divides these CPUs, None with too few; `core` returns the core of a CPU.

    Threads of one core stay on one side if possible, because they slow each other down.
    """
    if len(cpus) < ENOUGH:
        return None
    ordered = sorted(cpus, key=lambda cpu: (core(cpu), cpu))
    count = max(len(ordered) // PART, 1)
    return Split(tuple(sorted(ordered[-count:])), tuple(sorted(ordered[:-count])))


@contextmanager
def on(cpus: Collection[int] | None) -> Iterator[None]:
    """Restricts processes started in the block to these CPUs; None changes nothing."""
    if cpus is None:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def ranges(cpus: Collection[int]) -> str:
    """Formats CPUs as text, such as 0-2, 5."""
    parts: list[list[int]] = []
    for cpu in sorted(cpus):
        if parts and parts[-1][-1] == cpu - 1:
            parts[-1].append(cpu)
        else:
            parts.append([cpu])
    return ", ".join(f"{part[0]}-{part[-1]}" if len(part) > 1 else str(part[0]) for part in parts)
