"""The tables of a report: leaders, compression, numbers of processes, targets, single rounds."""

from __future__ import annotations

import re
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.harness import compression, known, pictures, sections, targets, workers
from bench.harness.cases import load_cases
from bench.harness.cli import write_reports
from bench.harness.errors import BenchError
from bench.harness.peers import load_peers, with_workers
from bench.harness.publish import publish
from bench.harness.report_html import html_report
from bench.harness.report_markdown import cell_head, cell_row, markdown_report, overview
from bench.harness.results import Run, Sample, Start, load_run
from bench.tests.fixtures import PROBE, info, load, of_processes, recorded, sample, three_rounds

NAMES = {"howdah": "Howdah", "nginx-fpm": "nginx + php-fpm", "caddy-fpm": "Caddy + php-fpm"}


def start(peer: str, case: str, body_bytes: int, encoding: str = "", mebibytes: int = 30) -> Start:
    """Returns a start with the body that was checked."""
    size = mebibytes * 1024 * 1024
    return Start(peer, case, 1, 0.5, size, size, 6, [], "cgroup v2", PROBE, body_bytes, encoding)


def made(samples: list[Sample], starts: list[Start], **more: Any) -> Run:  # noqa: ANN401
    """Returns a run that was never on disk."""
    facts = {**info(NAMES), "complete": True, **more}
    return Run(Path("nowhere"), facts, samples, starts)


class LeaderboardTest(unittest.TestCase):
    """Tests speed, the fastest first."""

    def test_the_fastest_is_first_with_its_improvement(self) -> None:
        samples = [*three_rounds(), sample("caddy-fpm", 1, 9000)]
        (table,) = sections.leaderboard(made(samples, []))
        self.assertEqual(
            [row[0] for row in table.rows],
            ["1. Caddy + php-fpm", "2. Howdah", "3. nginx + php-fpm"],
        )
        self.assertEqual(table.head[2], "times nginx + php-fpm")
        self.assertEqual(table.rows[1][2], "**4.00x** (3.00–5.00)")

    def test_connections_side_by_side(self) -> None:
        more = [replace(one, connections=100) for one in three_rounds()]
        run = made([*three_rounds(), *more], [])
        self.assertEqual(sections.speeds(run), [])
        run.info["options"]["connections"] = [8, 100]
        (table,) = sections.speeds(run)
        self.assertEqual(table.head, ("", "8 connections", "100 connections"))
        self.assertIn(("Howdah", "4,000 (4.00x)", "4,000 (4.00x)"), table.rows)

    def test_every_round_is_told_with_its_timeouts(self) -> None:
        bad = replace(sample("howdah", 2, 70, problem="broken"), load=replace(load(70), timeout=30))
        samples = [sample("howdah", 1, 900), bad, sample("howdah", 3, 1100)]
        (table,) = sections.rounds(made(samples, []))
        self.assertEqual(
            table.rows[0],
            ("Howdah, 8 connections", "900", "70 (does not count)", "1,100", "20%", "30", "30"),
        )


