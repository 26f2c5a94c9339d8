"""The reader's two terminals: one for commands, one for the server."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from harness.processes import tcp_is_open
from page import shows

COMMAND_SECONDS = 300
SHOWN_SECONDS = 60
STOP_SECONDS = 30

COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
# The last line of a server's output at its start, including Octane's.
READY = ("…Ctrl+C…",)
ADDRESS = re.compile(r"https?://[^\s:/]+:(\d+)")


class TerminalError(Exception):
    """A command or a server that behaved differently than the page says."""


class Screen:
    """Output of a terminal, read by a thread until the programs on it have exited."""

    def __init__(self, terminal: int) -> None:
        self.changed = threading.Condition()
        self._terminal = terminal
        self._shown = bytearray()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._terminal, 65536)
            except OSError:
                # No program has it open.
                data = b""
            with self.changed:
                self._shown += data
                self.changed.notify_all()
            if not data:
                return

    def text(self) -> str:
        """Returns the output so far, without colours."""
        with self.changed:
            shown = self._shown.decode("utf-8", "replace")
        return COLOURS.sub("", shown).replace("\r", "")

    def is_open(self) -> bool:
        """Whether more output may come."""
        return self._reader.is_alive()

    def close(self) -> None:
        """Reads the remaining output."""
        self._reader.join(STOP_SECONDS)
        os.close(self._terminal)


class Shell:
    """A Bash that keeps its folder and variables between commands."""

    def __init__(self, folder: Path, scratch: Path, environment: Mapping[str, str]) -> None:
        self.folder = folder
        self._variables = scratch / "variables"
        self._place = scratch / "folder"
        self.environment = environment
        self._variables.write_text("")

    def run(self, command: str) -> str:
        """Returns the output of the command, which must succeed."""
        script = (
            f'. "{self._variables}"\n{command}\nstatus=$?\n'
            f'pwd >"{self._place}"\nexport -p >"{self._variables}"\nexit $status\n'
        )
        # Also a terminal, because curl's progress output differs elsewhere.
        terminal, side = pty.openpty()
        child = subprocess.Popen(
            ["bash", "-c", script], cwd=self.folder, env=self.environment,
            stdin=subprocess.DEVNULL, stdout=side, stderr=side, start_new_session=True,
        )  # fmt: skip
        os.close(side)
        screen = Screen(terminal)
        try:
            child.wait(COMMAND_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            raise TerminalError(f"no end after {COMMAND_SECONDS} s:\n{screen.text()}") from None
        finally:
            screen.close()
        printed = screen.text()
        if child.returncode != 0:
            raise TerminalError(f"exit status {child.returncode}:\n{printed}")
        self.folder = Path(self._place.read_text().rstrip("\n"))
        return printed


class Server:
    """A server on a separate terminal, until Ctrl+C."""

    def __init__(self, command: str, folder: Path, environment: Mapping[str, str]) -> None:
        terminal, side = pty.openpty()
        # `exec`, so that Ctrl+C reaches the server and not a shell before it.
        self._process = subprocess.Popen(
            ["setsid", "--ctty", "bash", "-c", f"exec env {command}"], cwd=folder,
            env={**environment, "TERM": "xterm", "COLUMNS": "200"}, stdin=side, stdout=side, stderr=side,
        )  # fmt: skip
        os.close(side)
        self._terminal = terminal
        self._screen = Screen(terminal)

    def printed(self) -> str:
        """Returns the output on the terminal."""
        return self._screen.text()

    def wait_for(self, lines: Sequence[str]) -> None:
        """Returns when the terminal shows these lines."""
        deadline = time.monotonic() + SHOWN_SECONDS
        while not shows(lines, self.printed(), anywhere=True):
            left = deadline - time.monotonic()
            if left <= 0 or not self._screen.is_open():
                raise TerminalError("the server's terminal does not show\n" + "\n".join(lines))
            with self._screen.changed:
                self._screen.changed.wait(min(left, 0.5))

    def wait(self) -> None:
        """Returns when it accepts requests: Octane prints its address before it listens there."""
        self.wait_for(READY)
        port = ADDRESS.search(self.printed())
        if port is None:
            raise TerminalError("the server shows no address")
        deadline = time.monotonic() + SHOWN_SECONDS
        while not tcp_is_open(int(port[1])):
            if time.monotonic() > deadline or not self._screen.is_open():
                raise TerminalError("the server does not listen at the address that it shows")
            time.sleep(0.02)

    def stop(self) -> None:
        """Sends Ctrl+C and waits for its exit."""
        if self._process.poll() is None:
            os.write(self._terminal, b"\x03")
        try:
            status = self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise TerminalError(f"the server did not stop:\n{self.printed()}") from None
        finally:
            self._screen.close()
        if status != 0:
            raise TerminalError(f"the server ended with {status}:\n{self.printed()}")
