"""Parsers of text: wrk, /proc, php.ini, case.toml, peer.toml, templates."""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from bench.harness import phpini, proc
from bench.harness.arguments import parser
from bench.harness.cases import load_cases, parse_case
from bench.harness.errors import BenchError
from bench.harness.load import MARK, Shape, parse_wrk
from bench.harness.open_loop import parse_oha
from bench.harness.peers import Binary, load_peers, local_paths, parse_peers
from bench.harness.reference import parse_result
from bench.harness.services import php_file, socket_of
from bench.harness.template import fill

FIGURES = (
    '{"requests":100,"duration_us":2000000,"bytes":5000,"connect":1,"read":2,"write":3,'
    '"status":4,"timeout":5,"mean":10.5,"stdev":1.5,"min":1,"p50":10,"p75":20,"p90":30,'
    '"p95":35,"p99":40,"max":50}'
)


class WrkTest(unittest.TestCase):
    """Tests the line of wrk.lua."""

    def test_figures_are_found_among_wrks_own_text(self) -> None:
        load = parse_wrk(f"Running 2s test\n{MARK}{FIGURES}\nmore\n")
        self.assertEqual(load.requests_per_second, 50.0)
        self.assertEqual(load.failed, 15)
        self.assertEqual((load.p50, load.p95, load.p99, load.max), (10, 35, 40, 50))

    def test_a_run_without_requests_has_no_mean(self) -> None:
        line = FIGURES.replace("10.5", "-nan").replace('"requests":100', '"requests":0')
        self.assertEqual(parse_wrk(MARK + line).mean, 0)

    def test_missing_or_damaged_figures_are_an_error(self) -> None:
        for text in ("", "Requests/sec: 1", f"{MARK}{{", f'{MARK}{{"requests":1}}'):
            with self.subTest(text), self.assertRaises(BenchError):
                parse_wrk(text)
        with self.assertRaises(BenchError):
            parse_wrk(MARK + FIGURES.replace('"p50":10', '"p50":-10'))


OHA = {
    "summary": {"total": 2.0, "slowest": 0.5, "fastest": 0.001, "average": 0.01, "totalData": 1400},
    "latencyPercentiles": {"p50": 0.002, "p75": 0.003, "p90": 0.004, "p95": 0.01, "p99": 0.4},
    "statusCodeDistribution": {"200": 98, "503": 2},
    "errorDistribution": {"deadline": 3},
}


class OhaTest(unittest.TestCase):
    """Tests the JSON of oha."""

    def test_figures_are_in_microseconds_and_lost_requests_count(self) -> None:
        load = parse_oha(json.dumps(OHA))
        self.assertEqual((load.requests, load.status, load.timeout, load.failed), (100, 2, 3, 5))
        self.assertEqual((load.p50, load.p95, load.p99), (2000, 10_000, 400_000))
        self.assertEqual(load.max, 500_000)
        self.assertEqual(load.requests_per_second, 50.0)

    def test_an_error_that_is_asked_for_is_the_only_right_answer(self) -> None:
        text = json.dumps({**OHA, "statusCodeDistribution": {"200": 1, "404": 97, "503": 2}})
        self.assertEqual(parse_oha(text, 404).status, 3)
        self.assertEqual(parse_oha(text).status, 99)

    def test_what_is_not_ohas_is_an_error(self) -> None:
        for text in ("", "{}", "[]", json.dumps({**OHA, "summary": None})):
            with self.subTest(text), self.assertRaisesRegex(BenchError, "oha printed"):
                parse_oha(text)

    def test_gzip_is_asked_for_where_the_case_wants_it(self) -> None:
        self.assertEqual(Shape({"A": "b"}).header_lines(), ["A: b"])
        self.assertEqual(Shape(gzip=True).header_lines(), ["Accept-Encoding: gzip"])


class LoopTest(unittest.TestCase):
    """Tests the last line of contracts/loop.php."""

    def setUp(self) -> None:
        self.site = mock.Mock()
        self.site.case.check.body_sha256 = "a"
        self.found = {
            "calls": 10,
            "cpu_seconds": 0.5,
            "seconds": 0.6,
            "first_sha256": "a",
            "last_sha256": "a",
            "opcache": True,
        }

    def test_figures_follow_whatever_the_script_printed(self) -> None:
        text = f"Warning: something\n{json.dumps(self.found)}\n"
        self.assertEqual(parse_result(text, self.site)["calls"], 10)

    def test_wrong_answers_and_missing_figures_are_errors(self) -> None:
        for change, message in (
            ({"last_sha256": "b"}, "another body"),
            ({"opcache": False}, "OPcache is off"),
            ({"calls": 0}, "no call ended"),
        ):
            with self.subTest(change), self.assertRaisesRegex(BenchError, message):
                parse_result(json.dumps({**self.found, **change}), self.site)
        for text in ("", "Fatal error", "{}"):
            with self.subTest(text), self.assertRaisesRegex(BenchError, "printed no figures"):
                parse_result(text, self.site)


