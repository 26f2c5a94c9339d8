"""The fault injectors, tested with a small server inside the test."""

from __future__ import annotations

import http.server
import os
import signal
import threading
import unittest
from pathlib import Path
from typing import cast
from unittest import mock

from bench.faults.command import choose, recovery
from bench.faults.flood import Flood
from bench.faults.injectors import BadRequests, IdleConnections, SlowClients, WorkerKiller
from bench.faults.scenarios import SCENARIOS
from bench.harness.errors import BenchError
from bench.harness.http_check import HOST
from bench.harness.server import Server
from bench.tests.fixtures import serve_until_done

HELLO = b"Hello, world!\n"
BIG = b"x" * (1 << 20)


class Handler(http.server.BaseHTTPRequestHandler):
    """Responds, reports an overload, aborts, or reads a body, depending on the path."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.server.paths.append(self.path)  # type: ignore[attr-defined]
        if self.path == "/segv.php":
            self.close_connection = True
            return
        body = BIG if self.path == "/big.php" else HELLO
        self.send_response(503 if self.path == "/slow.php" else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.server.body_bytes.append(self.rfile.read(1))  # type: ignore[attr-defined]
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the name of the base
        """Logs nothing."""


class HttpServer(http.server.ThreadingHTTPServer):
    """Stores the starts of bodies; a client that disconnects is expected here."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__((HOST, 0), Handler)
        self.body_bytes: list[bytes] = []
        self.paths: list[str] = []

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignores errors."""


class InjectorTest(unittest.TestCase):
    """Tests that each injector counts the outcome of its fault."""

    def setUp(self) -> None:
        self.http = HttpServer()
        serve_until_done(self, self.http)
        self.group = mock.Mock()
        peer = mock.Mock(php_process="php")
        self.server = Server(peer, self.http.server_port, Path(), self.group)

    def until(self, injector: BadRequests | Flood | SlowClients, outcome: str) -> None:
        """Waits for an outcome, which another thread counts."""
        for _ in range(2000):
            if injector.outcomes[outcome]:
                return
            threading.Event().wait(0.005)
        self.fail(f"no {outcome}: {injector.outcomes}")

    def test_a_broken_connection_is_counted(self) -> None:
        with BadRequests(self.server, "/segv.php") as injector:
            self.until(injector, "RemoteDisconnected")
        with BadRequests(self.server, "/index.php") as injector:
            self.until(injector, "status 200")

    def test_flood_ends_with_all_clients_gone(self) -> None:
        with Flood(self.server, 20) as injector:
            self.until(injector, "status 503")
        self.assertFalse(injector._thread.is_alive())  # noqa: SLF001  what is left is the point
        self.assertEqual(set(injector.outcomes), {"status 503"})

    def test_slow_clients_send_and_read_single_bytes(self) -> None:
        with SlowClients(self.server, 2) as injector:
            self.until(injector, "bytes read")
        self.assertEqual(injector.outcomes["bytes sent"], 2)
        self.assertLessEqual(set(self.http.body_bytes), {b"x"})

    def test_slow_clients_ask_for_the_page_of_their_scenario(self) -> None:
        with SlowClients(self.server, 1, "/large.php") as injector:
            self.until(injector, "bytes read")
        self.assertIn("/large.php", self.http.paths)

    def test_idle_connections_are_counted_at_the_end(self) -> None:
        self.group.pss_bytes.side_effect = [1_000_000, 1_000_000 + 5 * 2048]
        with IdleConnections(self.server, 5) as injector:
            self.assertEqual(injector.outcomes["answered once"], 5)
        self.assertEqual(injector.outcomes["still open"], 5)
        self.assertEqual(injector.bytes_each, 2048)

    def test_an_error_of_the_injector_is_not_lost(self) -> None:
        def fail() -> None:
            raise BenchError("broken injector")

        with (
            self.assertRaisesRegex(BenchError, "broken injector"),
            mock.patch.object(WorkerKiller, "step", side_effect=fail),
            WorkerKiller(self.server) as injector,
        ):
            injector._thread.join()  # noqa: SLF001  it ends by the error

    def test_only_a_php_process_of_the_server_is_killed(self) -> None:
        with (
            mock.patch.object(Server, "php_pids", side_effect=[[4242], []]),
            mock.patch.object(os, "kill") as kill,
        ):
            injector = WorkerKiller(self.server)
            injector.step()
            injector.step()
        kill.assert_called_once_with(4242, signal.SIGKILL)
        self.assertEqual(dict(injector.outcomes), {"killed": 1, "no PHP process alive": 1})

    def test_recovery_is_the_time_to_a_right_answer(self) -> None:
        self.assertLess(cast("float", recovery(self.server)), 10)

    def test_an_unknown_fault_is_named(self) -> None:
        self.assertEqual([scenario.name for scenario in choose(["oom"])[0]], ["oom"])
        self.assertEqual(choose(["replace"]), ([], True))
        self.assertEqual(choose(None), (list(SCENARIOS), True))
        with self.assertRaisesRegex(BenchError, "no fault ooom; there are: kill"):
            choose(["ooom"])


if __name__ == "__main__":
    unittest.main()
