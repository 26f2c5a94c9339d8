"""The parts of `make bench`."""

from __future__ import annotations

import io
import tempfile
import unittest
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

from bench.harness import before, cli, plan, whole
from bench.harness.arguments import parser
from bench.harness.cases import load_cases
from bench.harness.cli import options_of
from bench.harness.errors import BenchError
from bench.harness.peers import load_peers
from bench.tests.fixtures import recorded, three_rounds

if TYPE_CHECKING:
    import argparse


class WholeTest(unittest.TestCase):
    """Tests that they run one after another, into one report."""

    def parts(self, *arguments: str) -> list[whole.Part]:
        """Returns the parts of a command line."""
        return whole.parts(parser().parse_args(["all", *arguments]))

    def test_an_earlier_build_is_compared_only_if_there_is_one(self) -> None:
        names = [part.name for part in self.parts()]
        self.assertEqual(names, ["main", "exit", "observe", "profile", "replace"])
        (_, _, part, *_) = self.parts("--against", "/x")
        self.assertEqual((part.name, part.argv[-1]), ("before", "--against=/x"))
        (part,) = self.parts("--part", "replace", "--php-ini", "a=1")
        self.assertEqual(part.argv, ("faults", "--fault=replace", "--php-ini=a=1"))
        with self.assertRaises(SystemExit), mock.patch("sys.stderr", new_callable=io.StringIO):
            self.parts("--part", "rest")
        with self.assertRaisesRegex(BenchError, "--against PATH"):
            cli.all_command(parser().parse_args(["all", "--part", "before"]))

    def test_each_takes_as_long_as_it_is_said_to(self) -> None:
        for name, minutes in (("exit", 4.4), ("before", 4)):
            (part,) = self.parts("--part", name, "--against", "/x")
            arguments = parser().parse_args(part.argv)
            with mock.patch("bench.harness.cli.find_oha", return_value="oha"):
                options = options_of(arguments)
            known = load_peers()
            peers = [known[peer] for peer in arguments.peer]
            if name == "before":
                peers = before.with_before(peers, Path(__file__))
            cases = [load_cases()[case] for case in arguments.case]
            seconds = plan.estimate_seconds(options, plan.turns(options, peers, cases), len(cases))
            self.assertLess(seconds, minutes * 60, name)
            self.assertGreater(seconds, minutes * 60 * 0.8, name)

    def test_the_first_part_has_the_folder_and_the_others_go_below(self) -> None:
        done: list[tuple[str, str]] = []

        def ran(arguments: argparse.Namespace) -> int:
            done.append((arguments.command, arguments.out.name))
            if arguments.command == "run":
                recorded(arguments.out, three_rounds())
            return 1 if len(done) == 1 else 0

        with (
            tempfile.TemporaryDirectory() as scratch,
            mock.patch.dict(cli.COMMANDS, {"run": ran, "profiler": ran, "faults": ran}),
            mock.patch("sys.stderr", new_callable=io.StringIO),
            mock.patch("sys.stdout", new_callable=io.StringIO) as said,
        ):
            status = cli.main(["all", "--against", __file__, "--out", f"{scratch}/whole"])
            report = (Path(scratch) / "whole" / "report.md").read_text()
        self.assertEqual(status, 1)
        self.assertEqual(
            done,
            [
                ("run", "whole"),
                ("run", "1-exit"),
                ("run", "2-before"),
                ("run", "3-observe"),
                ("profiler", "profile"),
                ("faults", "faults"),
            ],
        )
        self.assertEqual(report.count("## Leaderboard"), 4)
        self.assertIn("whole/report.html", said.getvalue())

    def test_a_part_that_fails_does_not_keep_the_others_back_and_an_interruption_does(self) -> None:
        for error, count in ((BenchError("not here"), 2), (None, 1)):
            ran = mock.Mock(side_effect=error, return_value=cli.INTERRUPTED)
            with (
                tempfile.TemporaryDirectory() as scratch,
                mock.patch.dict(cli.COMMANDS, {"run": ran, "faults": ran}),
                mock.patch("sys.stderr", new_callable=io.StringIO) as said,
            ):
                given = ["all", "--part", "main,replace", "--out", f"{scratch}/whole"]
                status = cli.main(given)
            self.assertEqual(ran.call_count, count)
            self.assertEqual(status, 1 if error else cli.INTERRUPTED)
            self.assertEqual("main: not here" in said.getvalue(), error is not None)


if __name__ == "__main__":
    unittest.main()
