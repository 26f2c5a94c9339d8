"""Charts with two axes, as inline SVG that fits a phone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.harness.charts import THOUSAND, escape, figure

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

STYLE = """
svg { width: 100%; max-width: 32rem; height: auto; display: block; }
svg text { fill: var(--text); font: 12px system-ui, sans-serif; }
svg .soft { fill: var(--soft); }
svg .first { fill: var(--first); stroke: var(--first); }
svg .other { fill: var(--other); stroke: var(--other); }
svg .line { fill: none; stroke-width: 2; }
svg .lead { stroke-width: 1; }
svg .axis { stroke: var(--line); stroke-width: 1; }
svg .number { fill: var(--back); stroke: none; font-size: 11px; font-weight: 600; }
svg .mark { stroke: none; font-weight: 700; }
svg .mark.first { fill: var(--first); }
svg .mark.other { fill: var(--text); }
.key { columns: 15rem; padding-left: 1.6rem; margin: 0.3rem 0; font-size: 0.875rem; }
.pictures { display: grid; gap: 0 2rem;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); }
.pictures figure { min-width: 0; }
"""

WIDTH, HEIGHT = 360, 274
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 26, 40
TICKS = 4
STEPS = (1, 2, 5, 10)
# With more of them, a logarithmic axis has only powers of ten.
MOST_TICKS = 10
# Width of the space for numbers at the right of lines, and their minimum distance.
MARKS, MARK_HEIGHT = 34, 14
# Dashes distinguish lines of the same colour.
DASHES = ("", "7 3", "2 3", "10 3 2 3")
# Free space on each side of the numbers of processes, as a part of the width.
MARGIN = 0.06


def round_up(value: float) -> float:
    """Returns the end of an axis: 1, 2, 2.5 or 5 times a power of ten."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 2.5, 5, 10) if step * power >= value)


@dataclass(frozen=True)
class Scale:
    """An axis from its low end to its high one, and its labels."""

    low: float
    high: float
    ticks: tuple[float, ...]
    logarithmic: bool = False

    def part(self, value: float) -> float:
        """Returns the position of a value: 0 at the low end, 1 at the high one."""
        if not self.logarithmic:
            return (value - self.low) / (self.high - self.low)
        if self.high == self.low:
            return 0.5
        return math.log(value / self.low) / math.log(self.high / self.low)


def from_zero(values: Iterable[float]) -> Scale:
    """Returns a linear scale that starts at zero."""
    high = round_up(max(values, default=0.0))
    return Scale(0.0, high, tuple(high / TICKS * tick for tick in range(TICKS + 1)))


def logarithmic(values: Iterable[float]) -> Scale:
    """Returns a logarithmic scale for values above 0; ends are 1, 2 or 5 times a power of ten."""
    known = [value for value in values if value > 0] or [1.0]
    powers = range(math.floor(math.log10(min(known))), math.ceil(math.log10(max(known))) + 1)
    steps = sorted({step * 10.0**power for power in powers for step in STEPS})
    low = max(step for step in steps if step <= min(known))
    high = min(step for step in steps if step >= max(known) and step > low)
    ticks = [step for step in steps if low <= step <= high]
    if len(ticks) > MOST_TICKS:
        ticks = [tick for tick in ticks if math.log10(tick).is_integer()]
    return Scale(low, high, tuple(ticks), logarithmic=True)


def counts(values: Iterable[int]) -> Scale:
    """Returns a scale of process counts, where each doubling has the same length."""
    found = sorted({float(value) for value in values})
    return Scale(found[0], found[-1], tuple(found), logarithmic=True)


