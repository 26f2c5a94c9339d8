"""CPUs of the load generators and of the servers, and those of started processes."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

from bench.harness import choose, figures, server
from bench.harness.cases import Case, Site, load_cases
from bench.harness.cores import Split, first_sibling, on, ranges, split
from bench.harness.errors import BenchError
from bench.harness.load import Wrk
from bench.harness.peers import Binary, Command, load_peers
from bench.harness.plan import Options
from bench.harness.progress import Progress
from bench.harness.recorder import Recorder
from bench.harness.reference import loop
from bench.harness.report_html import html_report
from bench.harness.report_markdown import markdown_report
from bench.harness.results import load_run
from bench.harness.runner import Runner
from bench.tests.fixtures import info, recorded, three_rounds
from bench.tests.test_references import SERVER

OPTIONS = Options([2], 1, 1, 1, 1, 4)
# Logs the CPUs that it may use.
TELLING = f"import os\nprint('may use', *sorted(os.sched_getaffinity(0)), flush=True)\n{SERVER}"
SPLIT = {"load": [3], "servers": [0, 1, 2]}


def itself(cpu: int) -> int:
    """Treats each CPU as a core."""
    return cpu


class SplitTest(unittest.TestCase):
    """Tests the division of CPUs."""

    def test_few_are_not(self) -> None:
        for count in (1, 2, 3):
            self.assertIsNone(split(range(count), itself))

    def test_a_quarter_is_the_load_generators(self) -> None:
        for count, load in ((4, (3,)), (7, (6,)), (8, (6, 7)), (16, (12, 13, 14, 15))):
            found = split(range(count), itself)
            self.assertEqual(found, Split(load, tuple(range(count - len(load)))))

    def test_those_that_the_process_may_use_count(self) -> None:
        self.assertEqual(split({9, 2, 5, 30}, itself), Split((30,), (2, 5, 9)))

    def test_threads_of_a_core_stay_together(self) -> None:
        # CPUs 0 and 4 are one core, 1 and 5 the next, as on most machines.
        self.assertEqual(split(range(8), lambda cpu: cpu % 4), Split((3, 7), (0, 1, 2, 4, 5, 6)))

    def test_cores_are_read_from_the_kernel(self) -> None:
        for text, core in (("2-3\n", 2), ("1,5\n", 1), ("7\n", 7)):
            with mock.patch("pathlib.Path.read_text", return_value=text):
                self.assertEqual(first_sibling(7), core)
        with mock.patch("pathlib.Path.read_text", side_effect=FileNotFoundError):
            self.assertEqual(first_sibling(7), 7)

    def test_ranges(self) -> None:
        self.assertEqual(
            [ranges(one) for one in ([3], {2, 0, 1}, [5, 0, 1])], ["3", "0-2", "0-1, 5"]
        )


class RecordTest(unittest.TestCase):
    """Tests the values in run.json and in the reports."""

    def facts(self, cpus: int) -> Any:  # noqa: ANN401  JSON
        """Returns the recorded values for a machine with this number of CPUs."""
        with (
            mock.patch("os.sched_getaffinity", return_value=set(range(cpus))),
            mock.patch("bench.harness.cores.first_sibling", itself),
        ):
            peers = [load_peers()["howdah"]]
            return choose.describe(OPTIONS, peers, [load_cases()["hello"]])["machine"]["cores"]

    def test_it_is_recorded_and_read_again(self) -> None:
        self.assertIsNone(self.facts(2))
        self.assertIsNone(Split.recorded(None))
        found = self.facts(8)
        with mock.patch("os.sched_getaffinity", return_value=set(range(8))):
            self.assertEqual(Split.recorded(found), Split((6, 7), tuple(range(6))))
        with (
            mock.patch("os.sched_getaffinity", return_value={0, 1, 7}),
            self.assertRaisesRegex(BenchError, "2-6 are missing"),
        ):
            Split.recorded(found)

    def test_the_method_says_which_of_both(self) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            run = recorded(Path(scratch) / "run", three_rounds())
            for text in (markdown_report(run), html_report(run)):
                self.assertIn("Nothing is pinned to a CPU.", text)
            other = replace(run, info={**run.info, "machine": {**run.info["machine"]}})
            self.assertNotIn("pinned", figures.other_method(run, other))
            run.info["machine"].update(cores=SPLIT, cpus=4)
            for text in (markdown_report(run), html_report(run)):
                self.assertIn("of 4 CPUs the load generators have 1 to themselves (3)", text)
                self.assertIn("have 3 (0-2)", text)
                self.assertNotIn("take their share", text)
            self.assertIn("Nothing is pinned", figures.other_method(run, other))

    def test_servers_are_told_of_their_own_cpus(self) -> None:
        setup = server.Setup(8, {}, (0, 1, 2))
        with tempfile.TemporaryDirectory() as scratch:
            peer = replace(load_peers()["hyper"], binaries={})
            values = server.variables(peer, setup, Path(scratch), {}, 1)
        self.assertEqual((values["cpus"], values["front_threads"]), ("3", "1"))
        self.assertEqual(values["idle_upstream"], "2")


@unittest.skipUnless(len(os.sched_getaffinity(0)) > 1, "needs 2 CPUs")
class PinnedTest(unittest.TestCase):
    """Tests real processes."""

    def setUp(self) -> None:
        self.before = os.sched_getaffinity(0)
        self.split = Split((max(self.before),), (min(self.before),))

    def test_a_child_inherits_and_the_harness_stays_as_it_was(self) -> None:
        command = [sys.executable, "-c", "import os; print(*os.sched_getaffinity(0))"]
        for cpus in (self.split.load, self.split.servers):
            with on(cpus):
                child = subprocess.run(command, capture_output=True, text=True, check=True)
            self.assertEqual(child.stdout.split(), [str(cpu) for cpu in cpus])
            self.assertEqual(os.sched_getaffinity(0), self.before)
        with on(None):
            self.assertEqual(os.sched_getaffinity(0), self.before)
        with self.assertRaises(FileNotFoundError), on(self.split.load):
            subprocess.run(["/nowhere/wrk"], check=False)
        self.assertEqual(os.sched_getaffinity(0), self.before)

    def test_a_loop_has_those_of_the_servers(self) -> None:
        command = [sys.executable, "-c", "import os; print(*os.sched_getaffinity(0))"]
        with (
            tempfile.TemporaryDirectory() as scratch,
            on(self.split.servers),
            loop(command, Path(scratch), {}) as process,
        ):
            output, _ = process.communicate()
        self.assertEqual(output.split(), [str(cpu) for cpu in self.split.servers])

    @unittest.skipUnless(shutil.which("wrk"), Wrk.hint)
    def test_a_run_keeps_both_apart(self) -> None:
        fake = replace(
            load_peers()["hyper"],
            binaries={"python": Binary((sys.executable,), (), "")},
            commands=(Command("python", ("{{python}}", "-c", TELLING, "{{port}}")),),
        )
        facts = info({"howdah": "Howdah"})
        facts["machine"]["cores"] = self.split.facts()
        generators: list[set[int]] = []
        installs: list[set[int]] = []
        install = Case.install

        class Watched(Wrk):
            """A group that is inspected while it runs."""

            def __init__(self, *arguments: Any, **options: Any) -> None:  # noqa: ANN401
                super().__init__(*arguments, **options)
                generators.append(os.sched_getaffinity(self._process.pid))

        def watched(case: Case, *arguments: Any) -> Site:  # noqa: ANN401
            installs.append(os.sched_getaffinity(0))
            return install(case, *arguments)

        with (
            tempfile.TemporaryDirectory() as scratch,
            mock.patch("bench.harness.phpini.distribution_conf_d", return_value="/nowhere"),
            mock.patch("bench.harness.runner.Wrk", Watched),
            mock.patch.object(Case, "install", watched),
        ):
            recorder = Recorder(Path(scratch) / "run", facts)
            (Path(scratch) / "temporary").mkdir()
            said = io.StringIO()
            cases = [load_cases()["hello"]]
            runner = Runner(OPTIONS, [fake], cases, recorder, Progress(1, said))
            self.assertTrue(runner.run(Path(scratch) / "temporary"), said.getvalue())
            (log,) = (recorder.folder / "peers").glob("**/python.log")
            told = log.read_text()
            self.assertEqual(load_run(recorder.folder).problems(), [])
        # The warm-up and the sample, which is repeated if the host used much of the machine.
        self.assertGreaterEqual(len(generators), 2)
        for cpus in generators:
            self.assertEqual(cpus, set(self.split.load))
        self.assertEqual(installs, [set(self.split.servers)])
        self.assertIn(f"may use {self.split.servers[0]}\n", told)


if __name__ == "__main__":
    unittest.main()
