"""Samples of which the host of the machine used too much."""

from __future__ import annotations

import tempfile
import unittest
from dataclasses import replace
from pathlib import Path

from bench.harness import figures, steal
from bench.harness.recorder import Recorder
from bench.harness.results import load_run
from bench.tests.fixtures import info, sample


class ChoiceTest(unittest.TestCase):
    """Tests which of the samples counts."""

    def choose(self, *shares: float, room: bool = True) -> tuple[float, list[float], int]:
        """Returns the share of the one that counts, those of the rest, and their number."""
        left = list(shares)
        aside: list[float] = []

        def keep(one: float) -> bool:
            aside.append(one)
            return room

        best = steal.least_stolen(lambda: left.pop(0), lambda one: one, keep)
        return best, aside, len(shares) - len(left)

    def test_a_good_one_is_not_repeated(self) -> None:
        """A sample at the limit is good."""
        self.assertEqual(self.choose(steal.TOO_MUCH, 0.0), (steal.TOO_MUCH, [], 1))

    def test_the_least_stolen_counts(self) -> None:
        """Samples are repeated until one is good, twice at most."""
        self.assertEqual(self.choose(0.5, 0.02, 0.0), (0.02, [0.5], 2))
        self.assertEqual(self.choose(0.3, 0.5, 0.4, 0.0), (0.3, [0.5, 0.4], 3))

    def test_a_run_does_not_repeat_for_ever(self) -> None:
        """Enough samples have been set aside."""
        self.assertEqual(self.choose(0.3, 0.2, 0.0, room=False), (0.2, [0.3], 2))

    def test_a_failure_counts_whatever_the_host_did(self) -> None:
        """A failure is neither repeated until it disappears nor replaced by a good sample."""
        stolen = replace(sample("howdah", 1, 1000), steal_seconds=1.5)
        self.assertEqual(stolen.stolen(2), 0.75)
        failed = replace(stolen, problem="3 of 1000 requests failed")
        left = [stolen, failed, sample("howdah", 1, 1000)]
        best = steal.least_stolen(lambda: left.pop(0), lambda one: one.stolen(2), lambda _one: True)
        self.assertIs(best, failed)


class RecordTest(unittest.TestCase):
    """Tests the record of samples that do not count."""

    def test_they_are_kept_and_told(self) -> None:
        """They are in a separate file, and in the description of the method."""
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch) / "run"
            recorder = Recorder(folder, info({"howdah": "Howdah"}))
            recorder.sample(sample("howdah", 1, 1000), "")
            quiet = " ".join(figures.method(load_run(folder)))
            self.assertNotIn("taken again", quiet)
            self.assertEqual(recorder.set_aside(sample("howdah", 1, 10)), 1)
            self.assertEqual(recorder.set_aside(sample("howdah", 1, 20)), 2)
            run = load_run(folder)
        self.assertEqual([one.load.requests for one in run.samples], [1000])
        self.assertIn("2 were set aside", " ".join(figures.method(run)))


if __name__ == "__main__":
    unittest.main()
