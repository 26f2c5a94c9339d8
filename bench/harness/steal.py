"""CPU time that the host of a virtual machine takes, and its handling.

Steal affects single samples of seconds and makes them worthless: a server had a tenth of its
requests while the host took half of the machine. Such a sample is repeated, whatever its result, so
that the choice does not depend on the measured figure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

# A sample is repeated if the host took more than this share of all CPUs …
TOO_MUCH = 0.1
# … up to this many times, …
TRIES = 2
# … and at most for this share of a run's samples, so that a run on a bad day ends too.
PART_OF_RUN = 0.25

Timed = TypeVar("Timed")


def share(steal_seconds: float, cpus: int, seconds: float) -> float:
    """Returns the stolen share of that many CPUs within that many seconds."""
    available = cpus * seconds
    return steal_seconds / available if available > 0 else 0.0


def least_stolen(
    take: Callable[[], Timed], stolen: Callable[[Timed], float], aside: Callable[[Timed], bool]
) -> Timed:
    """Returns the sample with the least steal, of as many as it takes to find a good one.

    `aside` gets samples that do not count, and returns whether another one may be taken.
    """
    best = take()
    for _ in range(TRIES):
        if stolen(best) <= TOO_MUCH:
            break
        other = take()
        if stolen(other) < stolen(best):
            best, other = other, best
        if not aside(other):
            break
    return best
