"""Reports progress: one line that is rewritten on a terminal, otherwise a line per step."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from typing import TextIO


def clock(seconds: float) -> str:
    """Formats minutes and seconds."""
    whole = max(0, round(seconds))
    return f"{whole // 60}:{whole % 60:02d}"


@dataclass
class Progress:
    """Counts steps; the time left is estimated from the steps so far."""

    total: int
    stream: TextIO = field(default_factory=lambda: sys.stderr)
    done: int = 0
    _begun: float = field(default_factory=time.monotonic)

    def doing(self, text: str) -> None:
        """Shows the current step; on a terminal only."""
        if self.stream.isatty():
            self._write(f"\r\x1b[K[{self.done}/{self.total}] {self._left()}{text}")

    def step(self, text: str, steps: int = 1) -> None:
        """Shows a completed step."""
        self.done += steps
        begin = "\r\x1b[K" if self.stream.isatty() else ""
        self._write(f"{begin}[{self.done}/{self.total}] {self._left()}{text}\n")

    def note(self, text: str) -> None:
        """Shows a separate line."""
        begin = "\r\x1b[K" if self.stream.isatty() else ""
        self._write(f"{begin}{text}\n")

    def _left(self) -> str:
        if self.done == 0:
            return ""
        spent = time.monotonic() - self._begun
        return f"{clock(spent / self.done * (self.total - self.done))} left  "

    def _write(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()
