"""The part of the processors that the host of a virtual machine takes, and what is done about it.

Steal falls on single samples of seconds and makes them worthless: the same server gave a tenth of
its requests while the host took half of the machine. Such a sample is taken again, whatever it
showed, so that the choice does not depend on the figure that is measured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

# A sample of which the host took more than this part of all processors is taken again …
TOO_MUCH = 0.1
# … so often, …
TRIES = 2
# … and this part of a run's samples at most, so that a run on a bad day ends too.
PART_OF_RUN = 0.25

Timed = TypeVar("Timed")


def share(steal_seconds: float, cpus: int, seconds: float) -> float:
    """The stolen part of so many processors within so many seconds."""
    available = cpus * seconds
    return steal_seconds / available if available > 0 else 0.0


def least_stolen(
    take: Callable[[], Timed], stolen: Callable[[Timed], float], aside: Callable[[Timed], bool]
) -> Timed:
    """The sample from which the host took least, of as many as it takes to find a good one.

    `aside` is given what does not count, and says whether another one may be taken.
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
