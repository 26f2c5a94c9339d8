"""Every request costs a worker, tested with a small server in place of Howdah."""

from __future__ import annotations

import argparse
import http.server
import json
import tempfile
import threading
import unittest
from pathlib import Path
from typing import Any, cast
from unittest import mock

from bench.faults import replacement, under_load
from bench.faults.report import faults_report, tables
from bench.faults.under_load import UnderLoad, measure_load
from bench.harness import exits
from bench.harness.errors import BenchError
from bench.harness.http_check import HOST
from bench.harness.peers import load_peers
from bench.harness.server import Server
from bench.tests.fixtures import recorded, serve_until_done, three_rounds

WORKERS = 2


class Handler(http.server.BaseHTTPRequestHandler):
    """Each response comes from a new process, or has the configured error."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        state = cast("HttpServer", self.server)
        with state.lock:
            state.count += 1
            number = state.count
            state.paths.add(self.path)
        wrong = state.every and number % state.every == 0
        if wrong and state.fault == "close":
            self.close_connection = True
            return
        served = 2 if wrong and state.fault == "served" else 1
        if state.goes_on:
            served = number
        boot = str(number // state.boots_after) if state.boots_after else "b"
        facts = {"pid": number, "boot": boot, "boot_ms": 200.5, "served": served}
        body = json.dumps(facts).encode()
        self.send_response(502 if wrong and state.fault == "status" else 404)
        if state.chunked:
            self.send_header("Transfer-Encoding", "chunked")
            end = b"" if wrong and state.fault == "torn" else b"0\r\n\r\n"
            body = b"%x\r\n%s\r\n%s" % (len(body), body, end)
        else:
            self.send_header("Content-Length", str(len(body)))
        if wrong:
            self.send_header("Connection", "close")
            self.close_connection = True
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the name of the base
        """Logs nothing."""


class HttpServer(http.server.ThreadingHTTPServer):
    """The errors, and their number."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__((HOST, 0), Handler)
        self.lock = threading.Lock()
        self.count = 0
        self.paths: set[str] = set()
        self.every = 0
        self.fault = ""
        self.goes_on = False
        self.chunked = False
        self.boots_after = 0


class LoadTest(unittest.TestCase):
    """Tests requests and their outcomes."""

    def setUp(self) -> None:
        self.http = HttpServer()
        serve_until_done(self, self.http)
        peer = mock.Mock()
        peer.name = "howdah-worker"
        self.group = mock.Mock()
        self.server = Server(peer, self.http.server_port, Path(), self.group)
        for name, value in (("WARM_UP", 10), ("REQUESTS", 100)):
            patched = mock.patch.object(under_load, name, value)
            patched.start()
            self.addCleanup(patched.stop)

    def measure(self, way: str = "return") -> UnderLoad:
        """Measures with five connections."""
        return measure_load(self.server, way, 5, WORKERS)

    def test_all_are_counted_and_timed(self) -> None:
        for chunked in (False, True):
            self.http.chunked = chunked
            found = self.measure()
            self.assertEqual((found.requests, found.failed, found.used_again), (100, 0, 0))
            self.assertEqual((found.boots, found.boot_ms), (1, 200.5))
            self.assertEqual(found.outcomes, {"status 404": 100})
            self.assertGreater(found.p50, 0)
            self.assertTrue(found.p50 <= found.p99 <= found.max)
        self.assertEqual(self.http.paths, {"/?do=return&missing=1"})

    def test_with_jit_an_ordinary_exit_is_asked_for(self) -> None:
        self.measure("jit")
        self.assertEqual(self.http.paths, {"/?do=exit&missing=1"})

    def test_whatever_is_no_whole_404_has_failed(self) -> None:
        self.http.every = 10
        for fault, chunked, outcome in (
            ("close", False, "IncompleteReadError"),
            ("status", False, "status 502"),
            ("torn", True, "IncompleteReadError"),
        ):
            self.http.fault, self.http.chunked = fault, chunked
            with self.subTest(fault):
                found = self.measure()
                self.assertEqual((found.requests, found.failed), (100, 10))
                self.assertEqual(found.outcomes[outcome], 10)
                self.assertFalse(under_load.good(found.as_dict()))

    def test_a_process_that_answers_twice_is_noticed(self) -> None:
        self.http.every, self.http.fault = 10, "served"
        found = self.measure()
        self.assertEqual((found.failed, found.used_again), (0, 10))
        self.assertFalse(under_load.good(found.as_dict()))

    def test_boots_are_counted(self) -> None:
        self.http.boots_after = 60
        self.assertGreater(self.measure().boots, 1)

    def test_a_server_whose_workers_go_on_replaces_none(self) -> None:
        self.http.goes_on = True
        self.assertEqual(self.measure().reason, "its worker goes on")

    def test_a_server_that_answers_nothing_or_ends_is_not_measured(self) -> None:
        self.http.every, self.http.fault = 1, "close"
        self.assertIn("no whole 404 came, but IncompleteReadError", self.measure().reason)
        self.group.check_alive.side_effect = BenchError("gone")
        self.assertEqual(self.measure().reason, "it ends the whole server")

    def test_one_that_does_not_even_serve_the_application_says_so(self) -> None:
        # This one responds only with 404.
        with self.assertRaisesRegex(BenchError, "application: status 404"):
            under_load.check_serves(self.server)
        self.http.every, self.http.fault = 1, "close"
        with self.assertRaisesRegex(BenchError, "application: RemoteDisconnected"):
            under_load.check_serves(self.server)

    def test_time_is_limited(self) -> None:
        with mock.patch.object(under_load, "SECONDS", 0.0):
            self.assertIn("no whole 404 came, but nothing", self.measure().reason)


