"""Goals over several runs, and targets for few processes with coroutines."""

from __future__ import annotations

import unittest
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.harness import coroutines, goals, known, targets
from bench.harness.report_html import html_report
from bench.harness.report_markdown import markdown_report
from bench.harness.results import Run, Sample
from bench.tests.fixtures import info, load, sample, three_rounds

NAMES = {"howdah": "Howdah", "nginx-fpm": "nginx + php-fpm"}
SPEED = "Hello world, classic, against nginx + php-fpm: req/s"


def beside(howdah: int, connections: int) -> list[Sample]:
    """Returns a round of both with that many connections, where nginx serves a thousand."""
    answers = (("howdah", howdah), ("nginx-fpm", 1000))
    return [replace(sample(peer, 1, count), connections=connections) for peer, count in answers]


def made(howdah: int, title: str = "", *more: Run, started: str = "2026-01-02T03:04:05") -> Run:
    """Returns a run with one round at 32 connections."""
    facts = {**info(NAMES), "complete": True, "started": started}
    facts["options"].update(title=title, connections=[32])
    return Run(Path("nowhere"), facts, beside(howdah, 32), [], more=list(more))


def row(run: Run, work: str = SPEED) -> tuple[str, str]:
    """Returns verdict and figures of a target."""
    found = next(one for one in targets.table(run).rows if one[0] == work)
    return found[1], found[3]


class SeveralRunsTest(unittest.TestCase):
    """Tests a report that includes other runs."""

    def test_the_worst_run_decides_wherever_it_is(self) -> None:
        for first, second, verdict in (
            (5000, 4000, "met"),
            (5000, 3900, "**missed**"),
            (3900, 5000, "**missed**"),
        ):
            found = row(made(first, "", made(second, "Compression")))
            self.assertEqual(found[0], verdict)
            shown = [f"**{speed / 1000:.2f}x**" for speed in (first, second)]
            begin = [f"Main run: {shown[0]} ", f"Compression: {shown[1]} "]
            for line, words in zip(found[1].split("\n"), begin, strict=True):
                self.assertTrue(line.startswith(words), line)

    def test_a_run_that_did_not_measure_it_has_no_line(self) -> None:
        other = replace(made(3900, "Files"), samples=[])
        self.assertEqual(row(made(4000, "", other)), row(made(4000)))
        self.assertEqual(row(made(4000))[1], "**4.00x** (4.00–4.00) at 32 connections")

    def test_a_load_that_it_is_not_about_is_shown_and_not_judged(self) -> None:
        def at(connections: list[int], speeds: list[int]) -> Run:
            run = made(0)
            run.info["options"]["connections"] = connections
            both = (beside(*one) for one in zip(speeds, connections, strict=True))
            return replace(run, samples=[one for each in both for one in each])

        few = "**3.90x** (3.90–3.90) at 8 connections"
        self.assertEqual(row(at([8], [3900])), ("not measured", few))
        many = "**4.00x** (4.00–4.00) at 32 connections"
        self.assertEqual(row(at([8, 32], [3900, 4000])), ("met", f"{few}; {many}"))
        self.assertEqual(row(at([8, 32], [4000, 3900]))[0], "**missed**")

    def test_runs_of_the_same_name_are_told_apart(self) -> None:
        twice = [made(4000, "Cases", started=f"2026-01-0{day}T03:04:05") for day in (2, 3)]
        run = made(4000, "", *twice)
        self.assertEqual(
            goals.labels(goals.runs_of(run)),
            ["Main run", "Cases (2026-01-02 03:04)", "Cases (2026-01-03 03:04)"],
        )

    def test_each_run_has_a_line_in_both_reports(self) -> None:
        run = made(4000, "", made(3900, "Compression"))
        self.assertIn("at 32 connections<br>Compression: **3.90x**", markdown_report(run))
        self.assertIn("at 32 connections<br>Compression: <b>3.90x</b>", html_report(run))

    def test_findings_of_others_are_judged_by_all_runs_too(self) -> None:
        names = info({"apache-prefork": "Apache", "nginx-fpm": "nginx"})["peers"]

        def tailed(p99: int, *more: Run) -> Run:
            slow = replace(sample("apache-prefork", 1, 900), load=load(900, p99=p99))
            facts = {**info(NAMES), "complete": True, "peers": names}
            samples = [slow, sample("nginx-fpm", 1, 900)]
            return Run(Path("nowhere"), facts, samples, [], more=list(more))

        for second, verdict in ((1800, "came out"), (900, "**did not**")):
            rows = known.table(tailed(1800, tailed(second))).rows
            found = next(one for one in rows if one[0].startswith("Apache prefork"))
            self.assertEqual(found[1], verdict)
            self.assertEqual(found[3].count("p99 is"), 2)