@dataclass(frozen=True)
class Axes:
    """Position of values in a chart; `right` and `margin` are free space next to the values."""

    across: Scale
    up: Scale
    right: int = RIGHT
    margin: float = 0.0

    def x(self, value: float) -> float:
        """Returns the distance from the left."""
        part = self.margin + self.across.part(value) * (1 - 2 * self.margin)
        return LEFT + part * (WIDTH - LEFT - self.right)

    def y(self, value: float) -> float:
        """Returns the distance from the top."""
        return HEIGHT - BOTTOM - self.up.part(value) * (HEIGHT - TOP - BOTTOM)

    def drawing(self, words_across: str, words_up: str) -> list[str]:
        """Draws lines and numbers."""
        parts = []
        for value in self.up.ticks:
            y = self.y(value)
            parts.append(
                f'<line class="axis" x1="{LEFT}" x2="{WIDTH - self.right}" y1="{y:.1f}" '
                f'y2="{y:.1f}"/><text class="soft" x="{LEFT - 5}" y="{y + 4:.1f}" '
                f'text-anchor="end">{compact(value)}</text>'
            )
        for value in self.across.ticks:
            at_end = self.x(value) > WIDTH - RIGHT - 1
            parts.append(
                f'<text class="soft" x="{self.x(value):.1f}" y="{HEIGHT - BOTTOM + 16}" '
                f'text-anchor="{"end" if at_end else "middle"}">{compact(value)}</text>'
            )
        parts.append(
            f'<text class="soft" x="{WIDTH - RIGHT}" y="{HEIGHT - 6}" text-anchor="end">'
            f"{escape(words_across)}</text>"
            f'<text class="soft" x="{LEFT + 4}" y="12">{escape(words_up)}</text>'
        )
        return parts


def compact(value: float) -> str:
    """Formats a number of an axis."""
    return f"{value / 1000:g}k" if value >= 10 * THOUSAND else f"{value:g}"


def svg(parts: Sequence[str], label: str) -> list[str]:
    """Wraps the parts in the SVG element."""
    return [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(label)}">',
        *parts,
        "</svg>",
    ]


@dataclass(frozen=True)
class Point:
    """A server by its memory under load in MiB and its requests per second."""

    name: str
    ours: bool
    memory: float
    speed: float


def scatter(points: Sequence[Point], label: str) -> str:
    """Draws throughput against memory; up and left is better."""
    if not points:
        return ""
    axes = Axes(from_zero(one.memory for one in points), from_zero(one.speed for one in points))
    parts = axes.drawing("memory under load, MiB", "req/s")
    for number, one in reversed(list(enumerate(points, 1))):
        kind = "first" if one.ours else "other"
        x, y = axes.x(one.memory), axes.y(one.speed)
        parts.append(
            f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="9"/>'
            f'<text class="number" x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle">{number}</text>'
        )
    names = [f"<li>{escape(one.name)}</li>" for one in points]
    return figure(label, [*svg(parts, label), '<ol class="key">', *names, "</ol>"])


@dataclass(frozen=True)
class Series:
    """A line: pairs of a number of processes and a value."""

    name: str
    ours: bool
    points: list[tuple[int, float]]


def apart(places: Sequence[float]) -> list[float]:
    """Moves heights apart so that labels are readable, inside the chart."""
    order = sorted(range(len(places)), key=lambda at: places[at])
    found = list(places)
    # Down from the top, then back up from the bottom.
    low = float(TOP)
    for at in order:
        found[at] = max(found[at], low)
        low = found[at] + MARK_HEIGHT
    high = float(HEIGHT - BOTTOM)
    for at in reversed(order):
        found[at] = min(found[at], high)
        high = found[at] - MARK_HEIGHT
    return found


def lines(series: Sequence[Series], unit: str, label: str, up: Scale | None = None) -> str:
    """Draws a line per server over the number of PHP processes; its number is at the right end."""
    points = [point for one in series for point in one.points]
    if not points:
        return ""
    up = up or from_zero(value for _, value in points)
    axes = Axes(counts(count for count, _ in points), up, MARKS, MARGIN)
    parts = axes.drawing("PHP processes", unit)
    drawn = [(number, one) for number, one in enumerate(series, 1) if one.points]
    marks = apart([axes.y(one.points[-1][1]) for _, one in drawn])
    alike = {True: 0, False: 0}
    for (number, one), height in zip(drawn, marks, strict=True):
        kind = "first" if one.ours else "other"
        places = [(axes.x(count), axes.y(value)) for count, value in one.points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        dashes = DASHES[alike[one.ours] % len(DASHES)]
        alike[one.ours] += 1
        parts.append(
            f'<polyline class="line {kind}" stroke-dasharray="{dashes or "none"}" points="{path}"/>'
        )
        parts += [f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="4"/>' for x, y in places]
        x, y = places[-1]
        end = WIDTH - MARKS + 10
        parts.append(
            f'<line class="lead {kind}" x1="{x:.1f}" y1="{y:.1f}" x2="{end}" y2="{height:.1f}"/>'
            f'<text class="mark {kind}" x="{end + 4}" y="{height + 4:.1f}">{number}</text>'
        )
    names = [f"<li>{escape(one.name)}</li>" for one in series]
    return figure(label, [*svg(parts, label), '<ol class="key">', *names, "</ol>"])
