"""Time until a lost worker is replaced, tested with a small server in place of a worker."""

from __future__ import annotations

import argparse
import http.server
import json
import signal
import tempfile
import threading
import unittest
from pathlib import Path
from typing import cast
from unittest import mock

from bench.faults import command, replacement
from bench.faults.identity import Reply, Worker, parse
from bench.faults.replacement import Loss, NotMeasuredError
from bench.faults.report import faults_report, tables
from bench.harness import targets
from bench.harness.errors import BenchError
from bench.harness.http_check import HOST
from bench.harness.peers import load_peers
from bench.harness.server import Server
from bench.tests.fixtures import recorded, serve_until_done, three_rounds

PID = 4242


class Handler(http.server.BaseHTTPRequestHandler):
    """A worker: responds with its identity; `do` loses it, so that another one responds next."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        state = cast("HttpServer", self.server)
        self.close_connection = True
        _, _, do = self.path.partition("?do=")
        if do:
            if state.silent:
                state.let_go.wait()
                return
            state.lose()
            self.send_response(500 if do == "fatal" else 200)
            self.end_headers()
            return
        if state.refusals:
            state.refusals -= 1
            self.send_response(503)
            self.end_headers()
            return
        state.served += 1
        facts = {"pid": state.pid, "boot": "b", "boot_ms": 200.5, "served": state.served}
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(facts).encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the name of the base
        """Logs nothing."""


class HttpServer(http.server.ThreadingHTTPServer):
    """The identity of the worker, and errors."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__((HOST, 0), Handler)
        self.pid = PID
        self.served = 0
        self.refusals = 0
        self.refuses = 0
        self.goes_on = False
        self.has_others = False
        self.silent = False
        self.let_go = threading.Event()

    def lose(self) -> None:
        """Lets the next one respond, after some refusals."""
        if not self.goes_on:
            self.pid += 1
            self.served = 7 if self.has_others else 0
            self.refusals = self.refuses


class LossTest(unittest.TestCase):
    """Tests the loss of a worker and the wait for the next response."""

    def setUp(self) -> None:
        self.http = HttpServer()
        serve_until_done(self, self.http)
        self.addCleanup(self.http.let_go.set)
        self.group = mock.Mock()
        self.group.main_pids.return_value = [1]
        peer = mock.Mock()
        peer.name = "howdah-worker"
        self.server = Server(peer, self.http.server_port, Path(), self.group)
        pause = mock.patch.object(replacement, "PAUSE_SECONDS", 0)
        pause.start()
        self.addCleanup(pause.stop)

    def test_each_loss_is_timed_and_its_answer_counted(self) -> None:
        for way, status in (("exit", "status 200"), ("fatal", "status 500")):
            found = replacement.measure_way(self.server, way, 3)
            self.assertEqual(len(found.milliseconds), 3)
            self.assertGreater(min(found.milliseconds), 0)
            self.assertEqual((found.outcomes, found.failed), ({status: 3}, 0))
            self.assertEqual((found.boot_ms, found.reason), (200.5, ""))

    def test_only_the_worker_that_answered_is_killed(self) -> None:
        with mock.patch("os.kill", side_effect=lambda *_: self.http.lose()) as kill:
            found = replacement.measure_way(self.server, "kill", 2)
        self.assertEqual(found.outcomes, {"killed": 2})
        killed = [call.args for call in kill.call_args_list]
        self.assertEqual(killed, [(PID + n, signal.SIGKILL) for n in range(3)])

    def test_a_request_that_fails_meanwhile_is_sent_again_and_counted(self) -> None:
        self.http.refuses = 2
        found = replacement.measure_way(self.server, "exit", 2)
        self.assertEqual(found.failed, 4)
        self.assertEqual(found.outcomes["next request failed at first"], 2)

    def test_a_worker_that_goes_on_is_no_loss(self) -> None:
        self.http.goes_on = True
        found = replacement.measure_way(self.server, "exit", 2)
        self.assertEqual((found.milliseconds, found.reason), ([], "its worker goes on"))

    def test_a_second_worker_does_not_count_as_a_replacement(self) -> None:
        self.http.has_others = True
        with self.assertRaisesRegex(BenchError, "had another worker beside"):
            replacement.measure_way(self.server, "exit", 2)

    def test_threads_are_not_killed(self) -> None:
        self.group.main_pids.return_value = [PID]
        with mock.patch("os.kill") as kill:
            found = replacement.measure_way(self.server, "kill", 2)
        kill.assert_not_called()
        self.assertIn("the server's own process", found.reason)

    def test_a_server_that_ends_or_stays_silent_is_not_measured(self) -> None:
        self.http.refuses = 1_000_000
        with mock.patch.object(replacement, "RECOVERY_SECONDS", 0.05):
            found = replacement.measure_way(self.server, "exit", 1)
        self.assertIn("did not answer again", found.reason)
        self.http.refusals = 1
        self.group.check_alive.side_effect = BenchError("gone")
        found = replacement.measure_way(self.server, "exit", 1)
        self.assertEqual(found.reason, "it ends the whole server")

    def test_a_loss_that_the_client_never_hears_of_has_no_moment(self) -> None:
        self.http.silent = True
        with (
            mock.patch.object(replacement, "LOST_SECONDS", 0.05),
            self.assertRaisesRegex(NotMeasuredError, "heard nothing"),
        ):
            Loss(self.server, "exit").lose(Worker(PID, "b", 0, 1))


