"""Statistics, ratios, and the reports that contain them."""

from __future__ import annotations

import tempfile
import unittest
from dataclasses import replace
from pathlib import Path

from bench.faults.report import faults_report
from bench.harness.compare import change, compare
from bench.harness.errors import BenchError
from bench.harness.publish import publish
from bench.harness.recorder import Recorder
from bench.harness.reference import Reference
from bench.harness.report_html import html_report
from bench.harness.report_markdown import markdown_report
from bench.harness.results import load_run
from bench.harness.stats import Spread, paired_ratio, spread
from bench.tests.fixtures import info, load, recorded, sample, three_rounds


class StatisticsTest(unittest.TestCase):
    """Tests medians and paired ratios."""

    def test_median_with_extremes(self) -> None:
        self.assertEqual(spread([5.0, 1.0, 3.0]), Spread(3.0, 1.0, 5.0, 3))
        self.assertEqual(spread([1.0, 2.0]), Spread(1.5, 1.0, 2.0, 2))
        self.assertIsNone(spread([]))

    def test_ratios_pair_rounds(self) -> None:
        # The ratio of the medians would be 4000 / 1000 as well, but 1500 / 1000 is not a ratio of
        # any round: the second round was slow for both.
        found = paired_ratio({1: 4000, 2: 1500, 3: 5000}, {1: 1000, 2: 500, 3: 1000})
        self.assertEqual(found, Spread(4.0, 3.0, 5.0, 3))

    def test_rounds_that_only_one_side_has_are_left_out(self) -> None:
        self.assertEqual(paired_ratio({1: 4.0, 2: 9.0}, {1: 2.0, 3: 1.0}), Spread(2.0, 2.0, 2.0, 1))
        self.assertIsNone(paired_ratio({1: 4.0}, {2: 2.0}))
        self.assertIsNone(paired_ratio({1: 4.0}, {1: 0.0}))


