"""Reads /proc: process trees, CPU time, memory, the state of the whole machine."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Stat:
    """Fields of /proc/PID/stat that are used here; times in seconds."""

    pid: int
    ppid: int
    group: int
    cpu_seconds: float
    start_ticks: int
    zombie: bool = False


def parse_stat(text: str) -> Stat:
    """Parses /proc/PID/stat; the command's name may contain spaces and parentheses.

    `cpu_seconds` includes children that exited and were reaped.
    """
    pid, _, rest = text.partition(" (")
    fields = rest[rest.rindex(")") + 2 :].split()
    return Stat(
        pid=int(pid),
        ppid=int(fields[1]),
        group=int(fields[2]),
        cpu_seconds=sum(int(field) for field in fields[11:15]) / TICKS_PER_SECOND,
        start_ticks=int(fields[19]),
        zombie=fields[0] in "ZX",
    )


def read_stat(pid: int) -> Stat | None:
    """Returns the state of a process, None if it has exited."""
    try:
        return parse_stat((PROC / str(pid) / "stat").read_text())
    except (FileNotFoundError, ProcessLookupError):
        return None


def all_stats() -> list[Stat]:
    """Returns the state of every process on the machine."""
    pids = (int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit())
    return [stat for pid in pids if (stat := read_stat(pid)) is not None]


def tree(roots: list[int], stats: list[Stat]) -> list[Stat]:
    """Returns the roots, their descendants, and other processes of a root's group."""
    wanted = set(roots)
    grown = True
    while grown:
        more = {
            stat.pid
            for stat in stats
            if stat.pid not in wanted and (stat.ppid in wanted or stat.group in roots)
        }
        wanted |= more
        grown = bool(more)
    return [stat for stat in stats if stat.pid in wanted]


def command_line(pid: int) -> str:
    """Returns the command line with spaces, empty if the process has exited."""
    try:
        raw = (PROC / str(pid) / "cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return raw.replace(b"\0", b" ").decode(errors="replace").strip()


def parse_pss(text: str) -> int:
    """Parses the proportional set size in bytes from smaps_rollup, which divides shared pages."""
    for line in text.splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    return 0


def pss_bytes(pids: list[int]) -> int:
    """Returns the sum over processes; those that exit meanwhile count as 0."""
    total = 0
    for pid in pids:
        try:
            total += parse_pss((PROC / str(pid) / "smaps_rollup").read_text())
        except (FileNotFoundError, ProcessLookupError):
            continue
    return total


@dataclass(frozen=True)
class MachineTime:
    """CPU seconds since boot, over all CPUs; steal is time that the hypervisor gave to others."""

    busy: float
    steal: float


def parse_machine_time(text: str) -> MachineTime:
    """Parses the first line of /proc/stat."""
    fields = [int(field) for field in text.splitlines()[0].split()[1:]]
    user, nice, system, _idle, _iowait, irq, softirq, steal = fields[:8]
    return MachineTime(
        busy=(user + nice + system + irq + softirq) / TICKS_PER_SECOND,
        steal=steal / TICKS_PER_SECOND,
    )


def machine_time() -> MachineTime:
    """Returns the CPU times since boot."""
    return parse_machine_time((PROC / "stat").read_text())