class LocalTest(unittest.TestCase):
    """Tests bench/peers.toml, and the facts about services for PHP."""

    def test_paths_of_this_machine(self) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            path = Path(scratch) / "peers.toml"
            self.assertEqual(local_paths(path), {})
            path.write_text('rr = "/opt/rr"\n')
            self.assertEqual(local_paths(path), {"rr": "/opt/rr"})
            for text in ("rr = 1\n", "rr\n"):
                path.write_text(text)
                with self.assertRaisesRegex(BenchError, r"peers\.toml"):
                    local_paths(path)

    def test_the_socket_of_a_database_is_found_in_its_address(self) -> None:
        for address, socket in (
            ("pgsql:host=/run/pg;dbname=a;user=b", "/run/pg/.s.PGSQL.5432"),
            ("mysql:unix_socket=/run/m.sock;dbname=a", "/run/m.sock"),
            ("pgsql:host=localhost;dbname=a", None),
            ("sqlite:/tmp/a", None),
        ):
            found = socket_of(address)
            self.assertEqual(None if found is None else str(found), socket)

    def test_facts_for_php_are_quoted(self) -> None:
        text = php_file({"redis": "/a'b\\", "pdo": ["sqlite:/x", ""]})
        self.assertIn("'redis' => '/a\\'b\\\\',", text)
        self.assertIn("'pdo' => ['sqlite:/x', ''],", text)


class ProcTest(unittest.TestCase):
    """Tests files of /proc."""

    def test_stat_of_a_process_whose_name_has_parentheses(self) -> None:
        fields = ["S", "10", "20", "30"] + ["0"] * 7 + ["1", "2", "3", "4"] + ["0"] * 4 + ["99"]
        stat = proc.parse_stat(f"42 (php-fpm: pool) x) {' '.join(fields)} 0 0\n")
        self.assertEqual((stat.pid, stat.ppid, stat.group), (42, 10, 20))
        self.assertAlmostEqual(stat.cpu_seconds, 10 / proc.TICKS_PER_SECOND)
        self.assertEqual(stat.start_ticks, 99)

    def test_tree_holds_descendants_and_the_group_only(self) -> None:
        def stat(pid: int, ppid: int, group: int) -> proc.Stat:
            return proc.Stat(pid, ppid, group, 0.0, 0)

        stats = [stat(1, 0, 1), stat(5, 1, 5), stat(6, 5, 5), stat(7, 6, 7), stat(8, 1, 5)]
        stats.append(stat(9, 1, 9))
        self.assertEqual({found.pid for found in proc.tree([5], stats)}, {5, 6, 7, 8})

    def test_pss_is_in_bytes(self) -> None:
        self.assertEqual(proc.parse_pss("Rss: 900 kB\nPss:      353 kB\nPss_Dirty: 1 kB\n"), 361472)

    def test_machine_time_leaves_out_idle_and_steal(self) -> None:
        time = proc.parse_machine_time("cpu  100 0 200 9999 50 1 2 400 0 0\ncpu0 1 2\n")
        self.assertAlmostEqual(time.busy, 303 / proc.TICKS_PER_SECOND)
        self.assertAlmostEqual(time.steal, 400 / proc.TICKS_PER_SECOND)


class IniTest(unittest.TestCase):
    """Tests php.ini values."""

    def test_comments_and_blank_lines_are_skipped(self) -> None:
        text = "; a comment\n\n a = 1 \nb=x=y\n"
        self.assertEqual(phpini.parse_ini(text, "t"), {"a": "1", "b": "x=y"})

    def test_a_line_that_is_no_value_names_its_place(self) -> None:
        with self.assertRaisesRegex(BenchError, "t:2"):
            phpini.parse_ini("a=1\nnonsense\n", "t")

    def test_the_command_line_wins(self) -> None:
        values = phpini.shared_ini(["opcache.validate_timestamps=0"])
        self.assertEqual(values["opcache.validate_timestamps"], "0")
        self.assertEqual(values["opcache.enable"], "1")

    def test_booleans_are_compared_by_meaning(self) -> None:
        self.assertTrue(phpini.same_value("off", ""))
        self.assertTrue(phpini.same_value("1", "On"))
        self.assertFalse(phpini.same_value("1", "0"))
        self.assertFalse(phpini.same_value("128M", "256M"))


