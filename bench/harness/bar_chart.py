"""Grouped bars as a separate SVG file for the pages in docs, in light and dark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.harness.charts import escape

if TYPE_CHECKING:
    from collections.abc import Sequence

# Cool colours of other servers, and warm colours of Howdah, in the order of the key.
LIGHT = {"o": ("#8a949c", "#5b7c99", "#9a8fb5"), "h": ("#e0a37d", "#a4481b")}
DARK = {"o": ("#79838b", "#7fa3c2", "#a99ccb"), "h": ("#b8764d", "#f08a4b")}

WIDTH, LEFT, RIGHT = 720, 190, 70
BAR, GAP, GROUP_GAP = 13, 2, 12
TITLE, KEY, MARGIN = 30, 26, 14
# Approximate width of a letter in the key.
LETTER = 7.2


@dataclass(frozen=True)
class Group:
    """Bars that are compared with each other; None if a server was not measured."""

    name: str
    values: tuple[float | None, ...]


@dataclass(frozen=True)
class Chart:
    """A heading, the names of the servers, and a group of bars for each case."""

    heading: str
    key: tuple[str, ...]
    groups: tuple[Group, ...]
    ratios: bool = False

    def text(self, value: float) -> str:
        """Formats the text next to a bar."""
        return f"{value:.1f}x" if self.ratios else f"{value:,.0f}"


def colour_classes(key: Sequence[str]) -> list[str]:
    """Returns the class of each server's bars."""
    seen = {"o": 0, "h": 0}
    found = []
    for name in key:
        kind = "h" if name.startswith("Howdah") else "o"
        found.append(f"{kind}{seen[kind]}")
        seen[kind] += 1
    return found


def style() -> str:
    """Returns the colours for both schemes."""

    def rules(colours: dict[str, tuple[str, ...]], text: str, soft: str, back: str) -> str:
        fills = "".join(
            f".{kind}{at}{{fill:{colour}}}"
            for kind, found in colours.items()
            for at, colour in enumerate(found)
        )
        return f".back{{fill:{back}}}text{{fill:{text}}}.soft{{fill:{soft}}}{fills}"

    light = rules(LIGHT, "#1d1d1b", "#5d5b57", "#fdfcfa")
    dark = rules(DARK, "#e9e7e2", "#a09d96", "#161719")
    return (
        f"<style>text{{font:13px system-ui,sans-serif}}.head{{font-weight:600;font-size:15px}}"
        f"{light}@media(prefers-color-scheme:dark){{{dark}}}</style>"
    )


def key_line(key: Sequence[str], y: float) -> list[str]:
    """Returns the servers with their colours."""
    parts, x = [], float(MARGIN)
    for kind, name in zip(colour_classes(key), key, strict=True):
        parts.append(f'<rect class="{kind}" x="{x:.0f}" y="{y - 10:.0f}" width="11" height="11"/>')
        parts.append(f'<text x="{x + 16:.0f}" y="{y:.0f}">{escape(name)}</text>')
        x += 16 + len(name) * LETTER + 16
    return parts


def svg(chart: Chart) -> str:
    """Returns the file."""
    largest = max(value for group in chart.groups for value in group.values if value is not None)
    parts = [f'<text class="head" x="{MARGIN}" y="24">{escape(chart.heading)}</text>']
    parts += key_line(chart.key, TITLE + 18)
    y = float(TITLE + KEY + GROUP_GAP)
    for group in chart.groups:
        measured = [
            (kind, value)
            for kind, value in zip(colour_classes(chart.key), group.values, strict=True)
            if value is not None
        ]
        height = len(measured) * (BAR + GAP)
        middle = y + height / 2 + 3
        parts.append(
            f'<text x="{LEFT - 12}" y="{middle:.0f}" text-anchor="end">{escape(group.name)}</text>'
        )
        for kind, value in measured:
            length = value / largest * (WIDTH - LEFT - RIGHT)
            parts.append(
                f'<rect class="{kind}" x="{LEFT}" y="{y:.0f}" width="{max(length, 1):.1f}" '
                f'height="{BAR}" rx="2"/><text class="soft" x="{LEFT + length + 6:.1f}" '
                f'y="{y + BAR - 2:.0f}">{chart.text(value)}</text>'
            )
            y += BAR + GAP
        y += GROUP_GAP
    label = f"{chart.heading}: " + "; ".join(
        f"{group.name} "
        + ", ".join(
            f"{name} {chart.text(value)}"
            for name, value in zip(chart.key, group.values, strict=True)
            if value is not None
        )
        for group in chart.groups
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y:.0f}" width="{WIDTH}" '
        f'height="{y:.0f}" role="img" aria-label="{escape(label)}">{style()}'
        f'<rect class="back" width="{WIDTH}" height="{y:.0f}" rx="6"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )
