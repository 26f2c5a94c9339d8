"""Comparison with an earlier build."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path
from unittest import mock

from bench.harness import before, plan
from bench.harness.arguments import parser
from bench.harness.cases import load_cases
from bench.harness.cli import begin, resume
from bench.harness.errors import BenchError
from bench.harness.peers import Binary, load_peers, with_workers
from bench.harness.results import Run
from bench.tests.fixtures import info, recorded, sample, three_rounds

NAMES = {"howdah-worker": "Howdah worker", "howdah-worker-before": "Howdah worker, before"}


class PeerTest(unittest.TestCase):
    """Peers of a run with `--against`."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.scratch = Path(folder.name)
        self.program = self.scratch / "howdah"
        self.program.touch()

    def test_each_howdah_has_its_earlier_build_behind_it(self) -> None:
        known = load_peers()
        peers = [known[name] for name in ("howdah", "nginx-fpm", "howdah-worker")]
        found = before.with_before(peers, self.program)
        names = ["howdah", "howdah-before", "nginx-fpm", "howdah-worker", "howdah-worker-before"]
        self.assertEqual([peer.name for peer in found], names)
        earlier = found[-1]
        self.assertEqual(earlier.binaries["howdah"].find(), str(self.program))
        self.assertEqual((earlier.before, earlier.ours), ("howdah-worker", False))
        self.assertEqual(earlier.commands, found[-2].commands)
        self.assertEqual(before.with_before(peers, None), peers)

    def test_it_is_no_rival_that_sets_the_rate(self) -> None:
        known = load_peers()
        peers = [known[name] for name in ("howdah", "nginx-fpm")]
        found = plan.baseline(before.with_before(peers, self.program), load_cases()["hello"])
        self.assertEqual(getattr(found, "name", None), "nginx-fpm")

    def test_several_numbers_of_processes_are_those_of_both(self) -> None:
        peers = before.with_before([load_peers()["howdah"]], self.program)
        found = {peer.name: peer.before for peer in with_workers(peers, [4, 8])}
        self.assertEqual(found["howdah-before-w8"], "howdah")

    def test_what_is_not_there_is_named(self) -> None:
        howdah = load_peers()["howdah"]
        with self.assertRaisesRegex(BenchError, "no such file"):
            before.with_before([howdah], self.scratch / "none")
        with self.assertRaisesRegex(BenchError, "builds of Howdah"):
            before.with_before([load_peers()["nginx-fpm"]], self.program)

    def test_a_run_that_goes_on_has_it_again(self) -> None:
        arguments = ["run", "--peer", "howdah-worker", "--case", "hello,exit", "--rate", "0"]
        given = [*arguments, "--against", str(self.program), "--out", str(self.scratch / "run")]
        with mock.patch.object(Binary, "find", return_value="/bin/true"):
            recorder, _, peers, cases = begin(parser().parse_args(given))
            again = parser().parse_args(["run", "--resume", str(recorder.folder)])
            _, _, peers_again, cases_again = resume(again)
        self.assertEqual([peer.name for peer in peers], list(NAMES))
        self.assertEqual(peers_again, peers)
        self.assertEqual([case.name for case in cases_again], ["hello", "exit"])
        self.assertEqual(cases_again, cases)


class TargetTest(unittest.TestCase):
    """The target of not being slower than before."""

    def measure(self, *ratios: float, kind: str = "ratio") -> list[bool | None]:
        """Whether this ratio of requests is enough."""
        facts = info(NAMES)
        facts["peers"]["howdah-worker-before"]["before"] = "howdah-worker"
        samples = [
            sample(name, number, 1000, cpu=0.1 / speed)
            if kind == "cpu_ratio"
            else sample(name, number, round(1000 * speed))
            for number, ratio in enumerate(ratios, 1)
            for name, speed in (("howdah-worker", ratio), ("howdah-worker-before", 1))
        ]
        run = Run(Path("nowhere"), facts, samples, [])
        return [one.reached for one in before.not_slower("hello", kind)(run)]

    def test_it_is_slower_where_all_rounds_say_so_or_the_median_is_far_below(self) -> None:
        for kind in ("ratio", "cpu_ratio"):
            for ratios, reached in (
                ((1.02, 1.01, 1.03), True),
                ((0.97, 0.98, 1.01), True),
                ((0.97, 0.98, 0.99), False),
                ((0.9, 0.94, 1.1), False),
            ):
                with self.subTest(kind, ratios=ratios):
                    self.assertEqual(self.measure(*ratios, kind=kind), [reached])

    def test_a_run_without_an_earlier_build_says_nothing(self) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            run = recorded(Path(scratch) / "run", three_rounds())
            self.assertEqual(before.not_slower("hello", "ratio")(run), [])


if __name__ == "__main__":
    unittest.main()
