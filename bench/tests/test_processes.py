"""Real processes on the loopback address; the tests need only Python."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from bench.harness import proc, processes
from bench.harness.cases import Case, Check, Site
from bench.harness.errors import BenchError
from bench.harness.http_check import fetch, verify, wait_for_port
from bench.harness.peers import Binary, Command, Peer
from bench.harness.plan import Turn
from bench.harness.processes import ProcessGroup
from bench.harness.reference import Reference, run_loop
from bench.harness.server import (
    Setup,
    command_line,
    environment,
    free_port,
    plain_site,
    serve,
    variables,
)

# A server that forks a child which ignores SIGTERM, as a stuck worker might.
SERVER = """
import http.server, os, signal, sys
if os.fork() == 0:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        signal.pause()
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        body = b"Hello"
        self.send_response(200 if self.path == "/" else 404)
        self.send_header("Content-Type", "text/plain; Charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.write(b"5\\r\\n" + body + b"\\r\\n0\\r\\n\\r\\n")
    def log_message(self, *args):
        pass
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
HELLO = hashlib.sha256(b"Hello").hexdigest()


def peer(folder: Path, *argv: str) -> Peer:
    """Returns a peer of one Python process."""
    return Peer(
        name="fake",
        title="Fake",
        about="",
        folder=folder,
        binaries={"python": Binary((sys.executable,), ("-V",), "install Python")},
        commands=(Command("python", argv),),
        templates=(),
        php_process="-c",
    )


def case(path: str = "/", body: str = HELLO) -> Case:
    """Returns the expected response of the server above."""
    check = Check(200, "text/plain;charset=UTF-8", body)
    return Case("c", "C", "", Path(), "www", path, check)


class ServeTest(unittest.TestCase):
    """Tests the life of a peer."""

    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        self.setup = Setup(4, {"memory_limit": "128M"})
        # PHP is not needed to test this.
        patch = mock.patch("bench.harness.phpini.distribution_conf_d", return_value="/nowhere")
        self.addCleanup(patch.stop)
        patch.start()

    def serve_and_check(self) -> None:
        """Starts, checks and stops; no process may remain."""
        fake = peer(self.folder, "{{python}}", "-c", SERVER, "{{port}}")
        keep = self.folder / "keep"
        with serve(
            fake, self.setup, site=plain_site(self.folder), folder=self.folder / "run", keep=keep
        ) as server:
            answer = verify(server.port, case())
            self.assertEqual(answer.body, b"Hello")
            self.assertGreater(answer.wire_bytes, len(b"5\r\nHello\r\n0\r\n\r\n"))
            with self.assertRaisesRegex(BenchError, "status 404 instead of 200"):
                verify(server.port, case("/missing"))
            with self.assertRaisesRegex(BenchError, "another body, beginning 'Hello'"):
                verify(server.port, case(body="0" * 64))
            stats = server.group.alive()
            self.assertEqual(len(stats), 2)
            self.assertEqual(len(server.php_pids()), 1)
            # Linux distributes CPU time among sessions: all are in this one, in separate groups.
            self.assertEqual({os.getsid(stat.pid) for stat in stats}, {os.getsid(0)})
            self.assertNotIn(os.getpgid(0), {os.getpgid(stat.pid) for stat in stats})
            self.assertGreater(server.group.cpu_seconds(), 0)
            self.assertGreater(server.group.pss_bytes(), 1024 * 1024)
        for stat in stats:
            now = proc.read_stat(stat.pid)
            self.assertTrue(now is None or now.zombie or now.start_ticks != stat.start_ticks)
        with self.assertRaises(OSError):
            fetch(server.port, "/")
        self.assertIn("memory_limit = 128M", (keep / "zz-bench.ini").read_text())
        self.assertNotIn("{{", (keep / "commands.txt").read_text())

    def test_everything_is_stopped_by_its_id(self) -> None:
        self.serve_and_check()

    def test_the_same_without_a_cgroup(self) -> None:
        with mock.patch.object(processes, "make_cgroup", return_value=None):
            self.serve_and_check()

    def test_a_server_that_ends_at_once_is_reported_with_its_log_kept(self) -> None:
        fake = peer(self.folder, "{{python}}", "-c", "print('no such option'); raise SystemExit(3)")
        keep = self.folder / "keep"
        with (
            self.assertRaisesRegex(BenchError, "exit status 3"),
            serve(
                fake,
                self.setup,
                site=plain_site(self.folder),
                folder=self.folder / "run",
                keep=keep,
            ),
        ):
            self.fail("must not start")
        self.assertIn("no such option", (keep / "python.log").read_text())

    def test_a_server_is_started_when_its_log_says_so(self) -> None:
        starts = f"print('I am ready', flush=True)\n{SERVER}"
        fake = peer(self.folder, "{{python}}", "-c", starts, "{{port}}")
        ready = dataclasses.replace(fake.commands[0], wait_for_log="I am ready")
        fake = dataclasses.replace(fake, commands=(ready,))
        site = plain_site(self.folder)
        with serve(fake, self.setup, site=site, folder=self.folder / "run"):
            self.assertIn("I am ready", (self.folder / "run/python.log").read_text())
        silent = dataclasses.replace(ready, wait_for_log="never")
        fake = dataclasses.replace(fake, commands=(silent,))
        with (
            mock.patch("bench.harness.server.SOCKET_SECONDS", 0.3),
            self.assertRaisesRegex(BenchError, "python.log does not say 'never'"),
            serve(fake, self.setup, site=site, folder=self.folder / "again"),
        ):
            self.fail("must not start")

    def test_a_peer_may_have_a_php_of_its_own(self) -> None:
        own = self.folder / "conf.d"
        own.mkdir()
        fake = peer(self.folder)
        fake = dataclasses.replace(fake, php_conf_d=("printf", "%s", "{{folder}}"))
        for given, wanted in ((fake, str(own)), (peer(self.folder), "/nowhere")):
            target = self.folder / wanted.replace("/", "_")
            target.mkdir()
            found = environment(given, self.setup, target, {"folder": str(own)})
            self.assertEqual(found["PHP_INI_SCAN_DIR"], f"{wanted}:{target}/php.d")

    def test_keepalive_that_would_pin_every_php_process_is_refused(self) -> None:
        fake = peer(self.folder)
        fake.variables["keepalive"] = "keepalive {{idle_upstream}};"
        with mock.patch.object(os, "cpu_count", return_value=2):
            values = variables(fake, Setup(5, {}), self.folder, {}, 1)
            self.assertEqual(values["keepalive"], "keepalive 2;")
            with self.assertRaisesRegex(BenchError, "--workers 3"):
                variables(fake, Setup(2, {}), self.folder, {}, 1)

    def test_php_ini_values_become_options_where_a_peer_wants_them(self) -> None:
        command = Command("howdah", ("{{howdah}}", ":{{port}}"), ("--php-ini", "{{key}}={{value}}"))
        argv = command_line(command, {"howdah": "/h", "port": "1"}, {"a": "1", "b": "x y"})
        self.assertEqual(argv, ["/h", ":1", "--php-ini", "a=1", "--php-ini", "b=x y"])

    def test_waiting_ends_when_the_server_is_gone(self) -> None:
        def gone() -> None:
            raise BenchError("gone")

        with self.assertRaisesRegex(BenchError, "gone"):
            wait_for_port(free_port(), gone)


class LoopsTest(unittest.TestCase):
    """Tests that as many loops run concurrently as servers have PHP processes."""

    # Waits until all of them have started: one after another, they would never be.
    LOOP = """
import json, os, sys, time
open(f"{sys.argv[1]}/{os.getpid()}", "w").close()
while len([name for name in os.listdir(sys.argv[1]) if name.isdigit()]) < 3:
    time.sleep(0.001)
first = str(os.getpid()) == min(name for name in os.listdir(sys.argv[1]) if name.isdigit())
print(json.dumps({"calls": 10, "cpu_seconds": 0.5, "seconds": 0.75, "opcache": True,
    "first_sha256": sys.argv[2], "last_sha256": sys.argv[3] if first else sys.argv[2]}))
sys.exit(int(sys.argv[4]) if first else 0)
"""

    def run_loops(self, last: str = HELLO, status: str = "0") -> Reference:
        """Runs three of them, one of which ends with this body and status."""
        with (
            tempfile.TemporaryDirectory() as scratch,
            mock.patch("bench.harness.phpini.distribution_conf_d", return_value="/nowhere"),
        ):
            here = Path(scratch)
            argv = ("{{python}}", "-c", self.LOOP, "{{dir}}", HELLO, last, status)
            turn = Turn(0, case(), peer(here, *argv))
            site = Site(here, here, here, turn.case, mock.Mock())
            return run_loop(turn, Setup(3, {}), site, here / "run", 1)

    def test_their_calls_and_times_are_added_up(self) -> None:
        found = self.run_loops()
        self.assertEqual((found.processes, found.calls, found.cpu_seconds), (3, 30, 1.5))
        self.assertEqual(found.seconds, 0.75)

    def test_one_that_fails_spoils_all(self) -> None:
        with self.assertRaisesRegex(BenchError, "ended with 3"):
            self.run_loops(status="3")
        with self.assertRaisesRegex(BenchError, "another body"):
            self.run_loops(last="0" * 64)


class ProcessGroupTest(unittest.TestCase):
    """Tests accounting."""

    def test_time_of_children_that_ended_is_counted(self) -> None:
        burn = (
            "import os, time\n"
            "if os.fork() == 0:\n"
            "    while time.process_time() < 0.2: pass\n"
            "    os._exit(0)\n"
            "os.wait(); os.write(1, b'.'); time.sleep(60)"
        )
        for cgroup in (True, False):
            with self.subTest(cgroup=cgroup), tempfile.TemporaryDirectory() as scratch:
                log = Path(scratch) / "log"
                with mock.patch.object(
                    processes,
                    "make_cgroup",
                    processes.make_cgroup if cgroup else lambda _name: None,
                ):
                    group = ProcessGroup("burn")
                try:
                    group.start(
                        "burn", [sys.executable, "-c", burn], cwd=Path(scratch), env={}, log=log
                    )
                    while not log.read_bytes():
                        group.check_alive()
                    self.assertLessEqual(set(group.main_pids()), set(group.pids()))
                    self.assertEqual(len(group.main_pids()), 1)
                    self.assertGreaterEqual(group.cpu_seconds(), 0.19)
                finally:
                    group.stop()
                self.assertEqual(group.forced_stops, [])


if __name__ == "__main__":
    unittest.main()
