"""Files of published runs, and that the pages generated from them are up to date."""

from __future__ import annotations

import json
import re
import tempfile
import unittest
from pathlib import Path

from bench.harness.cli import write_reports
from bench.harness.peers import REPOSITORY
from bench.harness.publish import PAGE, RESULTS, page_text, publish, write
from bench.harness.recorder import Recorder
from bench.harness.reference import Reference
from bench.harness.report_html import html_report
from bench.harness.report_markdown import markdown_report
from bench.harness.results import Start, load_run
from bench.tests.fixtures import PROBE, info, recorded, three_rounds

MOST_FILES = 60
KINDS = {
    "run.json",
    "samples.jsonl",
    "report.md",
    "report.html",
    "faults.json",
    "tls.json",
}


class KeptTest(unittest.TestCase):
    """Tests that publishing loses no data of a report."""

    def test_reports_of_a_published_run_are_those_of_the_whole_one(self) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            folder, other, faults = (Path(scratch) / name for name in ("run", "other", "faults"))
            recorder = Recorder(folder, info({"howdah": "Howdah", "nginx-fpm": "nginx"}))
            for one in three_rounds():
                recorder.sample(one, "")
            recorder.start(Start("howdah", "hello", 1, 0.5, 2**20, 2**21, 6, [], "cgroup", PROBE))
            recorder.reference(Reference("php-loop", "hello", 1, 10_000, 1.0, 2.0))
            recorder.set_aside(three_rounds()[0])
            recorder.complete(whole=True)
            recorded(other, three_rounds())
            faults.mkdir()
            document = {
                "machine": {},
                "workers": 4,
                "connections": 8,
                "duration": 5,
                "peers": {"howdah": {"title": "Howdah"}},
                "results": [],
                "replacements": [],
                "scenarios": {},
                "failures": [],
            }
            (faults / "faults.json").write_text(json.dumps(document))
            write_reports(folder, faults, [other])
            whole = load_run(folder)
            self.assertIn("## Faults", markdown_report(whole))
            self.assertIn("1 were set aside", markdown_report(whole))
            target = Path(scratch) / "kept"
            write(whole, target)
            kept = load_run(target)
            self.assertEqual(markdown_report(kept), markdown_report(whole))
            self.assertEqual(html_report(kept), html_report(whole))
            page = Path(scratch) / "docs" / "page.md"
            publish(target, "again", Path(scratch) / "bench" / "results", page)
            self.assertIn("from bench/results/2026-01-02-again", page.read_text())

    def test_the_repository_keeps_few_files_of_runs(self) -> None:
        found = [path for path in RESULTS.rglob("*") if path.is_file()]
        self.assertLessEqual(len(found), MOST_FILES)
        self.assertEqual({path.name for path in found} - KINDS, set())

    def test_the_page_is_that_of_its_run(self) -> None:
        text = PAGE.read_text()
        source = re.search(r"from (bench/results/[a-z0-9-]+)", text)
        assert source is not None
        self.assertEqual(text, page_text(REPOSITORY / source[1], REPOSITORY))


if __name__ == "__main__":
    unittest.main()