class FigureTest(unittest.TestCase):
    """Tests figures from the times."""

    def test_median_high_and_largest(self) -> None:
        times = [float(value) for value in range(1, 101)]
        self.assertEqual(replacement.summary(times), (50.5, 95.0, 100.0))
        self.assertEqual(replacement.summary([3.0]), (3.0, 3.0, 3.0))

    def test_an_answer_is_right_only_if_it_says_who_gave_it(self) -> None:
        body = b'{"pid": 7, "boot": "x", "boot_ms": 1.5, "served": 2}'
        worker = Worker(7, "x", 1.5, 2)
        head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        chunked = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
        self.assertEqual(parse(head + chunked), Reply("status 200", worker))
        plain = b"HTTP/1.1 500 Oops\r\nContent-Length: 4\r\n\r\n"
        self.assertEqual(parse(plain + b"oops"), Reply("status 500", None))
        self.assertEqual(parse(plain + b"oo"), Reply("broken answer", None))
        self.assertEqual(parse(head + chunked[:9]), Reply("broken answer", None))
        self.assertEqual(parse(b"oops"), Reply("broken answer", None))
        self.assertEqual(parse(b""), Reply("no answer", None))

    def test_another_thread_is_another_boot(self) -> None:
        before = Worker(7, "x", 1, 9)
        self.assertFalse(Worker(7, "x", 1, 1).is_other(before))
        self.assertTrue(Worker(7, "y", 1, 1).is_other(before))
        self.assertTrue(Worker(8, "x", 1, 1).is_other(before))

    def document(self, milliseconds: list[float], reason: str = "") -> dict[str, object]:
        """Returns the content of faults.json."""
        result = {
            "peer": "howdah-worker",
            "way": "kill",
            "milliseconds": milliseconds,
            "boot_ms": 200.4,
            "failed": 1,
            "outcomes": {"killed": 3},
            "reason": reason,
        }
        return {
            "peers": {"howdah-worker": "Howdah worker"},
            "scenarios": {},
            "results": [],
            "replacements": [result],
            "failures": [],
        }

    def test_a_row_has_the_times_or_the_reason(self) -> None:
        (table,) = tables(self.document([2.0, 3.0, 9.0]))
        row = (
            "Howdah worker",
            "SIGKILL",
            "3.00",
            "9.00",
            "9.00",
            "200",
            "3 killed, 1 failed until then",
        )
        self.assertEqual(table.rows, [row])
        text = faults_report(self.document([], "it has none"))
        self.assertIn("not measured: it has none", text)
        self.assertNotIn("connections ask without pause", text)

    def test_the_target_is_judged_by_the_median(self) -> None:
        for slowest, reached in ((4.9, True), (5.0, False)):
            with tempfile.TemporaryDirectory() as scratch:
                run = recorded(Path(scratch) / "run", three_rounds())
                self.assertEqual(targets.replacements(run), [])
                (run.folder / "faults").mkdir()
                document = self.document([1.0, slowest, 30.0])
                (run.folder / "faults" / "faults.json").write_text(json.dumps(document))
                (found,) = targets.replacements(run)
                self.assertEqual((found.where, found.reached), ("SIGKILL", reached))


class ChoiceTest(unittest.TestCase):
    """Tests which peers take part."""

    def test_servers_with_a_worker_mode_take_part_ours_first(self) -> None:
        names = [peer.name for peer in replacement.candidates()]
        self.assertEqual(names[0], "howdah-worker")
        self.assertLessEqual({"frankenphp-worker", "roadrunner", "swoole"}, set(names))
        self.assertFalse({"howdah", "howdah-request", "nginx-fpm", "php-loop"} & set(names))

    def test_who_is_not_installed_says_so_once(self) -> None:
        peer = load_peers()["swoole"]
        arguments = argparse.Namespace(php_ini=[], losses=1, folder=Path())
        with mock.patch.object(type(peer), "missing", return_value=["nothing"]):
            (found,) = replacement.measure_peer(peer, arguments, Path())
        self.assertIn("not installed", found.reason)

    def test_a_server_without_worker_mode_cannot_be_asked_for_alone(self) -> None:
        arguments = argparse.Namespace(fault=["replace"], peer=["php-builtin"])
        with (
            mock.patch.object(command, "choose_peers", return_value=[load_peers()["php-builtin"]]),
            self.assertRaisesRegex(BenchError, "worker mode"),
        ):
            command.measure_faults(arguments, Path("/nowhere"))


if __name__ == "__main__":
    unittest.main()
