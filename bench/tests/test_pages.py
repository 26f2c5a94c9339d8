"""Tables and charts of the documentation match the published runs."""

from __future__ import annotations

import unittest
from xml.etree import ElementTree

from bench.harness import page_runs, pages
from bench.harness.bar_chart import Chart, Group, svg
from bench.harness.errors import BenchError
from bench.harness.page_tables import TABLES, quoted, readme, servers
from bench.harness.peers import REPOSITORY
from bench.harness.publish import PAGE

NAMES = ("nginx", "Howdah classic", "Howdah worker")


class PagesTest(unittest.TestCase):
    """Tests the files in the repository."""

    def test_each_page_and_chart_is_up_to_date(self) -> None:
        for path, text in pages.outputs().items():
            self.assertTrue(path.is_file(), f"{path}: run python3 -m bench pages")
            self.assertEqual(path.read_text(), text, f"{path}: run python3 -m bench pages")

    def test_each_table_is_on_a_page(self) -> None:
        text = "".join((REPOSITORY / name).read_text() for name in pages.PAGES)
        for name in TABLES:
            self.assertTrue(f"<!-- figures: {name} -->" in text, name)

    def test_all_figures_are_of_one_run(self) -> None:
        self.assertIn(f"from bench/results/{page_runs.ALL};", PAGE.read_text())

    def test_an_unknown_table_is_an_error(self) -> None:
        with self.assertRaisesRegex(BenchError, "no table nothing"):
            pages.filled(f"<!-- figures: nothing -->\n{pages.END}")
        with self.assertRaisesRegex(BenchError, "no table Nothing"):
            quoted(page_runs.TLS, "Nothing", (0,))

    def test_a_page_keeps_what_is_around_its_tables(self) -> None:
        old = f"before\n<!-- figures: tls -->\nold\n{pages.END}\nbetween\n"
        text = pages.filled(old + old)
        self.assertEqual(text.count("before"), 2)
        self.assertEqual(text.count("| nginx |"), 2)
        self.assertNotIn("old\n", text)
        self.assertEqual(pages.filled(text), text)

    def test_the_readme_has_rows_of_the_whole_table(self) -> None:
        found = readme()
        self.assertEqual(len(found), 2 + 5 + 1)
        for line in found[2:-1]:
            self.assertTrue(any(whole.startswith(line) for whole in servers()), line)


class ChartTest(unittest.TestCase):
    """Tests a chart as a file."""

    def test_it_is_whole_and_leaves_out_what_is_missing(self) -> None:
        groups = (Group("a <page>", (100.0, None, 2000.0)), Group("other", (50.0, 10.0, 20.0)))
        text = svg(Chart("Requests & more", NAMES, groups))
        root = ElementTree.fromstring(text)  # noqa: S314  it was made a line above
        bars = [one for one in root.iter() if one.get("rx") == "2"]
        self.assertEqual([one.get("class") for one in bars], ["o0", "h1", "o0", "h0", "h1"])
        widths = [float(one.get("width") or 0) for one in bars]
        self.assertAlmostEqual(widths[1] / widths[0], 20, delta=0.1)
        self.assertIn(">2,000<", text)
        self.assertIn("prefers-color-scheme:dark", text)
        ratios = svg(Chart("Ratios", NAMES, (Group("x", (1.0, 2.04, None)),), ratios=True))
        self.assertIn(">2.0x<", ratios)


if __name__ == "__main__":
    unittest.main()