class FigureTest(unittest.TestCase):
    """Tests the resulting figures."""

    def result(self, **figures: Any) -> dict[str, Any]:  # noqa: ANN401
        """Returns a good result, except for the given values."""
        good = UnderLoad(
            peer="howdah-worker",
            way="return",
            connections=100,
            requests=1000,
            boots=1,
            boot_ms=200.0,
            seconds=2.0,
            p50=150.0,
            p99=300.0,
            max=349.0,
        )
        return {**good.as_dict(), **figures}

    def test_nobody_waits_for_a_boot_who_is_not_slower_by_its_time(self) -> None:
        self.assertTrue(under_load.good(self.result()))
        for change in ({"max": 350.0}, {"boots": 2}, {"failed": 1}, {"used_again": 1}):
            self.assertFalse(under_load.good(self.result(**change)), change)

    def test_a_target_tells_what_was_measured(self) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            run = recorded(Path(scratch) / "run", three_rounds())
            measure = exits.replacing("howdah-worker")
            self.assertEqual(measure(run), [])
            (run.folder / "faults").mkdir()
            results = [
                self.result(),
                self.result(failed=2, used_again=3, boots=4),
                self.result(reason="its worker goes on"),
                self.result(way="jit", reason="its worker goes on"),
                self.result(way="jit", reason="it ends the whole server"),
                self.result(peer="frankenphp-worker"),
            ]
            path = run.folder / "faults" / "faults.json"
            path.write_text(json.dumps({"under_load": results}))
            found = measure(run)
        self.assertEqual([one.reached for one in found], [True, False, False, False])
        texts = ["its worker goes on", "it ends the whole server"]
        self.assertEqual([one.text for one in found[2:]], texts)
        self.assertIn("that returns, 100 connections", found[0].where)
        self.assertEqual(found[0].text, "0 of 1,000 failed, median 150 and slowest 349 ms")
        self.assertIn("3 by a process that had answered before, 4 boots", found[1].text)

    def test_a_row_has_the_figures_or_the_reason(self) -> None:
        document = {
            "peers": {"howdah-worker": "Howdah worker"},
            "scenarios": {},
            "results": [],
            "failures": [],
            "under_load": [self.result(), self.result(reason="it has none")],
        }
        (table,) = tables(document)
        words = under_load.WAYS["return"]
        row = ("Howdah worker", words, "100", "500", "150.0", "300.0", "349.0", "200", "1")
        self.assertEqual(table.rows[0], (*row, "0 of 1,000", "0"))
        self.assertEqual({len(row) for row in table.rows}, {len(table.head)})
        self.assertIn("not measured: it has none", faults_report(document))


class ChoiceTest(unittest.TestCase):
    """Tests which peers take part, and with which options."""

    def test_those_that_run_the_worker_script(self) -> None:
        known = load_peers()
        with mock.patch.object(type(known["howdah"]), "missing", return_value=[]):
            names = [name for name, peer in known.items() if under_load.takes_part(peer)]
        self.assertLessEqual({"howdah-worker", "frankenphp-worker"}, set(names))
        others = {"howdah", "howdah-coroutines", "swoole", "roadrunner", "php-loop"}
        self.assertFalse(others & set(names))
        with mock.patch.object(type(known["howdah"]), "missing", return_value=["nothing"]):
            self.assertFalse(under_load.takes_part(known["howdah-worker"]))

    def test_jit_is_on_where_it_is_what_replaces_the_process(self) -> None:
        arguments = argparse.Namespace(php_ini=[], workers=4, folder=Path("/kept"))
        with (
            mock.patch.object(under_load, "serve") as serve,
            mock.patch.object(under_load, "check_serves") as check,
            mock.patch.object(under_load, "measure_load", return_value="figures"),
            mock.patch.object(replacement, "install", return_value={}),
        ):
            found = under_load.measure_peer(load_peers()["howdah-worker"], arguments, Path("/x"))
        self.assertEqual(found, ["figures"] * len(under_load.WAYS) * len(under_load.CONNECTIONS))
        jit = [call.args[1].php_ini["opcache.jit"] for call in serve.call_args_list]
        self.assertEqual(jit, ["off", "off", "tracing", "off"])
        self.assertEqual(check.call_count, len(under_load.WAYS))


if __name__ == "__main__":
    unittest.main()
