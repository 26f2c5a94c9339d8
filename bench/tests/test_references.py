"""References of PHP servers: PHP without a server, and a server without PHP."""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path
from unittest import mock

from bench.harness import choose, sections, server, targets
from bench.harness.application import application
from bench.harness.cases import load_cases
from bench.harness.errors import BenchError
from bench.harness.load import Wrk
from bench.harness.peers import Binary, Command, Peer, load_peers, with_workers
from bench.harness.plan import Options, Turn, baseline, turns
from bench.harness.progress import Progress
from bench.harness.recorder import Recorder
from bench.harness.reference import Reference
from bench.harness.report_html import html_report
from bench.harness.report_markdown import markdown_report
from bench.harness.results import Run, load_run
from bench.harness.runner import Runner
from bench.tests.fixtures import info, sample

# Responds to all requests, also for PHP's conditions, as the case hello requires.
SERVER = """
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=UTF-8")
        self.send_header("Content-Length", "14")
        self.end_headers()
        self.wfile.write(b"Hello, world!\\n")
    def log_message(self, *args):
        pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
# Prints the same line as contracts/loop.php; the argument is the digest of its responses.
LOOP = """
import json, sys
print(json.dumps({"calls": 10, "cpu_seconds": 0.5, "seconds": 0.75, "opcache": True,
    "first_sha256": sys.argv[1], "last_sha256": sys.argv[1]}))
