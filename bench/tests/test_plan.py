"""Plan of a run: its turns, order and duration, and when a sample does not count."""

from __future__ import annotations

import dataclasses
import io
import os
import shlex
import subprocess
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from bench.harness import choose, conditions
from bench.harness.application import LooseCheck
from bench.harness.arguments import parser
from bench.harness.cases import Case, Check, load_cases
from bench.harness.cli import begin, options_of
from bench.harness.errors import BenchError
from bench.harness.load import size_problem, without_closes
from bench.harness.peers import REPOSITORY, Binary, Peer, absent_peers, load_peers, with_workers
from bench.harness.plan import (
    Options,
    Turn,
    baseline,
    estimate_seconds,
    rotated,
    turns,
    two_digits,
)
from bench.harness.report_markdown import markdown_report
from bench.harness.results import load_run
from bench.tests.fixtures import load


def chosen(*names: str) -> list[Peer]:
    """Returns peers of the repository, whether they are installed or not."""
    known = load_peers()
    return [known[name] for name in names]


def cases(*names: str) -> list[Case]:
    """Returns cases of the repository."""
    known = load_cases()
    return [known[name] for name in names]


class PlanTest(unittest.TestCase):
    """Tests order, time, and judgement of samples."""

    def test_each_peer_goes_first_once(self) -> None:
        peers = chosen("howdah", "nginx-fpm", "caddy-fpm")
        first = [rotated(peers, number)[0].name for number in range(3)]
        self.assertEqual(first, ["howdah", "nginx-fpm", "caddy-fpm"])

    def default_seconds(self, *arguments: str) -> float:
        """Returns the duration of a run without names with all of Debian's servers installed."""
        with mock.patch("bench.harness.cli.find_oha", return_value="oha"):
            options = options_of(parser().parse_args(["run", *arguments]))
        elsewhere = {"frankenphp", "roadrunner", "swoole", "swoole-threads"}
        peers = [
            peer
            for peer in load_peers().values()
            if peer.share != "no" and peer.folder.name not in elsewhere
        ]
        found = cases(*choose.DEFAULT_CASES)
        return estimate_seconds(options, turns(options, peers, found), len(found))

    def test_the_default_run_takes_about_20_minutes_and_the_quick_one_6(self) -> None:
        self.assertLess(self.default_seconds(), 21 * 60)
        self.assertGreater(self.default_seconds(), 15 * 60)
        self.assertLess(self.default_seconds("--quick"), 6 * 60)

    def test_the_suites_of_the_makefile_take_as_long_as_it_says(self) -> None:
        for suite, minutes in (
            ("compression", 8),
            ("static", 4),
            ("cases", 22),
            ("redis", 4),
            ("coroutines", 16),
        ):
            with self.subTest(suite):
                said = subprocess.run(
                    ["make", "-n", "-s", "--no-print-directory", "-C", "bench", suite, "ARGS="],
                    cwd=REPOSITORY,
                    capture_output=True,
                    text=True,
                    check=True,
                    env={**os.environ, "MAKEFLAGS": ""},
                )
                words = shlex.split(said.stdout.replace("\\\n", " "))
                arguments = parser().parse_args(words[words.index("bench") + 1 :])
                with mock.patch("bench.harness.cli.find_oha", return_value="oha"):
                    options = options_of(arguments)
                peers = with_workers(chosen(*arguments.peer), arguments.workers)
                plan = turns(options, peers, cases(*arguments.case))
                seconds = estimate_seconds(options, plan, len(arguments.case))
                self.assertLess(seconds, minutes * 60)
                self.assertGreater(seconds, minutes * 60 / 2)

    def test_fewer_rounds_are_for_runs_without_named_peers(self) -> None:
        options = Options([8], 1, 1, 3, 2, 4, few_rounds=2)
        peers = chosen("howdah", "caddy-fpm")
        plan = turns(options, peers, cases("hello"))
        self.assertEqual([turn.peer.name for turn in plan].count("howdah"), 3)
        self.assertEqual([turn.peer.name for turn in plan].count("caddy-fpm"), 2)
        named = dataclasses.replace(options, few_rounds=None)
        self.assertEqual(len(turns(named, peers, cases("hello"))), 6)

    def test_what_a_peer_does_not_offer_is_no_turn(self) -> None:
        options = Options([8, 32], 1, 1, 1, 2, 4, open_share=0.5)
        servers = ("howdah", "howdah-worker", "haproxy-fpm", "php-loop", "swoole")
        peers = chosen(*servers, "swoole-coroutines")
        names = ("hello", "static", "laravel", "symfony", "upload", "mixed", "slow", "redis")
        found = {
            case: [turn.peer.name for turn in turns(options, peers, cases(case))]
            for case in (*names, "redis-cache", "redis-session")
        }
        self.assertEqual(len(found["hello"]), 5)
        self.assertEqual(found["static"], ["howdah"])
        self.assertEqual(found["laravel"], ["howdah", "haproxy-fpm"])
        self.assertIn("swoole", found["symfony"])
        self.assertIn("howdah-worker", found["symfony"])
        self.assertNotIn("php-loop", found["upload"])
        self.assertNotIn("php-loop", found["mixed"])
        # It sends no cookie.
        self.assertNotIn("php-loop", found["redis"])
        self.assertNotIn("php-loop", found["redis-session"])
        self.assertIn("php-loop", found["redis-cache"])
        self.assertNotIn("php-loop", found["slow"])
        self.assertNotIn("swoole-coroutines", found["symfony"])
        both = turns(options, chosen("howdah-worker", "howdah-coroutines"), cases("codeigniter"))
        self.assertEqual([turn.peer.name for turn in both], ["howdah-worker"])
        octane = ("howdah-octane", "swoole-octane", "frankenphp-octane")
        through = turns(options, [*peers, *chosen(*octane)], cases("laravel-octane"))
        self.assertEqual(
            [turn.peer.name for turn in through], ["howdah", "haproxy-fpm", "php-loop", *octane]
        )
        self.assertEqual(turns(options, chosen(*octane), cases("laravel", "symfony", "static")), [])
        own = turns(options, peers, cases("statements"))
        self.assertEqual([turn.peer.name for turn in own], [*servers, "swoole-coroutines"])

    def test_the_open_loop_is_one_more_sample(self) -> None:
        options = Options([8, 32], 1, 1, 1, 2, 4, open_share=0.5)
        howdah, loop = chosen("howdah", "php-loop")
        hello, mixed = cases("hello", "mixed")
        self.assertEqual(Turn(0, hello, howdah).steps(options), 3)
        self.assertEqual(Turn(0, mixed, howdah).steps(options), 2)
        self.assertEqual(Turn(0, hello, loop).steps(options), 1)
        fixed = Options([8, 32], 1, 1, 1, 2, 4, rate=100)
        self.assertEqual(Turn(0, hello, howdah).steps(fixed), 3)

    def test_the_rate_comes_from_the_first_server_that_is_not_ours(self) -> None:
        peers = chosen("php-loop", "howdah", "howdah-worker", "caddy-fpm", "nginx-fpm")
        (hello,) = cases("hello")
        self.assertEqual(getattr(baseline(peers, hello), "name", None), "caddy-fpm")
        self.assertEqual(getattr(baseline(peers[:2], hello), "name", None), "howdah")
        self.assertIsNone(baseline(peers[:1], hello))
        rough = [two_digits(rate) for rate in (0.4, 7, 99.9, 1234, 56789.9)]
        self.assertEqual(rough, [1, 7, 99, 1200, 56000])

    def test_a_close_after_each_answer_is_no_failure_but_more_of_them_are(self) -> None:
        closed = dataclasses.replace(load(1000), read=1000)
        self.assertEqual(without_closes(closed).failed, 0)
        broken = dataclasses.replace(load(1000), read=1003)
        self.assertEqual(without_closes(broken).failed, 3)

    def test_answers_of_another_length_are_noticed(self) -> None:
        check = Check(200, "", "")
        self.assertIsNone(size_problem(check, 1000, 10_000, 10_050_000, 8))
        self.assertIsNone(size_problem(check, 1000, 10, 18_000, 8))
        self.assertIn("700 bytes", size_problem(check, 1000, 10_000, 7_000_000, 8) or "")
        self.assertIn("no request", size_problem(check, 1000, 0, 0, 8) or "")
        # The exact response of an application is unknown.
        self.assertIsNone(size_problem(LooseCheck(200, "", ""), 1000, 10_000, 8_000_000, 8))
        self.assertIn(
            "700 bytes", size_problem(LooseCheck(200, "", ""), 1000, 10_000, 7_000_000, 8) or ""
        )
        named = LooseCheck(200, "", "", "text")
        self.assertIsNone(size_problem(named, 1000, 10_000, 7_000_000, 8))

    def test_conditions_of_php(self) -> None:
        first = {
            "php": "8.2.35",
            "zts": False,
            "sapi": "fpm-fcgi",
            "opcache": True,
            "jit": False,
            "extensions": ["Core", "json", "cgi-fcgi"],
            "ini": {"opcache.enable": "1", "memory_limit": "128M"},
        }
        wanted = {"opcache.enable": "1", "memory_limit": "128M"}
        self.assertIsNone(conditions.unfair("a", first, wanted))
        self.assertEqual(conditions.differences("a", first, wanted, None), [])
        off = {**first, "opcache": False}
        self.assertEqual(conditions.unfair("b", off, wanted), "b: OPcache is off")
        self.assertIsNone(conditions.unfair("b", off, {**wanted, "opcache.enable": "0"}))
        self.assertEqual(conditions.unfair("b", {**first, "jit": True}, wanted), "b: JIT is on")
        other = {
            **first,
            "sapi": "howdah",
            "extensions": ["Core", "howdah", "apcu"],
            "ini": {"opcache.enable": "1", "memory_limit": "64M"},
        }
        notes = conditions.differences("b", other, wanted, first)
        self.assertEqual(len(notes), 3)
        self.assertIn("memory_limit is '64M' instead of '128M'", notes[0])
        self.assertIn("lacks the extensions json", notes[1])
        self.assertIn("has the extensions apcu on top", notes[2])
        threads = conditions.differences("c", {**first, "zts": True}, wanted, first)
        self.assertEqual(threads, ["c: PHP is built with threads (ZTS)"])


