"""The proxy that simulates a distant database."""

from __future__ import annotations

import socket
import subprocess
import tempfile
import threading
import time
import unittest
from pathlib import Path

from bench.harness.services import DELAY, program

DELAY_US = 20_000
# Timeout that detects a hang, not a measurement.
SECONDS = 120


class DelayTest(unittest.TestCase):
    """Tests with a server that responds to each line, and disconnects after `bye`."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        home = Path(folder.name)
        proxy = home / "delay"
        compiler = program("cc", hint="apt-get install gcc")
        flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined"]
        subprocess.run([compiler, *flags, "-o", str(proxy), str(DELAY)], check=True)
        self.server = socket.socket(socket.AF_UNIX)
        self.addCleanup(self.server.close)
        self.server.bind(str(home / "server"))
        self.server.listen()
        self.front = home / "front"
        process = subprocess.Popen(
            [str(proxy), str(self.front), str(home / "server"), str(DELAY_US)],
            stderr=subprocess.PIPE,
        )
        self.addCleanup(self._end, process)
        deadline = time.monotonic() + SECONDS
        while not self._listens():
            self.assertLess(time.monotonic(), deadline)

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        process.terminate()
        _, errors = process.communicate(timeout=SECONDS)
        self.assertEqual(errors, b"")

    def _listens(self) -> bool:
        with socket.socket(socket.AF_UNIX) as probe:
            if probe.connect_ex(str(self.front)) != 0:
                return False
        # The proxy also connects this one to the server.
        self.server.accept()[0].close()
        return True

    def connect(self) -> tuple[socket.socket, socket.socket]:
        """Returns the client's end and the server's end."""
        client = socket.socket(socket.AF_UNIX)
        self.addCleanup(client.close)
        client.settimeout(SECONDS)
        client.connect(str(self.front))
        server, _ = self.server.accept()
        self.addCleanup(server.close)
        server.settimeout(SECONDS)
        return client, server

    def test_answers_come_when_they_are_due(self) -> None:
        client, server = self.connect()
        for size in (1, 100_000):
            began = time.monotonic()
            client.sendall(b"?")
            self.assertEqual(server.recv(1), b"?")
            writer = threading.Thread(target=server.sendall, args=(b"x" * size,))
            writer.start()
            self.assertEqual(client.recv(1), b"x")
            self.assertGreaterEqual(time.monotonic() - began, DELAY_US / 1e6)
            left = size - 1
            while left > 0:
                left -= len(client.recv(left))
            writer.join()

    def test_pairs_do_not_wait_for_one_another(self) -> None:
        slow, slow_server = self.connect()
        quick, quick_server = self.connect()
        slow.sendall(b"?")
        self.assertEqual(slow_server.recv(1), b"?")
        quick.sendall(b"?")
        self.assertEqual(quick_server.recv(1), b"?")
        quick_server.sendall(b"!")
        self.assertEqual(quick.recv(1), b"!")
        # It was due first, and arrives when the server has it.
        slow_server.sendall(b"!")
        self.assertEqual(slow.recv(1), b"!")

    def test_last_words_arrive(self) -> None:
        client, server = self.connect()
        client.sendall(b"?")
        self.assertEqual(server.recv(1), b"?")
        server.sendall(b"too many")
        server.close()
        self.assertEqual(client.recv(100), b"too many")
        self.assertEqual(client.recv(100), b"")

    def test_clients_that_leave_take_their_connection_along(self) -> None:
        client, server = self.connect()
        client.sendall(b"?")
        self.assertEqual(server.recv(1), b"?")
        client.close()
        self.assertEqual(server.recv(1), b"")


if __name__ == "__main__":
    unittest.main()