class RunTest(unittest.TestCase):
    """Tests a run on disk and its report."""

    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = Path(scratch.name)

    def test_a_run_is_read_as_it_was_written(self) -> None:
        run = recorded(self.scratch / "run", three_rounds())
        self.assertEqual(run.samples, three_rounds())
        self.assertEqual(run.starts[0].pss_load, 30 * 1024 * 1024)
        self.assertEqual(run.ratio("howdah", "nginx-fpm", "hello", 8), Spread(4.0, 3.0, 5.0, 3))

    def test_cpu_ratio_says_how_much_less(self) -> None:
        run = recorded(self.scratch / "run", three_rounds())
        found = run.cpu_ratio("howdah", "nginx-fpm", "hello", 8)
        assert found is not None
        self.assertAlmostEqual(found.median, 4.0)

    def test_a_failed_sample_counts_nowhere_and_is_told(self) -> None:
        samples = [*three_rounds(), sample("howdah", 4, 99_000, problem="7 requests failed")]
        run = recorded(self.scratch / "run", samples)
        cell = run.cell("howdah", "hello", 8, "rps")
        assert cell is not None
        self.assertEqual(cell.high, 5000)
        self.assertIn("7 requests failed", markdown_report(run))
        self.assertIn("7 requests failed", html_report(run))

    def test_markdown_begins_with_the_ratio(self) -> None:
        text = markdown_report(recorded(self.scratch / "run", three_rounds()))
        self.assertLess(text.index("**4.00x** (3.00–5.00)"), text.index("## Figures"))
        self.assertIn("4,000 (1,500–5,000)", text)
        self.assertIn("| Howdah | 20.0 | 30.0 |", text)
        self.assertNotIn("## Problems", text)
        self.assertNotIn("Copyright", text)

    def test_how_to_read_it_comes_before_all_figures(self) -> None:
        run = recorded(self.scratch / "run", three_rounds())
        for text, heading in ((markdown_report(run), "## "), (html_report(run), "<h2>")):
            self.assertEqual(text.index(heading), text.index(f"{heading}How to read it"))
            self.assertLess(text.index("How to read it"), text.index("Targets"))
            self.assertGreater(text.index(f"{heading}Method"), text.index("Every round"))
            for words in ("Ratios first.", "Parentheses.", "CPU per request", "No difference."):
                self.assertLess(text.index(words), text.index("Targets"))
        self.assertIn("<li><b>Missed</b> says", html_report(run))
        run.info["running"] = True
        self.assertNotIn("CPU per request</b>", html_report(run))
        nothing = recorded(self.scratch / "other", [sample("nginx-fpm", 1, 100)])
        self.assertNotIn("Missed", markdown_report(nothing))

    def test_html_is_whole_and_needs_nothing_else(self) -> None:
        text = html_report(recorded(self.scratch / "run", three_rounds()))
        self.assertIn("Hello &lt;world&gt;", text)
        self.assertNotIn("<world>", text)
        self.assertIn("prefers-color-scheme: dark", text)
        for reference in ("http://", "https://", "<script", "<link", "url("):
            self.assertNotIn(reference, text)
        self.assertEqual(text.count("<div"), text.count("</div"))

    def test_an_interrupted_run_says_so(self) -> None:
        run = recorded(self.scratch / "run", three_rounds()[:1], complete=False)
        self.assertIn("interrupted", markdown_report(run))
        self.assertIn("–", markdown_report(run))

    def test_only_whole_and_sound_runs_are_published(self) -> None:
        results, page = self.scratch / "results", self.scratch / "docs" / "benchmarks.md"
        recorded(self.scratch / "half", three_rounds(), complete=False)
        recorded(self.scratch / "bad", [sample("howdah", 1, 1, problem="broken")])
        for name in ("half", "bad"):
            with self.assertRaises(BenchError):
                publish(self.scratch / name, "x", results, page)
        self.assertFalse(page.exists())
        theirs = sample("nginx-fpm", 4, 1, problem="7 of 100 requests failed")
        recorded(self.scratch / "theirs", [*three_rounds(), theirs])
        publish(self.scratch / "theirs", "theirs", results, page)
        self.assertIn("7 of 100 requests failed", page.read_text())
        for failure in ("hello, howdah, round 2: no answer", "hello: no database"):
            with self.assertRaisesRegex(BenchError, failure):
                recorded(self.scratch / failure, three_rounds(), failures=[failure])
                publish(self.scratch / failure, "unmeasured", results, page)
        unmeasured = "hello, nginx-fpm, round 1: no answer"
        recorded(self.scratch / "left", three_rounds(), failures=[unmeasured])
        publish(self.scratch / "left", "left", results, page)
        self.assertIn(unmeasured, page.read_text())
        recorded(self.scratch / "good", three_rounds())
        publish(self.scratch / "good", "x", results, page)
        self.assertEqual(len(load_run(results / "2026-01-02-x").samples), 6)
        self.assertIn("**4.00x**", page.read_text())
        kept = {path.name for path in (results / "2026-01-02-x").iterdir()}
        self.assertEqual(kept, {"run.json", "samples.jsonl", "report.md", "report.html"})
        with self.assertRaisesRegex(BenchError, "never edited"):
            publish(self.scratch / "good", "x", results, page)

    def test_a_damaged_or_missing_run_is_an_error(self) -> None:
        with self.assertRaisesRegex(BenchError, r"run\.json is missing"):
            load_run(self.scratch)
        recorded(self.scratch / "run", three_rounds())
        (self.scratch / "run" / "samples.jsonl").write_text('{"peer": "howdah"}\n')
        with self.assertRaisesRegex(BenchError, "damaged"):
            load_run(self.scratch / "run")

    def test_an_interrupted_run_goes_on_after_its_last_whole_turn(self) -> None:
        folder = self.scratch / "run"
        recorder = Recorder(folder, info({"howdah": "Howdah", "nginx-fpm": "nginx"}))
        for one in three_rounds()[:3]:
            recorder.sample(one, "")
        recorder.turn((1, "hello", "howdah"))
        recorder.turn((1, "hello", "nginx-fpm"))
        recorder.failure("interrupted in the middle")
        resumed = Recorder.resumed(folder)
        self.assertEqual(resumed.done, {(1, "hello", "howdah"), (1, "hello", "nginx-fpm")})
        for one in three_rounds()[2:]:
            resumed.sample(one, "")
        resumed.complete(whole=True)
        run = load_run(folder)
        self.assertEqual(run.samples, three_rounds())
        self.assertEqual(run.problems(), [])
        with self.assertRaisesRegex(BenchError, "nothing to resume"):
            Recorder.resumed(folder)

    def test_the_open_loop_has_a_table_of_its_own(self) -> None:
        opened = replace(sample("howdah", 1, 700), rate=700, connections=100)
        run = recorded(self.scratch / "run", [*three_rounds(), opened], rates={"hello": 700})
        cell = run.cell("howdah", "hello", 0, "rps")
        assert cell is not None
        self.assertEqual(cell, Spread(700.0, 700.0, 700.0, 1))
        self.assertEqual(getattr(run.cell("howdah", "hello", 8, "rps"), "count", 0), 3)
        for text in (markdown_report(run), html_report(run)):
            self.assertIn("Constant rate of 700 requests per second", text)

    def test_cpu_is_compared_with_the_handler_alone(self) -> None:
        folder = self.scratch / "run"
        recorded(folder, three_rounds(), complete=False)
        recorder = Recorder.resumed(folder)
        for number, one in ((1, three_rounds()[0]), (2, three_rounds()[2])):
            recorder.sample(one, "")
            # 100 and 200 microseconds a call; a request of Howdah's took 25 and 67.
            recorder.reference(Reference("php-loop", "hello", number, 10_000, number * 1.0, 2.0))
        run = load_run(folder)
        found = run.over_loop("howdah", "hello", 8)
        assert found is not None
        self.assertAlmostEqual(found.low, 0.25)
        self.assertIn("### Over the handler alone", markdown_report(run))
        self.assertIn("<h3>Over the handler alone</h3>", html_report(run))

    def test_absent_peers_and_cases_that_are_not_offered_are_told(self) -> None:
        run = recorded(
            self.scratch / "run",
            three_rounds(),
            absent={"swoole": {"title": "Swoole", "reason": "not <installed>"}},
            not_offered={"hello": {"nginx-fpm": "no such script"}},
        )
        text = markdown_report(run)
        self.assertIn("- Swoole: not <installed>", text)
        self.assertIn("- nginx + php-fpm in Hello <world>: no such script", text)
        self.assertNotIn("| nginx + php-fpm | 1,000", text)
        self.assertIn("not &lt;installed&gt;", html_report(run))

    def test_gzip_shows_who_compressed(self) -> None:
        run = recorded(self.scratch / "run", three_rounds())
        run.info["cases"]["hello"]["gzip"] = True
        self.assertIn("Howdah (not compressed, 0 bytes)", markdown_report(run))

    def test_compare_marks_changes_beyond_the_spread(self) -> None:
        before = recorded(self.scratch / "before", three_rounds())
        faster = [sample("howdah", number, 9000) for number in (1, 2, 3)]
        after = recorded(self.scratch / "after", faster)
        text = compare(before, after)
        self.assertIn("+125.0%*", text)
        self.assertNotIn("nginx-fpm", text)
        self.assertEqual(change(Spread(10, 5, 20, 3), Spread(15, 8, 30, 3)), "+50.0%")


class FaultsReportTest(unittest.TestCase):
    """Tests the table of faults."""

    def test_figures_without_and_with_the_fault(self) -> None:
        document = {
            "machine": {"cpus": 2},
            "connections": 8,
            "duration": 5,
            "workers": 4,
            "peers": {"howdah": "Howdah"},
            "scenarios": {"kill": "a kill", "idle": "idle ones"},
            "failures": ["idle, howdah: did not start"],
            "results": [
                {
                    "peer": "howdah",
                    "scenario": "kill",
                    "before": load().as_dict(),
                    "during": load(500, status=3, p99=45_000).as_dict(),
                    "outcomes": {"killed": 10, "status 502": 20},
                    "recovery_seconds": None,
                    "bytes_per_connection": 2048.0,
                    "forced_stops": ["howdah"],
                }
            ],
        }
        text = faults_report(document)
        self.assertIn("| 0.90 → 45.00 |", text)
        self.assertIn("3 of 500", text)
        self.assertIn("20 status 502, 10 killed, 2.0 KiB each", text)
        self.assertIn("never", text)
        self.assertIn("did not start", text)
        self.assertIn("did not stop on SIGTERM", text)
        self.assertNotIn("### Idle ones", text)


if __name__ == "__main__":
    unittest.main()
