"""Charts of a report with one axis, readable on a phone, in light and dark.

They are HTML, so that text keeps its size on a narrow page. Charts with two axes are in plots.py.
"""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.harness import figures

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.harness.stats import Spread

STYLE = """
figure { margin: 0.4rem 0 1rem; }
figcaption { color: var(--soft); font-size: 0.875rem; }
.row { display: grid; grid-template-columns: 17rem 1fr 8rem; gap: 0.1rem 0.7rem;
  align-items: center; padding: 0.15rem 0; font-size: 0.875rem; }
.row .value { font-variant-numeric: tabular-nums; }
.track { position: relative; height: 1.1rem; border-radius: 2px; background: var(--track); }
.fill { position: absolute; inset: 0 auto 0 0; border-radius: 2px; background: var(--other); }
.ours .fill, .ours .reach, .ours .dot { background: var(--first); }
.spread { position: absolute; top: calc(50% - 1px); height: 2px; background: var(--spread); }
.spread::before, .spread::after { content: ""; position: absolute; top: -3px; width: 2px;
  height: 8px; background: var(--spread); }
.spread::before { left: 0; } .spread::after { right: 0; }
.grid { position: absolute; top: 0; bottom: 0; width: 1px; background: var(--line); }
.reach { position: absolute; top: calc(50% - 3px); height: 6px; border-radius: 3px;
  background: var(--other); }
.dot { position: absolute; top: calc(50% - 6px); width: 12px; height: 12px; margin-left: -6px;
  border-radius: 50%; background: var(--other); border: 2px solid var(--back);
  box-sizing: border-box; }
.max { position: absolute; top: 15%; height: 70%; width: 2px; background: var(--soft); }
.axis .track { background: none; height: 1.3rem; }
.axis span { position: absolute; transform: translateX(-50%); color: var(--soft);
  white-space: nowrap; font-size: 0.8rem; }
.axis span:first-child { transform: none; }
.axis span:last-child { transform: translateX(-100%); }
@media (max-width: 40rem) {
  .row { grid-template-columns: 1fr auto; }
  .row .track { grid-column: 1 / -1; grid-row: 2; }
}
"""

THOUSAND = 1000


def escape(text: str) -> str:
    """Escapes text for HTML."""
    return html.escape(text)


def figure(label: str, inner: Sequence[str]) -> str:
    """Returns a chart with its caption."""
    return "\n".join(["<figure>", f"<figcaption>{escape(label)}</figcaption>", *inner, "</figure>"])


def short(value: float) -> str:
    """Formats a number of a chart."""
    return f"{value:,.0f}" if value >= figures.KEEP_DECIMALS_BELOW else f"{value:.2f}"


@dataclass(frozen=True)
class Bar:
    """Value of a server; ours have a separate colour."""

    name: str
    ours: bool
    value: Spread | None


def bars(values: Sequence[Bar], unit: str, label: str) -> str:
    """Returns a bar for each server, with a line for the spread."""
    top = max((one.value.high for one in values if one.value is not None), default=0.0)
    rows = []
    for one in values:
        name, value = one.name, one.value
        if value is None or top <= 0:
            rows.append(
                f'<div class="row"><div>{escape(name)}</div><div class="track"></div>'
                '<div class="value">no valid figure</div></div>'
            )
            continue
        length, low = value.median / top * 100, value.low / top * 100
        across = value.high / top * 100 - low
        rows.append(
            f'<div class="row{" ours" if one.ours else ""}"><div>{escape(name)}</div>'
            f'<div class="track"><div class="fill" style="width:{length:.2f}%"></div>'
            f'<div class="spread" style="left:{low:.2f}%;width:{across:.2f}%"></div></div>'
            f'<div class="value">{short(value.median)} {escape(unit)}</div></div>'
        )
    return figure(label, rows)


@dataclass(frozen=True)
class Latency:
    """Medians of a peer's latencies in microseconds."""

    name: str
    ours: bool
    p50: float
    p99: float
    largest: float


def latencies(values: Sequence[Latency], label: str) -> str:
    """Draws latencies on a logarithmic scale: median, 99th percentile, maximum."""
    found = [one for one in values if one.p50 > 0]
    if not found:
        return ""
    low = math.floor(math.log10(min(one.p50 for one in found)))
    high = math.ceil(math.log10(max(one.largest for one in found)))
    high = max(high, low + 1)

    def place(microseconds: float) -> float:
        return (math.log10(max(microseconds, 10.0**low)) - low) / (high - low) * 100

    powers = range(low, high + 1)
    lines = "".join(
        f'<div class="grid" style="left:{place(10.0**power):.2f}%"></div>' for power in powers
    )
    rows = []
    for one in found:
        begin, end = place(one.p50), place(one.p99)
        rows.append(
            f'<div class="row{" ours" if one.ours else ""}"><div>{escape(one.name)}</div>'
            f'<div class="track">{lines}'
            f'<div class="reach" style="left:{begin:.2f}%;width:{end - begin:.2f}%"></div>'
            f'<div class="max" style="left:{place(one.largest):.2f}%"></div>'
            f'<div class="dot" style="left:{begin:.2f}%"></div></div>'
            f'<div class="value">{milli(one.p50)} / {milli(one.p99)} ms</div></div>'
        )
    marks = "".join(
        f'<span style="left:{place(10.0**power):.2f}%">{milli(10.0**power)} ms</span>'
        for power in powers
    )
    rows.append(
        f'<div class="row axis"><div></div><div class="track">{marks}</div><div></div></div>'
    )
    return figure(label, rows)


def milli(microseconds: float) -> str:
    """Formats microseconds as milliseconds, as short as possible."""
    in_ms = microseconds / 1000
    return f"{in_ms:.3g}" if in_ms < THOUSAND else f"{in_ms:,.0f}"