"""
TITLE = "Hello world, worker: CPU per request over hyper alone and the bare loop, added up"


def peer(name: str) -> Peer:
    """Returns a peer of the repository."""
    return load_peers()[name]


class PlanTest(unittest.TestCase):
    """Tests in which runs references take part."""

    def test_hyper_answers_hello_and_nothing_else(self) -> None:
        options = Options([8, 32], 1, 1, 1, 2, 4)
        found = [
            turn.case.name for turn in turns(options, [peer("hyper")], list(load_cases().values()))
        ]
        self.assertEqual(found, ["hello"])
        with tempfile.TemporaryDirectory() as scratch:
            (Path(scratch) / "index.php").touch()
            own = application(Path(scratch), path="/")
            self.assertIsNotNone(own.refusal(peer("hyper")))

    def test_hyper_is_loaded_as_a_server_but_at_no_constant_rate(self) -> None:
        options = Options([8, 32], 1, 1, 1, 2, 4, rate=100)
        hyper, howdah = (Turn(0, load_cases()["hello"], peer(name)) for name in ("hyper", "howdah"))
        self.assertEqual((hyper.steps(options), howdah.steps(options)), (2, 3))
        closed = replace(options, rate=0)
        self.assertEqual(hyper.seconds(options), howdah.seconds(closed))

    def test_hyper_adds_less_than_a_minute(self) -> None:
        options = Options([8, 32, 100, 200], 2, 1, 3, 2, 4, few_rounds=2, open_share=0.6)
        found = turns(options, [peer("hyper")], [load_cases()["hello"]])
        self.assertEqual(len(found), 3)
        self.assertLess(sum(turn.seconds(options) for turn in found), 60)

    def test_references_are_no_servers(self) -> None:
        peers = [peer("hyper"), peer("howdah"), peer("php-loop")]
        hello = load_cases()["hello"]
        self.assertEqual(baseline(peers, hello), peer("howdah"))
        found = [one.name for one in with_workers(peers, [4, 8])]
        self.assertEqual(found, ["howdah-w4", "howdah-w8", "hyper", "php-loop"])
        facts = choose.describe(Options([8], 1, 1, 1, 2, 4), peers, [hello])
        self.assertEqual(list(facts["peers"]), ["howdah"])
        self.assertEqual(list(facts["references"]), ["hyper", "php-loop"])
        with self.assertRaisesRegex(BenchError, "are references"):
            choose.describe(Options([8], 1, 1, 1, 2, 4), [peers[0], peers[2]], [hello])

    def test_hyper_has_as_many_threads_as_the_front(self) -> None:
        for processors, threads in ((1, 1), (2, 1), (4, 2), (7, 3), (64, 16)):
            with mock.patch("os.sched_getaffinity", return_value=set(range(processors))):
                self.assertEqual(server.front_threads(), threads)


class RunTest(unittest.TestCase):
    """Tests that references are measured."""

    def test_loops_of_which_the_host_took_much_are_run_again(self) -> None:
        hello = load_cases()["hello"]
        argv = ("{{python}}", "-c", LOOP, hello.check.body_sha256)
        fake = replace(
            peer("php-loop"),
            binaries={"python": Binary((sys.executable,), (), "")},
            commands=(Command("python", argv),),
        )
        with (
            tempfile.TemporaryDirectory() as scratch,
            mock.patch("bench.harness.phpini.distribution_conf_d", return_value="/nowhere"),
            mock.patch("bench.harness.steal.TOO_MUCH", -1.0),
        ):
            recorder = Recorder(Path(scratch) / "run", info({"howdah": "Howdah"}))
            (Path(scratch) / "temporary").mkdir()
            said = io.StringIO()
            options = Options([2], 1, 1, 1, 1, 2)
            runner = Runner(options, [fake], [hello], recorder, Progress(1, said))
            self.assertTrue(runner.run(Path(scratch) / "temporary"), said.getvalue())
            found = load_run(recorder.folder)
            aside = (recorder.folder / "stolen.jsonl").read_text().splitlines()
        self.assertEqual([one.calls for one in found.references], [20])
        self.assertEqual(len(aside), 1)

    @unittest.skipUnless(shutil.which("wrk"), Wrk.hint)
    def test_its_php_is_not_asked_for(self) -> None:
        fake = replace(
            peer("hyper"),
            binaries={"python": Binary((sys.executable,), (), "")},
            commands=(Command("python", ("{{python}}", "-c", SERVER, "{{port}}")),),
        )
        options = Options([2], 1, 1, 1, 1, 4)
        cases = [load_cases()["hello"]]
        with (
            tempfile.TemporaryDirectory() as scratch,
            mock.patch("bench.harness.phpini.distribution_conf_d", return_value="/nowhere"),
        ):
            recorder = Recorder(Path(scratch) / "run", info({"howdah": "Howdah"}))
            (Path(scratch) / "temporary").mkdir()
            said = io.StringIO()
            runner = Runner(options, [fake], cases, recorder, Progress(1, said))
            self.assertTrue(runner.run(Path(scratch) / "temporary"), said.getvalue())
            run = load_run(recorder.folder)
        self.assertEqual(run.problems(), [])
        self.assertEqual([one.probe for one in run.starts], [{}])
        self.assertNotIn("norm", run.info)
        self.assertIsNotNone(run.cell("hyper", "hello", 2, "rps"))


class ReportTest(unittest.TestCase):
    """Tests their place in a report."""

    def made(self, worker_us: float) -> Run:
        """Returns three rounds: hyper takes 20 us, the loop 10; in the second all take twice."""
        samples = []
        for number, slower in ((1, 1), (2, 2), (3, 1)):
            for name, us in (("howdah-worker", worker_us), ("hyper", 20.0)):
                samples.append(sample(name, number, 1000, cpu=us * slower / 1000))
        # A round without hyper.
        samples.append(sample("howdah-worker", 4, 1000, cpu=9.0))
        references = [
            Reference("php-loop", "hello", number, 1000, 0.01 * slower, 1.0)
            for number, slower in ((1, 1), (2, 2), (3, 1), (4, 1))
        ]
        facts = {**info({"howdah-worker": "Howdah worker"}), "complete": True}
        facts["peers"]["howdah-worker"]["ours"] = True
        return Run(Path("nowhere"), facts, samples, [], references)

    def test_the_target_is_the_ratio_to_both_of_the_same_round(self) -> None:
        for worker_us, verdict in ((45.0, "met"), (45.3, "**missed**")):
            rows = {row[0]: row[1:] for row in targets.table(self.made(worker_us)).rows}
            self.assertEqual(rows[TITLE][0], verdict)
            text = f"**{worker_us / 30:.2f}x** ({worker_us / 30:.2f}–{worker_us / 30:.2f})"
            self.assertEqual(rows[TITLE][2], f"{text} at 8 connections")

    def test_it_needs_both(self) -> None:
        run = self.made(45.0)
        for lacking in (
            replace(run, references=[]),
            replace(run, samples=[one for one in run.samples if one.peer != "hyper"]),
        ):
            rows = {row[0]: row[1] for row in targets.table(lacking).rows}
            self.assertEqual(rows[TITLE], "not measured")
        self.assertEqual(sections.alone(replace(run, references=[], samples=[])), [])

    def test_both_reports_have_a_table_and_hyper_is_in_no_other(self) -> None:
        run = self.made(45.0)
        loop, both = sections.alone(run)
        self.assertEqual(loop.rows[0][1:], ("10.0 (10.0–20.0)", "**4.50x** (4.50–900.00)"))
        self.assertEqual(both.rows[0][1:], ("20.0 (20.0–40.0)", "**1.50x** (1.50–1.50)"))
        for text in (markdown_report(run), html_report(run)):
            self.assertIn("hyper alone, CPU µs", text)
        for tables in (sections.leaderboard(run), sections.speeds(run), sections.rounds(run)):
            for table in tables:
                self.assertNotIn("hyper", " ".join(row[0] for row in table.rows))

    def test_a_failed_sample_of_a_reference_is_told(self) -> None:
        run = self.made(45.0)
        run.samples.append(replace(sample("hyper", 5, 1), problem="1 failed"))
        self.assertIn("hello, hyper, 8 connections, round 5: 1 failed", run.problems())


if __name__ == "__main__":
    unittest.main()
