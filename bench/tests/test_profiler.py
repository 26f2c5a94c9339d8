"""Cost of a profile in a report."""

from __future__ import annotations

import io
import json
import tempfile
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

from bench.harness.arguments import parser
from bench.harness.errors import BenchError
from bench.harness.publish import write
from bench.harness.report_html import html_report
from bench.harness.report_markdown import markdown_report
from bench.harness.results import PROFILE, load_run
from bench.harness.stats import Spread
from bench.profiler import command
from bench.profiler.command import Cost
from bench.tests.fixtures import recorded, three_rounds

CHEAP = Cost("Hello", 100, 0.99, Spread(1.0, 0.98, 1.02, 4), Spread(1.01, 1.0, 1.02, 4), 99.9)
DEAR = Cost("Symfony page", 1000, 0.97, Spread(0.87, 0.83, 0.93, 4), None, 98.7)


class ProfilerTest(unittest.TestCase):
    """Tests the path from the command line to the report."""

    def measured(
        self, folder: Path | None, *outcomes: list[Cost] | BenchError, skip: bool = False
    ) -> tuple[int, str]:
        """Returns the status and the errors of a command with these outcomes of its cases."""
        out = [] if folder is None else ["--out", str(folder)]
        more = ["--skip-missing"] if skip else []
        arguments = parser().parse_args(["profiler", "--case", "deep,symfony", *more, *out])
        with (
            mock.patch.object(command, "measure_case", side_effect=outcomes),
            mock.patch("sys.stderr", new_callable=io.StringIO) as said,
        ):
            return command.profiler(arguments), said.getvalue()

    def test_what_is_missed_is_the_status_unless_a_table_shows_it(self) -> None:
        self.assertEqual(self.measured(None, [CHEAP], [CHEAP])[0], 0)
        self.assertEqual(self.measured(None, [CHEAP], [DEAR])[0], 1)
        with self.assertRaises(BenchError):
            self.measured(None, BenchError("no Composer"), [CHEAP])
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            self.assertEqual(self.measured(folder / "all", [CHEAP], [DEAR])[0], 0)
            status, said = self.measured(folder / "some", [CHEAP], BenchError("no Composer"))
            self.assertEqual((status, said), (1, "error: symfony: no Composer\n"))
            found: dict[str, Any] = json.loads((folder / "some" / PROFILE).read_text())
        self.assertEqual(found["failures"], ["symfony: no Composer"])
        self.assertEqual(found["absent"], [])
        self.assertEqual([one["title"] for one in found["results"]], ["Hello"])

    def test_a_case_that_cannot_be_measured_is_named(self) -> None:
        absent = {"symfony": {"title": "Symfony page", "reason": "no Composer"}}
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch) / "whole"
            recorded(folder, three_rounds())
            with mock.patch.object(command, "absent_cases", return_value=absent):
                status, said = self.measured(folder / "profile", [CHEAP], skip=True)
            self.assertEqual((status, said), (0, "left out: symfony: no Composer\n"))
            self.assertIn("- not measured: Symfony page: no Composer", markdown_report(load_run(folder)))

    def test_the_table_is_in_each_report_and_in_what_is_published(self) -> None:
        lines = [
            "## What a profile costs",
            "| Hello, 100 Hz | **1.00x** (0.98–1.02) | 0.99x | **1.01x** (1.00–1.02) | 99.9 % |  |",
            "| Symfony page, 1,000 Hz | **0.87x** (0.83–0.93) | 0.97x | – | 98.7 % | missed |",
        ]
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch) / "whole"
            recorded(folder, three_rounds())
            self.assertNotIn(lines[0], markdown_report(load_run(folder)))
            self.measured(folder / "profile", [CHEAP], [DEAR])
            run = load_run(folder)
            kept = Path(scratch) / "published"
            write(run, kept)
            for text in (markdown_report(run), markdown_report(load_run(kept))):
                for line in lines:
                    self.assertIn(line, text)
            self.assertIn("What a profile costs", html_report(run))


if __name__ == "__main__":
    unittest.main()
