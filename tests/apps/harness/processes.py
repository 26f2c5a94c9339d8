"""Processes of a run: each has a log, is waited for, and is terminated by its id."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

# Timeout that detects a hang: a database on a busy machine may be slow.
START_SECONDS = 300
STOP_SECONDS = 15


class StartError(Exception):
    """A process did not start."""


class Process:
    """A child process with standard output and error in a log."""

    def __init__(
        self, name: str, command: Sequence[str], log: Path, cwd: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        self.name = name
        self.log = log
        with log.open("ab") as stream:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                cwd=cwd,
                env=dict(environment) if environment is not None else None,
            )

    def wait_until(self, ready: Callable[[], bool]) -> None:
        """Polls until the process is ready; fails if it exits or the time is over."""
        deadline = time.monotonic() + START_SECONDS
        while not ready():
            if self._process.poll() is not None:
                raise StartError(f"{self.name} ended with {self._process.returncode} at its start:\n{self.tail()}")
            if time.monotonic() > deadline:
                self.stop()
                raise StartError(f"{self.name} was not ready after {START_SECONDS} s:\n{self.tail()}")
            time.sleep(0.02)

    def stop(self) -> None:
        """Terminates the process, and kills it if it does not exit."""
        if self._process.poll() is not None:
            return
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def tail(self, lines: int = 30) -> str:
        """Returns the last lines of the log."""
        return "\n".join(self.log.read_text("utf-8", "replace").splitlines()[-lines:])


def free_port() -> int:
    """Returns a free TCP port of the loopback address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def tcp_is_open(port: int) -> bool:
    """Whether a process accepts connections on the port."""
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def unix_is_open(path: Path) -> bool:
    """Whether a process accepts connections on the socket."""
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True