class CompressionTest(unittest.TestCase):
    """Tests that a server gains nothing by worse compression."""

    def setUp(self) -> None:
        facts = {"about": "", "path": "/index.php", "body_sha256": "a" * 64}
        cases = {
            "hello": {**facts, "title": "Page"},
            "hello-gzip": {**facts, "title": "Page, gzip", "gzip": True},
            "other": {**facts, "title": "Other", "body_sha256": "b" * 64},
        }
        speeds = {"howdah": (4000, 500), "nginx-fpm": (1000, 200), "caddy-fpm": (800, 900)}
        sizes = {"howdah": 19_000, "nginx-fpm": 20_000, "caddy-fpm": 51_000}
        samples, starts = [], []
        for peer, (plain, squeezed) in speeds.items():
            samples.append(sample(peer, 1, plain))
            samples.append(replace(sample(peer, 1, squeezed), case="hello-gzip"))
            starts.append(start(peer, "hello", 51_200))
            starts.append(start(peer, "hello-gzip", sizes[peer], "gzip"))
        self.run_ = made(samples, starts, cases=cases)

    def test_cases_with_the_same_body_are_pairs(self) -> None:
        pair = compression.Pair("hello", "hello-gzip")
        self.assertEqual(compression.pairs(self.run_), [pair])

    def test_who_sends_more_is_no_rival_but_is_named(self) -> None:
        best, everyone = compression.matrix(self.run_)
        plain, squeezed = best.rows
        self.assertEqual(plain[:2], ("Page, identity, 8 connections", "**4.00x** (4.00–4.00)"))
        self.assertEqual(squeezed[1], "**2.50x** (2.50–2.50)")
        self.assertEqual(squeezed[4], "nginx + php-fpm")
        self.assertEqual(squeezed[-1], "Caddy + php-fpm (51,000 gzip)")
        self.assertEqual([row[0] for row in everyone.rows], list(NAMES.values()))
        self.assertIn("51,000 gzip", everyone.rows[2])

    def test_every_cell_has_a_head(self) -> None:
        for _, _, tables in overview(self.run_):
            for table in tables:
                for row in table.rows:
                    self.assertEqual(len(row), len(table.head), table.heading)

    def test_a_lead_with_more_bytes_is_marked(self) -> None:
        self.run_.starts[1] = start("howdah", "hello-gzip", 25_000, "gzip")
        best, _ = compression.matrix(self.run_)
        self.assertIn("but more bytes", best.rows[1][1])

    def test_both_reports_show_it(self) -> None:
        for text in (markdown_report(self.run_), html_report(self.run_)):
            self.assertIn("51,000 gzip", text)
        self.assertEqual(compression.matrix(made(three_rounds(), [])), [])


class WorkersTest(unittest.TestCase):
    """Tests one server with several numbers of processes."""

    def setUp(self) -> None:
        peers = info({"howdah-w4": "Howdah, 4 processes", "howdah-w8": "Howdah, 8 processes"})
        for count, facts in zip((4, 8), peers["peers"].values(), strict=True):
            facts.update(workers=count, base="howdah", ours=True)
        opened = replace(sample("howdah-w4", 1, 90), rate=100)
        samples = [
            sample("howdah-w4", 1, 1000),
            sample("howdah-w8", 1, 2000),
            replace(opened, load=replace(load(90, status=5), p95=700)),
        ]
        starts = [start("howdah-w4", "hello", 1), start("howdah-w8", "hello", 1, mebibytes=50)]
        self.run_ = made(samples, starts, peers=peers["peers"], rates={"hello": 100})

    def test_a_row_for_each_number(self) -> None:
        (table,) = workers.tables(self.run_)
        self.assertEqual([row[:2] for row in table.rows], [("Howdah", "4"), ("Howdah", "8")])
        self.assertEqual(table.rows[0][-3:], ("15 of 100", "30.0", "30.0"))
        self.assertEqual(table.rows[0][7], "0.70")
        self.assertEqual({len(row) for row in table.rows}, {len(table.head)})
        self.assertEqual(workers.tables(made(three_rounds(), [])), [])

    def test_the_page_draws_all_of_it_over_the_number_of_processes(self) -> None:
        run = of_processes()
        found = pictures.over_processes(run, "hello")[1:-1]
        captions = [
            "Requests per second, 8 connections",
            "Dropped at 100 req/s",
            "Median latency at 100 req/s, logarithmic",
            "p95 at 100 req/s, logarithmic",
            "Memory, idle",
            "Memory under load",
        ]
        for text, caption in zip(found, captions, strict=True):
            self.assertIn(f"<figcaption>{caption}", text)
            self.assertEqual(text.count("<polyline"), 2)
            self.assertIn("er is better", text)
        # Both latencies have one scale, so that they can be compared, and both memories too.
        for one, other in (found[2:4], found[4:6]):
            ticks = [
                re.findall(r'text-anchor="end">([\d.]+)</text>', text) for text in (one, other)
            ]
            self.assertEqual(*ticks)
        self.assertEqual(re.findall(r'"end">([\d.]+)</text>', found[2])[:2], ["20", "50"])
        for text in found:
            self.assertIn(text, html_report(run))

    def test_without_a_constant_rate_latencies_are_those_of_the_connections(self) -> None:
        run = of_processes()
        del run.info["rates"]
        run = replace(run, samples=[one for one in run.samples if not one.rate])
        captions = re.findall(
            "<figcaption>([^:<]*)", "".join(pictures.over_processes(run, "hello"))
        )
        self.assertEqual(len(captions), 5)
        self.assertIn("Median latency 8 connections, logarithmic", captions)

    def test_what_was_dropped_is_in_the_table_of_the_open_loop(self) -> None:
        for text, cells in (
            (
                markdown_report(of_processes()),
                r"\| Howdah, 4 processes \|.*\| – \| 0 \| 15 of 100 \|",
            ),
            (html_report(of_processes()), "<td>–</td><td>0</td><td>15 of 100</td></tr>"),
        ):
            self.assertRegex(text, cells)
            self.assertIn("oha tells no standard deviation", text)
        for connections in (0, 8):
            row = cell_row(of_processes(), "howdah-w4", "hello", connections)
            self.assertEqual(len(row), len(cell_head(connections)))
            self.assertEqual("dropped" in cell_head(connections), not connections)

    def test_only_equals_are_compared(self) -> None:
        self.run_.info["peers"]["howdah-w8"]["ours"] = False
        self.assertEqual(self.run_.rivals("howdah-w4"), [])

    def test_servers_are_multiplied_and_references_are_not(self) -> None:
        known = load_peers()
        peers = [known["howdah"], known["php-loop"]]
        self.assertEqual(with_workers(peers, [4]), peers)
        found = [(peer.name, peer.workers, peer.base) for peer in with_workers(peers, [4, 8])]
        self.assertEqual(
            found, [("howdah-w4", 4, "howdah"), ("howdah-w8", 8, "howdah"), ("php-loop", 0, "")]
        )


