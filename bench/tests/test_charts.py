"""Charts: lengths, scales, and the page in a real browser."""

from __future__ import annotations

import itertools
import re
import tempfile
import unittest
from pathlib import Path
from typing import ClassVar
from xml.etree import ElementTree as ET

from bench.harness import page_runs
from bench.harness.charts import Bar, Latency, bars, latencies
from bench.harness.plots import (
    MARK_HEIGHT,
    Point,
    Series,
    apart,
    from_zero,
    lines,
    logarithmic,
    scatter,
)
from bench.harness.plots import round_up as end_of_axis
from bench.harness.publish import RESULTS
from bench.harness.report_html import html_report
from bench.harness.results import load_run
from bench.harness.stats import Spread
from bench.tests.browser import Browser, find_browser
from bench.tests.fixtures import of_processes, recorded, three_rounds


def numbers(text: str, kind: str, what: str) -> list[float]:
    """Returns the length or position of each element of a class in percent."""
    return [
        float(found) for found in re.findall(rf'class="{kind}" style="[^"]*{what}:([\d.]+)%', text)
    ]


class BarsTest(unittest.TestCase):
    """Tests bars with their spread."""

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
    """Tests latencies, and charts with two axes."""

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

    def test_twice_as_many_processes_are_always_as_far(self) -> None:
        text = lines([Series("A", ours=True, points=[(4, 1), (8, 1), (16, 1)])], "x", "label")
        places = [x for x, _ in self.circles(text)]
        self.assertAlmostEqual(places[1] - places[0], places[2] - places[1], delta=0.2)
        (alone,) = self.circles(lines([Series("A", ours=True, points=[(4, 1)])], "x", "label"))
        self.assertAlmostEqual(alone[0], places[1], delta=0.2)

    def test_numbers_of_lines_never_lie_on_each_other(self) -> None:
        series = [Series(f"S{at}", ours=at == 0, points=[(4, 0), (8, 0)]) for at in range(6)]
        text = lines([*series, Series("none", ours=False, points=[])], "%", "label")
        self.circles(text)
        marks = re.findall(r'<text class="mark \w+" x="\d+" y="([\d.]+)">(\d)</text>', text)
        self.assertEqual([number for _, number in marks], list("123456"))
        heights = sorted(float(y) for y, _ in marks)
        steps = [below - above for above, below in itertools.pairwise(heights)]
        self.assertGreaterEqual(min(steps), MARK_HEIGHT)
        # Seven are in the key, so these numbers are those of the other charts.
        self.assertEqual(text.count("<li>"), 7)
        self.assertEqual(apart([50, 150, 100]), [50, 150, 100])

    def test_lines_of_one_colour_have_different_dashes(self) -> None:
        names = (("A", True), ("B", True), ("C", False), ("D", False))
        series = [Series(name, ours=ours, points=[(4, 1), (8, 2)]) for name, ours in names]
        dashes = re.findall(r'stroke-dasharray="([^"]*)"', lines(series, "x", "label"))
        self.assertEqual(dashes[:2], dashes[2:])
        self.assertNotEqual(dashes[0], dashes[1])

    def test_a_logarithmic_axis_begins_and_ends_at_round_numbers(self) -> None:
        scale = logarithmic([23, 700, 0])
        self.assertEqual(scale.ticks, (20, 50, 100, 200, 500, 1000))
        self.assertEqual((scale.part(20), scale.part(1000)), (0, 1))
        self.assertAlmostEqual(scale.part(200) - scale.part(20), scale.part(500) - scale.part(50))
        self.assertEqual(logarithmic([5]).ticks, (5, 10))
        self.assertEqual(logarithmic([0.02, 900]).ticks, (0.1, 1, 10, 100, 1000))
        for none in (logarithmic([]), from_zero([])):
            self.assertLess(none.low, none.high)

    def circles(self, text: str) -> list[tuple[float, float]]:
        """Returns the centres of all circles, each of which is inside the chart."""
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


# Visible defects: letters that are too small, and text outside of the page.
SMALLEST_LETTERS = """Math.min(
  ...[...document.querySelectorAll('p, td, th, li, figcaption, .row div')]
  .filter(one => one.textContent.trim()).map(one => parseFloat(getComputedStyle(one).fontSize)),
  ...[...document.querySelectorAll('svg text')].map(one => one.getBoundingClientRect().height))"""
TEXT_OUTSIDE = """[...document
  .querySelectorAll('.row div, figcaption, h1, h2, h3, p, li, svg text')]
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
    """Tests the page in a browser, wide and on a phone, in light and in dark."""

    browser: ClassVar[Browser]

    @classmethod
    def setUpClass(cls) -> None:
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        run = recorded(Path(scratch.name) / "run", three_rounds())
        cls.page = Path(scratch.name) / "report.html"
        cls.page.write_text(html_report(run))
        cls.processes = Path(scratch.name) / "processes.html"
        cls.processes.write_text(html_report(of_processes()))
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)

    page: ClassVar[Path]
    processes: ClassVar[Path]

    def test_pictures_over_processes_are_beside_each_other_where_there_is_room(self) -> None:
        for width, columns in ((1200, 2), (390, 1)):
            self.browser.show(self.processes, width=width, dark=False)
            found = self.browser.evaluate(
                "[...document.querySelectorAll('.pictures figure')]"
                ".map(one => Math.round(one.getBoundingClientRect().left))"
            )
            self.assertEqual((len(found), len(set(found))), (6, columns))

    def test_it_fits_and_can_be_read(self) -> None:
        for page, width, dark in itertools.product(
            (self.page, self.processes), (1200, 390), (False, True)
        ):
            with self.subTest(page.name, width=width, dark=dark):
                self.browser.show(page, width=width, dark=dark)
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

    def test_a_report_of_many_cases_begins_as_its_table_of_contents(self) -> None:
        run = load_run(RESULTS / page_runs.ALL)
        page = self.page.with_name("folded.html")
        page.write_text(html_report(run))
        for width, screens in ((1200, 2), (390, 3)):
            self.browser.show(page, width=width, dark=False)
            ask = self.browser.evaluate
            self.assertLessEqual(ask("document.documentElement.scrollHeight"), screens * 900)
            self.assertLessEqual(ask("document.documentElement.scrollWidth"), width)
            self.assertLess(ask("document.querySelector('table').getBoundingClientRect().top"), 300)
            self.assertEqual(ask("document.querySelectorAll('body > details[open]').length"), 0)
            ask("document.querySelectorAll('details').forEach(one => { one.open = true })")
            self.assertEqual(ask(TEXT_OUTSIDE), [])

    def test_the_browser_has_no_complaints(self) -> None:
        self.browser.show(self.page, width=1200, dark=False)
        kinds = {"Log.entryAdded", "Runtime.exceptionThrown"}
        self.assertEqual([one for one in self.browser.events if one.get("method") in kinds], [])


if __name__ == "__main__":
    unittest.main()