class ChoiceTest(unittest.TestCase):
    """Tests names, and missing requirements."""

    def test_absent_peers_have_a_reason(self) -> None:
        absent = absent_peers()
        self.assertIn("trueasync", absent)
        for name, facts in absent.items():
            self.assertTrue(facts["title"] and facts["reason"], name)
        with self.assertRaisesRegex(BenchError, "a changed php-src"):
            choose.choose_peers(["trueasync"])
        with self.assertRaisesRegex(BenchError, "no peer nginxx"):
            choose.choose_peers(["nginxx"])

    def test_an_application_that_is_not_here_is_asked_for(self) -> None:
        with (
            mock.patch.dict("os.environ", {"HOWDAH_CODEIGNITER": "/nowhere"}),
            self.assertRaisesRegex(BenchError, "HOWDAH_CODEIGNITER"),
        ):
            choose.choose_cases(["codeigniter"])

    def test_what_is_missing_can_be_left_out(self) -> None:
        arguments = ["--peer", "howdah,trueasync", "--case", "hello,codeigniter", "--rate", "0"]
        with (
            tempfile.TemporaryDirectory() as scratch,
            mock.patch.dict("os.environ", {"HOWDAH_CODEIGNITER": "/nowhere"}),
            mock.patch.object(Binary, "find", return_value="/bin/true"),
            mock.patch("sys.stderr", new_callable=io.StringIO) as said,
        ):
            given = ["run", *arguments, "--out", f"{scratch}/run"]
            with self.assertRaisesRegex(BenchError, "trueasync"):
                begin(parser().parse_args(given))
            recorder, _, peers, found = begin(parser().parse_args([*given, "--skip-missing"]))
            recorder.complete(whole=True)
            report = markdown_report(load_run(recorder.folder))
            with self.assertRaisesRegex(BenchError, "no case hallo"):
                begin(parser().parse_args(["run", "--case", "hallo", "--skip-missing"]))
        self.assertEqual([peer.name for peer in peers], ["howdah"])
        self.assertEqual([case.name for case in found], ["hello"])
        self.assertIn("left out: trueasync: it is a PHP of its own", said.getvalue())
        self.assertIn("left out: codeigniter: name a folder", said.getvalue())
        self.assertIn("- CodeIgniter ping: name a folder of it in bench/peers.toml", report)

    def test_a_build_without_what_it_has_to_have_is_missing(self) -> None:
        for has, wanted in (("with pdo_pgsql", []), ("with sqlite", ["not built with sqlite"])):
            program = Binary(("sh",), ("-c", "echo 6.2 with pdo_pgsql"), "make", "", has)
            peer = dataclasses.replace(chosen("howdah")[0], binaries={"x": program})
            found = peer.missing()
            self.assertEqual(len(found), len(wanted))
            for text, reason in zip(wanted, found, strict=True):
                self.assertIn(text, reason)

    def test_an_extension_is_asked_for_by_the_program_that_was_found(self) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            program, extension = Path(scratch) / "php", Path(scratch) / "swoole.so"
            program.write_text("#!/bin/sh\necho Swoole with threads\n")
            program.chmod(0o755)
            extension.touch()
            named = {"php_zts": str(program), "swoole_zts": str(extension)}
            with mock.patch("bench.harness.peers.local_paths", return_value=named):
                peer = load_peers()["swoole-threads"]
            self.assertEqual(peer.binaries["swoole_zts"].version_by, str(program))
            self.assertEqual(peer.missing(), [])
            program.write_text("#!/bin/sh\necho Swoole\n")
            self.assertEqual(len(peer.missing()), 2)
        with mock.patch.object(Binary, "find", return_value=None):
            (reason, _) = load_peers()["swoole-threads"].missing()
        self.assertIn("--enable-zts", reason)

    def test_a_folder_has_to_have_what_is_started_in_it(self) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            named = {"octane": scratch}
            with mock.patch("bench.harness.peers.local_paths", return_value=named):
                octane = load_peers()["swoole-octane"].binaries["octane"]
            self.assertIn("laravel/octane 2", octane.missing() or "")
            (Path(scratch) / "bin").mkdir()
            (Path(scratch) / "bin" / "swoole-server").touch()
            self.assertEqual(octane.find(), scratch)
            self.assertIsNone(octane.missing())
            # Octane's version is only in the name of a folder.
            self.assertEqual(octane.version_text(), Path(scratch).name)

    def test_a_local_file_names_programs(self) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            program = Path(scratch) / "frankenphp"
            program.touch()
            with mock.patch(
                "bench.harness.peers.local_paths", return_value={"frankenphp": str(program)}
            ):
                found = load_peers()["frankenphp"].binaries["frankenphp"].find()
        self.assertEqual(found, str(program))


if __name__ == "__main__":
    unittest.main()
