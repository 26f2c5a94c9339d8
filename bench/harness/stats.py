"""Medians with their spread, and ratios by round."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class Spread:
    """The median of some rounds between the smallest and the largest."""

    median: float
    low: float
    high: float
    count: int


def spread(values: Sequence[float]) -> Spread | None:
    """Returns the spread of values; None without values."""
    if not values:
        return None
    return Spread(statistics.median(values), min(values), max(values), len(values))


def paired_ratio(over: Mapping[int, float], under: Mapping[int, float]) -> Spread | None:
    """Returns the ratios of values of the same round.

    A round takes minutes and both sides ran in it, so a slow phase of a shared machine affects
    both. A division of two medians would lose that. None without a common round.
    """
    ratios = [
        over[number] / under[number] for number in sorted(over) if under.get(number, 0.0) > 0.0
    ]
    return spread(ratios)