class TargetTest(unittest.TestCase):
    """Tests whether targets are met."""

    def verdicts(self, run: Run) -> dict[str, str]:
        """Returns verdicts by the measured value."""
        return {row[0]: row[1] for row in targets.table(run).rows}

    def test_the_median_decides_and_what_is_absent_is_not_measured(self) -> None:
        def under_load(samples: list[Sample]) -> Run:
            options = {**info(NAMES)["options"], "connections": [32]}
            return made(samples, [], options=options)

        rounds = [replace(one, connections=32) for one in three_rounds()]
        found = self.verdicts(under_load(rounds))
        speed = "Hello world, classic, against nginx + php-fpm: req/s"
        self.assertEqual(found[speed], "met")
        self.assertEqual(next(iter(found)), speed)
        slower = [
            replace(one, load=load(one.load.requests - 1)) if one.peer == "howdah" else one
            for one in rounds
        ]
        self.assertEqual(self.verdicts(under_load(slower))[speed], "**missed**")
        swoole = "Hello world, worker, against Swoole's own handler: req/s"
        self.assertEqual(found[swoole], "not measured")

    def test_the_best_of_several_sets_it_unless_it_sends_more(self) -> None:
        samples = [
            replace(sample(peer, 1, speed), case="text-gzip")
            for peer, speed in (("howdah", 900), ("nginx-fpm", 500), ("caddy-fpm", 700))
        ]
        sizes = {"howdah": 100, "nginx-fpm": 100, "caddy-fpm": 100}
        measure = targets.against("howdah", targets.COMPRESSORS, "text-gzip", 1.5)
        for caddy, reached in ((100, False), (200, True)):
            sizes["caddy-fpm"] = caddy
            starts = [start(peer, "text-gzip", size) for peer, size in sizes.items()]
            run = made(samples, starts, cases={"text-gzip": {"title": "T", "path": "/"}})
            (finding,) = measure(run)
            self.assertEqual(finding.reached, reached, finding)

    def test_a_database_a_cache_and_a_session_are_judged_together(self) -> None:
        facts = {
            "peers": info({"howdah-worker": "W", "nginx-fpm": "N", "frankenphp-worker": "F"})[
                "peers"
            ],
            "cases": {"all": {"title": "All", "path": "/"}},
        }
        speeds = {"howdah-worker": 700, "nginx-fpm": 200, "frankenphp-worker": 600}
        samples = [replace(sample(peer, 1, rate), case="all") for peer, rate in speeds.items()]
        found = self.verdicts(made(samples, [], **facts))
        words = "A handler with a database, a cache and a session, worker"
        self.assertEqual(found[f"{words}, against nginx + php-fpm: req/s"], "met")
        self.assertEqual(found[f"{words}, against FrankenPHP worker: req/s"], "**missed**")
        self.assertEqual(found[f"{words}: failed requests"], "met")
        self.assertLessEqual({*targets.STORES, *targets.FRAMEWORKS}, set(load_cases()))

    def test_a_run_about_something_else_has_none(self) -> None:
        run = made([sample("caddy-fpm", 1, 5)], [])
        self.assertFalse(targets.applies(run))
        self.assertNotIn("## Targets", markdown_report(run))

    def test_memory_of_one_more_process(self) -> None:
        names = info({"howdah-worker-w4": "W, 4 processes", "howdah-worker-w8": "W, 8 processes"})
        for count, facts in zip((4, 8), names["peers"].values(), strict=True):
            facts.update(workers=count, base="howdah-worker")
        for large, reached in ((42, True), (43, False)):
            starts = [
                start("howdah-worker-w4", "hello", 1),
                start("howdah-worker-w8", "hello", 1, mebibytes=large),
            ]
            (found,) = targets.memory_per_worker(made([], starts, peers=names["peers"]))
            self.assertEqual(found.reached, reached, found)


