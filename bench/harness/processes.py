"""Starts servers, accounts for all their processes, and leaves none running.

With a writable cgroup v2, the kernel counts CPU time of every process that ever belonged to the
server, including exited ones. Without it, the process tree in /proc is summed up. There, the time
of a child counts once its parent has reaped it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from bench.harness import proc
from bench.harness.cores import on
from bench.harness.errors import BenchError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

STOP_SECONDS = 10.0
POLL_SECONDS = 0.02

# Joins the cgroup before the server starts, so that no child is ever outside it.
JOIN_AND_EXEC = 'echo $$ > "$0" && exec "$@"'


def own_cgroup() -> Path | None:
    """Returns the cgroup v2 folder of this process, None without the unified hierarchy."""
    mount = next(
        (
            fields[4]
            for line in Path("/proc/self/mountinfo").read_text().splitlines()
            if (fields := line.split()) and fields[fields.index("-") + 1] == "cgroup2"
        ),
        None,
    )
    path = next(
        (
            line[3:]
            for line in Path("/proc/self/cgroup").read_text().splitlines()
            if line.startswith("0::")
        ),
        None,
    )
    if mount is None or path is None:
        return None
    return Path(mount) / path.lstrip("/")


def make_cgroup(name: str) -> Path | None:
    """Creates a cgroup below the own one; None if that is not allowed."""
    parent = own_cgroup()
    if parent is None:
        return None
    folder = parent / name
    try:
        folder.mkdir()
    except OSError:
        return None
    if not (folder / "cpu.stat").exists():
        folder.rmdir()
        return None
    return folder


class ProcessGroup:
    """All processes of one peer; they run on `cpus`, None for any."""

    def __init__(self, name: str, cpus: Collection[int] | None = None) -> None:
        self.name = name
        self.cpus = cpus
        self.cgroup = make_cgroup(f"howdah-bench-{os.getpid()}-{time.monotonic_ns()}")
        self.forced_stops: list[str] = []
        self._started: list[tuple[str, subprocess.Popen[bytes]]] = []

    @property
    def accounting(self) -> Literal["cgroup v2", "/proc"]:
        """Describes the source of the CPU figures."""
        return "cgroup v2" if self.cgroup is not None else "/proc"

    def start(
        self, name: str, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], log: Path
    ) -> None:
        """Starts one more process of the group; its output goes to `log`."""
        command = list(argv)
        if self.cgroup is not None:
            join = str(self.cgroup / "cgroup.procs")
            command = ["/bin/sh", "-c", JOIN_AND_EXEC, join, *command]
        with log.open("ab") as output, on(self.cpus):
            process = subprocess.Popen(
                command,
                cwd=cwd,
                env=dict(env),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                # Ctrl-C reaches the harness, which then stops it in order. It is not a session:
                # Linux distributes CPU time among sessions, and a server of two programs would have
                # two.
                process_group=0,
            )
        self._started.append((name, process))

    def check_alive(self) -> None:
        """Raises BenchError if a process that should run has exited."""
        for name, process in self._started:
            if process.poll() is not None:
                raise BenchError(
                    f"{self.name}: {name} ended with exit status {process.returncode}; "
                    f"its log is in the run's folder"
                )

    def stats(self) -> list[proc.Stat]:
        """Returns all processes of the group, including exited ones that are not reaped yet."""
        if self.cgroup is not None:
            pids = (self.cgroup / "cgroup.procs").read_text().split()
            found = [stat for pid in pids if (stat := proc.read_stat(int(pid))) is not None]
        else:
            found = proc.tree([process.pid for _, process in self._started], proc.all_stats())
        return found

    def main_pids(self) -> list[int]:
        """Returns processes that were started here, not by a process of the group."""
        return [process.pid for _, process in self._started]

    def pids(self) -> list[int]:
        """Returns the ids of those that are alive."""
        return [stat.pid for stat in self.alive()]

    def alive(self) -> list[proc.Stat]:
        """Returns the processes of the group that still run."""
        return [stat for stat in self.stats() if not stat.zombie]

    def cpu_seconds(self) -> float:
        """Returns user and system time of the group since it started."""
        if self.cgroup is None:
            return sum(stat.cpu_seconds for stat in self.stats())
        for line in (self.cgroup / "cpu.stat").read_text().splitlines():
            key, _, value = line.partition(" ")
            if key == "usage_usec":
                return int(value) / 1e6
        raise BenchError(f"{self.cgroup}/cpu.stat has no usage_usec")

    def pss_bytes(self) -> int:
        """Returns memory of all processes of the group, with shared pages counted once."""
        return proc.pss_bytes(self.pids())

    def stop(self) -> None:
        """Sends SIGTERM in reverse order, SIGKILL to the rest after ten seconds, then checks."""
        for name, process in reversed(self._started):
            process.terminate()
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.forced_stops.append(name)
        left = self.alive()
        deadline = time.monotonic() + STOP_SECONDS
        while left and time.monotonic() < deadline:
            for stat in left:
                self._kill(stat)
            for _, process in self._started:
                process.poll()
            time.sleep(POLL_SECONDS)
            left = self.alive()
        if left:
            pids = ", ".join(str(stat.pid) for stat in left)
            raise BenchError(f"{self.name}: processes {pids} survived SIGKILL")
        if self.cgroup is not None:
            self.cgroup.rmdir()
            self.cgroup = None

    @staticmethod
    def _kill(stat: proc.Stat) -> None:
        now = proc.read_stat(stat.pid)
        # The same id with a different start time is an unrelated process.
        if now is not None and now.start_ticks == stat.start_ticks:
            with contextlib.suppress(ProcessLookupError):
                os.kill(stat.pid, signal.SIGKILL)
