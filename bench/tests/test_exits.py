"""Cost of exit(): cases in pairs, errors that are valid responses, and the targets for both."""

from __future__ import annotations

import http.server
import shutil
import unittest
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from bench.harness import beside, exits, targets
from bench.harness.cases import load_cases, parse_case
from bench.harness.choose import describe
from bench.harness.errors import BenchError
from bench.harness.http_check import HOST
from bench.harness.load import Shape, Wrk, run_wrk
from bench.harness.peers import load_peers
from bench.harness.plan import Options, turns
from bench.harness.report_html import html_report
from bench.harness.report_markdown import markdown_report
from bench.harness.results import Run, Sample
from bench.tests.fixtures import info, load, sample, serve_until_done

NAMES = {"howdah-worker": "Howdah worker", "nginx-fpm": "nginx + php-fpm"}


class PairTest(unittest.TestCase):
    """Tests a case with one to compare with."""

    def setUp(self) -> None:
        self.table: dict[str, Any] = {
            "title": "t",
            "about": "a",
            "root": "www",
            "path": "/index.php?exit=1",
            "check": {"status": 404, "content_type": "text/plain", "body_sha256": "0"},
            "beside": {"name": "y", "title": "u", "about": "b", "path": "/index.php"},
        }

    def test_it_is_the_same_but_for_what_it_says(self) -> None:
        case = parse_case("x", Path("x"), self.table)
        self.assertEqual([one.name for one in case.both], ["x", "y"])
        other = case.both[1]
        self.assertEqual((other.path, other.check), ("/index.php", case.check))
        self.assertEqual(other.both, [other])

    def test_it_has_to_be_served_by_the_same_script_and_told_apart(self) -> None:
        for change in ({"name": "x"}, {"path": "/other.php"}):
            beside_it = {**self.table["beside"], **change}
            with self.subTest(change), self.assertRaisesRegex(BenchError, "name and a query"):
                parse_case("x", Path(), {**self.table, "beside": beside_it})
        with self.assertRaisesRegex(BenchError, "pathh"):
            parse_case("x", Path(), {**self.table, "beside": {"pathh": "/"}})

    def test_names_of_the_repository_are_different(self) -> None:
        names = [one.name for case in load_cases().values() for one in case.both]
        self.assertEqual(len(names), len(set(names)))
        self.assertLessEqual(set(exits.CASES), set(names))

    def test_both_are_measured_on_one_start_the_other_one_first_in_the_next_round(self) -> None:
        options = Options([8, 100], 2, 1, 2, 2, 4)
        case, peer = load_cases()["exit"], load_peers()["howdah-worker"]
        first, second = turns(options, [peer], [case])
        self.assertEqual([one.case.name for one in first.each], ["exit", "no-exit"])
        self.assertEqual([one.case.name for one in second.each], ["no-exit", "exit"])
        self.assertEqual(first.each[0].key, (1, "exit", "howdah-worker"))
        self.assertEqual(first.steps(options), 4)
        alone = replace(first, case=replace(case, beside=None))
        self.assertAlmostEqual(first.seconds(options) - alone.seconds(options), 1.3 + 2 * 2.3)

    def test_servers_whose_loop_ends_with_an_exit_have_no_part(self) -> None:
        for case in (load_cases()[name] for name in exits.CASES):
            peers = load_peers()
            left = {name for name, peer in peers.items() if case.refusal(peer) is None}
            self.assertLessEqual({"howdah-worker", "nginx-fpm", "frankenphp-worker"}, left)
            self.assertFalse({"php-loop", "roadrunner", "swoole", "hyper"} & left, case.name)

    def test_a_run_knows_both(self) -> None:
        options = Options([8], 1, 1, 1, 2, 4)
        facts = describe(options, [load_peers()["howdah-worker"]], [load_cases()["exit"]])
        self.assertEqual(list(facts["cases"]), ["exit", "no-exit"])
        self.assertEqual([one["of"] for one in facts["cases"].values()], ["exit", "exit"])
        self.assertEqual(facts["cases"]["exit"]["beside"], "no-exit")