class KnownTest(unittest.TestCase):
    """Tests reported problems of other servers."""

    def test_failures_of_those_who_connect_for_each_request(self) -> None:
        peers = {"howdah-worker": "Howdah worker", "nginx-fpm": "nginx + php-fpm"}
        facts = {"cases": {"all": {"title": "All", "path": "/"}}, "peers": info(peers)["peers"]}
        for failed, came_out in ((7, True), (0, False)):
            samples = [
                replace(sample("howdah-worker", 1, 900), case="all"),
                replace(sample("nginx-fpm", 1, 100), case="all", load=load(100, status=failed)),
            ]
            starts = [
                replace(start("howdah-worker", "all", 1), database_connections=4),
                replace(start("nginx-fpm", "all", 1), database_connections=90),
            ]
            (found,) = known.failures("all")(made(samples, starts, **facts))
            text = f"{failed} and 0 failed with 90 and 4 connections at the database"
            self.assertTrue(found.text.startswith(text), found.text)
            self.assertEqual(found.reached, came_out)
            # Four processes are far from the limit, as the finding shows.
            self.assertEqual("cannot come out with 4 processes" in found.text, not came_out)
            samples[1] = replace(samples[1], problem="all of it failed")
            (found,) = known.failures("all")(made(samples, starts, **facts))
            self.assertEqual(found.reached, came_out)

    def test_a_tail_is_longer_than_another(self) -> None:
        facts = {"peers": info({"apache-prefork": "Apache", "nginx-fpm": "nginx"})["peers"]}
        for long, came_out in ((900 * 2, True), (900, False)):
            slow = replace(sample("apache-prefork", 1, 900), load=load(900, p99=long))
            run = made([slow, sample("nginx-fpm", 1, 900)], [], **facts)
            (found,) = known.tail(run)
            self.assertEqual(found.reached, came_out, found)
            self.assertTrue(known.applies(run))
            self.assertIn("## Findings of others", markdown_report(run))


class MoreTest(unittest.TestCase):
    """Tests a report of several runs."""

    def test_other_runs_are_copied_and_shown(self) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            first, second = Path(scratch) / "first", Path(scratch) / "second"
            recorded(first, three_rounds())
            options = {**info(NAMES)["options"], "title": "Something else"}
            recorded(second, three_rounds(), options=options)
            write_reports(first, more=[second])
            run = load_run(first)
            self.assertEqual(
                [one.info["options"].get("title") for one in run.more], [options["title"]]
            )
            for name in ("report.md", "report.html"):
                self.assertIn("Something else: a run of its own", (first / name).read_text())
            write_reports(first, more=[second])
            self.assertEqual(len(load_run(first).more), 1, "once, however often it is named")
            recorded(Path(scratch) / "half", three_rounds(), complete=False)
            write_reports(first, more=[Path(scratch) / "half"])
            self.assertEqual(len(load_run(first).more), 2, "beside the one from before")
            with self.assertRaisesRegex(BenchError, "interrupted"):
                publish(first, "x", Path(scratch) / "results", Path(scratch) / "page.md")
            with self.assertRaisesRegex(BenchError, r"run\.json is missing"):
                write_reports(first, more=[Path(scratch)])


if __name__ == "__main__":
    unittest.main()
