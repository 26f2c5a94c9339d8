"""A peer that needs a command to reach the state in which it is measured."""

from __future__ import annotations

import unittest
from pathlib import Path

from bench.harness.errors import BenchError
from bench.harness.peers import load_peers
from bench.harness.processes import ProcessGroup
from bench.harness.server import Server


class SettleTest(unittest.TestCase):
    """Tests commands of `settle`."""

    def test_a_command_that_fails_is_told(self) -> None:
        peer = load_peers()["howdah-preload"]
        self.assertIn("reload", peer.settle)
        group = ProcessGroup(peer.name, None)
        Server(peer, 1, Path(), group, ("true",)).settle()
        failing = Server(peer, 1, Path(), group, ("sh", "-c", "echo no such server >&2; exit 1"))
        with self.assertRaisesRegex(BenchError, "no such server"):
            failing.settle()


if __name__ == "__main__":
    unittest.main()
