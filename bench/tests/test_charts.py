"""Pictures: lengths, scales, and the page in a real browser."""

from __future__ import annotations

import re
import tempfile
import unittest
from pathlib import Path
from typing import ClassVar
from xml.etree import ElementTree as ET

from bench.harness.charts import Bar, Latency, Point, Series, bars, latencies, lines, scatter
from bench.harness.charts import round_up as end_of_axis
from bench.harness.report_html import html_report
from bench.harness.stats import Spread
from bench.tests.browser import Browser, find_browser
from bench.tests.fixtures import recorded, three_rounds


def numbers(text: str, kind: str, what: str) -> list[float]:
    """A length or place in percent of each element of a class."""
    return [
        float(found) for found in re.findall(rf'class="{kind}" style="[^"]*{what}:([\d.]+)%', text)
    ]


class BarsTest(unittest.TestCase):
    """Bars with their spread."""

    def test_lengths_are_in_proportion_and_the_longest_spread_fits(self) -> None:
        text = bars(
            [
                Bar("A & B", ours=False, value=Spread(50, 40, 100, 3)),
                Bar("C", ours=True, value=Spread(25, 25, 25, 3)),
                Bar("D", ours=False, value=None),
            ],
            "x",
            "label",
        )
        self.assertEqual(numbers(text, "fill", "width"), [50, 25])
        self.assertEqual(numbers(text, "spread", "left"), [40, 25])
        self.assertEqual(numbers(text, "spread", "width"), [60, 0])
        self.assertIn("A &amp; B", text)
        self.assertEqual(text.count('class="row ours"'), 1)
        self.assertIn("no valid figure", text)

    def test_nothing_to_show(self) -> None:
        self.assertIn("no valid figure", bars([Bar("A", ours=True, value=None)], "x", "l"))


class ScaleTest(unittest.TestCase):
    """Latencies, and what has two axes."""

    def test_latencies_are_on_a_logarithmic_scale(self) -> None:
        text = latencies(
            [
                Latency("A", ours=True, p50=100, p99=1_000, largest=10_000),
                Latency("B", ours=False, p50=1_000, p99=1_000, largest=100_000),
                Latency("none", ours=False, p50=0, p99=0, largest=0),
            ],
            "label",
        )
        dots, ends = numbers(text, "dot", "left"), numbers(text, "max", "left")
        self.assertEqual(dots, [0, 33.33])
        self.assertEqual(ends, [66.67, 100])
        self.assertEqual(numbers(text, "reach", "width"), [33.33, 0])
        self.assertNotIn("none", text)
        self.assertEqual(latencies([], "label"), "")

    def test_points_stay_inside(self) -> None:
        points = [
            Point("A", ours=True, memory=40, speed=9_000),
            Point("B", ours=False, memory=93, speed=1_000),
        ]
        text = scatter(points, "label")
        places = self.circles(text)
        self.assertLess(places[1][0], places[0][0])
        self.assertLess(places[1][1], places[0][1])
        self.assertEqual(scatter([], "label"), "")

    def test_a_line_goes_up_with_the_number_of_processes(self) -> None:
        series = [Series("A", ours=True, points=[(4, 100.0), (8, 200.0)])]
        text = lines(series, "req/s", "label")
        (first, second) = self.circles(text)
        self.assertLess(first[0], second[0])
        self.assertGreater(first[1], second[1])
        self.assertIn(">4</text>", text)
        self.assertEqual(lines([Series("A", ours=True, points=[])], "x", "l"), "")

    def circles(self, text: str) -> list[tuple[float, float]]:
        """The centres of all circles, each of which is inside the picture."""
        begin, end = text.index("<svg"), text.index("</svg>") + len("</svg>")
        root = ET.fromstring(text[begin:end])  # noqa: S314  made by ourselves
        width, height = (float(part) for part in root.attrib["viewBox"].split()[2:])
        found = [(float(one.attrib["cx"]), float(one.attrib["cy"])) for one in root.iter("circle")]
        for x, y in found:
            self.assertTrue(0 < x < width, x)
            self.assertTrue(0 < y < height, y)
        return found

    def test_axes_end_at_round_numbers(self) -> None:
        found = [end_of_axis(value) for value in (0, 0.9, 1, 1.1, 230, 999)]
        self.assertEqual(found, [1, 1, 1, 2, 250, 1000])


# What a reader would see: letters too small, and text that leaves the page.
SMALLEST_LETTERS = """Math.min(
  ...[...document.querySelectorAll('p, td, th, li, figcaption, .row div')]
  .filter(one => one.textContent.trim()).map(one => parseFloat(getComputedStyle(one).fontSize)),
  ...[...document.querySelectorAll('svg text')].map(one => one.getBoundingClientRect().height))"""
TEXT_OUTSIDE = """[...document.querySelectorAll('.row div, figcaption, h1, h2, h3, p, svg text')]
  .filter(one => { const place = one.getBoundingClientRect();
    return place.width > 0 && (place.left < -1 || place.right > innerWidth + 1); })
  .map(one => one.textContent)"""
CONTRAST = """(() => { const light = name => { const [r, g, b] =
  getComputedStyle(document.body)[name].match(/[0-9.]+/g).map(Number).map(value => value / 255)
  .map(value => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const [a, b] = [light('color'), light('backgroundColor')];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05); })()"""


@unittest.skipUnless(find_browser(), "needs chromium; try: apt-get install chromium")
class PageTest(unittest.TestCase):
    """The page as a browser shows it, wide and on a phone, in light and in dark."""

    browser: ClassVar[Browser]

    @classmethod
    def setUpClass(cls) -> None:
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        run = recorded(Path(scratch.name) / "run", three_rounds())
        cls.page = Path(scratch.name) / "report.html"
        cls.page.write_text(html_report(run))
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)

    page: ClassVar[Path]

    def test_it_fits_and_can_be_read(self) -> None:
        for width in (1200, 390):
            for dark in (False, True):
                with self.subTest(width=width, dark=dark):
                    self.browser.show(self.page, width=width, dark=dark)
                    ask = self.browser.evaluate
                    self.assertEqual(ask("innerWidth"), width)
                    self.assertLessEqual(ask("document.documentElement.scrollWidth"), width)
                    self.assertEqual(ask(TEXT_OUTSIDE), [])
                    self.assertGreaterEqual(ask(SMALLEST_LETTERS), 11)
                    self.assertGreaterEqual(ask(CONTRAST), 7)
                    back = ask("getComputedStyle(document.body).backgroundColor.match(/[0-9]+/)[0]")
                    self.assertEqual(int(back) < 128, dark)

    def test_bars_have_the_lengths_of_their_figures(self) -> None:
        self.browser.show(self.page, width=390, dark=False)
        found = self.browser.evaluate(
            "[...document.querySelector('figure').querySelectorAll('.fill')]"
            ".map(one => one.getBoundingClientRect().width / one.parentNode.clientWidth)"
        )
        # Medians 4,000 and 1,000 of at most 5,000.
        self.assertEqual([round(length, 2) for length in found], [0.8, 0.2])

    def test_the_browser_has_no_complaints(self) -> None:
        self.browser.show(self.page, width=1200, dark=False)
        kinds = {"Log.entryAdded", "Runtime.exceptionThrown"}
        self.assertEqual([one for one in self.browser.events if one.get("method") in kinds], [])


if __name__ == "__main__":
    unittest.main()