class Handler(http.server.BaseHTTPRequestHandler):
    """Responds to all with 404; each tenth gets the status in the path."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        state = cast("HttpServer", self.server)
        state.count += 1
        other = state.count % 10 == 0 and self.path != "/"
        self.send_response(int(self.path.removeprefix("/")) if other else 404)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the name of the base
        """Logs nothing."""


class HttpServer(http.server.ThreadingHTTPServer):
    """Counts requests."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__((HOST, 0), Handler)
        self.count = 0

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignores errors: wrk disconnects in the middle of responses."""


class ErrorTest(unittest.TestCase):
    """Tests responses whose status is a required error."""

    def test_only_an_error_has_to_be_told_of(self) -> None:
        statuses = (200, 399, 400, 404)
        self.assertEqual(
            [Shape(status=one).error_status for one in statuses], [None, None, 400, 404]
        )

    @unittest.skipUnless(shutil.which("wrk"), Wrk.hint)
    def test_one_of_another_status_among_them_is_a_failure(self) -> None:
        server = HttpServer()
        serve_until_done(self, server)
        for path, status, wrong in (
            ("/", 404, 0.0),
            ("/502", 404, 0.1),
            ("/200", 404, 0.1),
            ("/200", 200, 0.9),
        ):
            with self.subTest(path, status=status):
                url = f"http://{HOST}:{server.server_port}{path}"
                shape = Shape(status=status)
                found = run_wrk(url, connections=2, seconds=1, threads=2, shape=shape).load
                self.assertGreater(found.requests, 20)
                self.assertAlmostEqual(found.failed / found.requests, wrong, delta=0.05)


class TargetTest(unittest.TestCase):
    """Tests requests per second with exit relative to those without."""

    def made(self, *rounds: tuple[int, int], requests: int = 2000) -> Run:
        """Returns requests per second with and without exit, for each round."""
        facts = {**info(NAMES), "complete": True}
        about = {"about": "", "path": "/"}
        facts["cases"] = {
            "exit": {**about, "title": "With", "beside": "no-exit"},
            "no-exit": {**about, "title": "Without", "beside": ""},
        }

        def one(case: str, number: int, speed: int) -> Sample:
            timed = replace(load(requests), duration_us=1_000_000 * requests // speed)
            return replace(sample("howdah-worker", number, 1), case=case, load=timed)

        samples = [
            one(case, number, speed)
            for number, both in enumerate(rounds, 1)
            for case, speed in zip(("exit", "no-exit"), both, strict=True)
        ]
        return Run(Path("nowhere"), facts, samples, [])

    def test_the_ratio_is_made_within_the_rounds(self) -> None:
        run = self.made((1000, 1000), (900, 2000), (4500, 5000))
        found = beside.over(run, "howdah-worker", "exit", 8, "rps")
        assert found is not None
        for value, wanted in ((found.low, 0.45), (found.median, 0.9), (found.high, 1.0)):
            self.assertAlmostEqual(value, wanted, places=5)
        self.assertIsNone(beside.over(run, "howdah-worker", "no-exit", 8, "rps"))

    def test_nine_tenths_are_enough(self) -> None:
        for speed, reached in ((900, True), (890, False)):
            (found,) = exits.speed("howdah-worker", "exit")(self.made((speed, 1000)))
            self.assertEqual((found.where, found.reached), ("8 connections", reached))
        self.assertEqual(exits.speed("nginx-fpm", "exit")(self.made((900, 1000))), [])

    def test_less_than_a_thousand_in_a_row_say_nothing(self) -> None:
        for requests, reached in ((999, None), (1000, True)):
            run = self.made((1000, 1000), requests=requests)
            (found,) = exits.speed("howdah-worker", "exit")(run)
            self.assertIs(found.reached, reached)
        (found,) = exits.speed("howdah-worker", "exit")(self.made((1000, 1000), requests=999))
        self.assertEqual(found.text, "**1.00x** (1.00–1.00) of 999 requests")

    def test_reports_have_the_ratio_and_the_target(self) -> None:
        run = self.made((1000, 1000), (950, 1000))
        for report in (markdown_report(run), html_report(run)):
            self.assertIn(beside.HEADING, report)
            self.assertIn("With over Without", report)
            self.assertIn("0.98x", report)
        row = next(one for one in targets.table(run).rows if "404 that ends by exit" in one[0])
        self.assertEqual(row[1], "met")

    def test_a_run_without_pairs_has_no_such_table(self) -> None:
        run = self.made((1000, 1000))
        del run.info["cases"]["exit"]["beside"]
        self.assertEqual(beside.tables(run), [])
        self.assertNotIn(beside.HEADING, markdown_report(run))


if __name__ == "__main__":
    unittest.main()