class CaseTest(unittest.TestCase):
    """Tests case.toml."""

    def test_a_missing_or_unknown_key_is_named(self) -> None:
        table = {"title": "t", "about": "a", "root": "www", "path": "/"}
        with self.assertRaisesRegex(BenchError, "check"):
            parse_case("x", Path(), table)
        with self.assertRaisesRegex(BenchError, "pathh"):
            parse_case("x", Path(), {**table, "pathh": "/"})

    def test_the_cases_of_the_repository(self) -> None:
        cases = load_cases()
        self.assertLessEqual({"hello", "page-50k", "symfony"}, set(cases))
        for case in cases.values():
            self.assertRegex(case.check.body_sha256, "^[0-9a-f]{64}$")
            self.assertNotIn("0" * 64, case.check.body_sha256)
            self.assertTrue(case.external or (case.files / case.root).is_dir(), case.name)
            self.assertTrue(not case.body or case.method == "POST", case.name)


class PeerTest(unittest.TestCase):
    """Tests peer.toml and templates."""

    def test_variables_of_a_variant_win(self) -> None:
        table = {
            "binary": {"x": {"names": ["x"], "version": ["-v"], "hint": "install x"}},
            "php_process": "x",
            "process": [{"name": "x", "command": ["{{x}}"]}],
            "variables": {"a": "1", "b": "2"},
            "variant": [{"name": "x1", "title": "X", "about": "", "variables": {"b": "3"}}],
        }
        (peer,) = parse_peers(Path("x"), table)
        self.assertEqual(peer.variables, {"a": "1", "b": "3"})
        with self.assertRaisesRegex(BenchError, "wait"):
            parse_peers(Path("x"), {**table, "process": [{"name": "x", "command": [], "wait": ""}]})

    def test_a_variant_may_serve_no_files(self) -> None:
        table = {
            "binary": {"x": {"names": ["x"], "version": ["-v"], "hint": "install x"}},
            "php_process": "x",
            "process": [{"name": "x", "command": ["{{x}}"]}],
            "variant": [
                {"name": "x1", "title": "X", "about": ""},
                {"name": "x2", "title": "X", "about": "", "serves_files": False},
            ],
        }
        self.assertEqual([p.serves_files for p in parse_peers(Path("x"), table)], [True, False])
        kept = parse_peers(Path("x"), {**table, "serves_files": False})
        self.assertEqual([p.serves_files for p in kept], [False, False])

    def test_an_extension_is_asked_for_its_version_by_a_program(self) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            file = Path(scratch) / "some.so"
            file.touch()
            binary = Binary((str(file),), ("version of {{path}}",), "", "echo")
            self.assertEqual(binary.version_text(), f"version of {file}")

    def test_a_peer_may_have_a_php_of_its_own(self) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            self.assertEqual(phpini.conf_d(("printf", scratch)), scratch)
            for command, message in (
                (("printf", f"{scratch}/none"), "printed no folder"),
                ((f"{scratch}/none",), "does not run"),
                (("false",), "does not run"),
            ):
                with self.subTest(command), self.assertRaisesRegex(BenchError, message):
                    phpini.conf_d(command)

    def test_the_peers_of_the_repository(self) -> None:
        peers = load_peers()
        self.assertLessEqual({"howdah", "nginx-fpm", "nginx-fpm-keepalive"}, set(peers))
        for peer in peers.values():
            for template in peer.templates:
                self.assertTrue((peer.folder / template).is_file(), template)

    def test_the_help_of_every_command_can_be_shown(self) -> None:
        for command in ("run", "report", "compare", "faults", "list"):
            with self.assertRaises(SystemExit) as left, contextlib.redirect_stdout(io.StringIO()):
                parser().parse_args([command, "--help"])
            self.assertEqual(left.exception.code, 0, command)

    def test_a_placeholder_without_a_value_is_an_error(self) -> None:
        self.assertEqual(fill("$uri {{a}}{{a}} {b}", {"a": "1"}, "t"), "$uri 11 {b}")
        with self.assertRaisesRegex(BenchError, r"t: no value for \{\{c\}\}"):
            fill("{{c}}", {}, "t")


if __name__ == "__main__":
    unittest.main()