class CoroutinesTest(unittest.TestCase):
    """Tests four processes at a constant rate, which wait 23 ms in each request."""

    def made(self, name: str = "howdah-coroutines-w4", **figures: int) -> Run:
        """Returns two seconds at 450 requests per second with these figures."""
        facts: dict[str, Any] = {**info({name: "C"}), "complete": True}
        facts["peers"][name].update(workers=4, base="howdah-coroutines", ours=True)
        facts["cases"] = {"statements": {"title": "S", "about": "", "path": "/"}}
        facts["rates"] = {"statements": 450}
        answers = {"requests": 450, "p50": 25_000, "p95": 60_000, **figures}
        one = replace(
            sample(name, 1, 450), case="statements", rate=450, load=replace(load(450), **answers)
        )
        return Run(Path("nowhere"), facts, [one, replace(one, round=2)], [])

    def verdicts(self, run: Run) -> dict[str, str]:
        """Returns the verdicts by the last words of the measured value."""
        return {
            one.work.partition(": ")[2]: "".join(
                "+" if found.reached else "-" for found in one.measure(run)
            )
            for one in coroutines.targets()
        }

    def test_each_of_them_has_its_bound(self) -> None:
        p50, p95 = "median latency over the bare wait", "p95 over the bare wait"
        answered = "answered of a constant rate"
        failed = "failed requests at a constant rate"
        for figures, work, verdict in (
            ({"p50": 29_900}, p50, "+"),
            ({"p50": 30_000}, p50, "-"),
            ({"p95": 69_000}, p95, "+"),
            ({"p95": 69_100}, p95, "-"),
            ({"requests": 441}, answered, "+"),
            ({"requests": 440}, answered, "-"),
            ({"status": 10}, answered, "-"),
            ({}, failed, "+"),
            ({"timeout": 1}, failed, "-"),
            ({"status": 1}, failed, "-"),
        ):
            for name in ("howdah-coroutines-w4", "howdah-coroutines"):
                with self.subTest(figures, work=work, name=name):
                    self.assertEqual(self.verdicts(self.made(name, **figures))[work], verdict)

    def test_samples_that_do_not_count_have_their_failures_counted(self) -> None:
        run = self.made(timeout=3, requests=447)
        samples = [replace(one, problem="3 of 447 requests failed") for one in run.samples]
        found = self.verdicts(replace(run, samples=samples))
        self.assertEqual(found["failed requests at a constant rate"], "-")
        self.assertEqual(found["p95 over the bare wait"], "")

    def test_figures_and_rate_are_told(self) -> None:
        (found,) = coroutines.answered(self.made(requests=440))
        self.assertEqual(found.text, "**97.78%**, 20 of 900 dropped")
        self.assertEqual(found.where, "450 req/s")
        (found,) = coroutines.latency("p95", 3)(self.made())
        self.assertEqual(found.text, "**2.61x**")

    def test_other_numbers_of_processes_are_something_else(self) -> None:
        run = self.made("howdah-coroutines")
        run.info["peers"]["howdah-coroutines"]["workers"] = 8
        self.assertEqual(set(self.verdicts(run).values()), {""})
        self.assertEqual(
            set(self.verdicts(Run(Path(), info(NAMES), three_rounds(), [])).values()), {""}
        )

    def test_they_are_among_the_targets(self) -> None:
        works = [one.work for one in targets.targets()]
        self.assertLessEqual({one.work for one in coroutines.targets()}, set(works))
        self.assertEqual(len(works), len(set(works)))


if __name__ == "__main__":
    unittest.main()
