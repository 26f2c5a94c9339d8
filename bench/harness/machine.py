"""Properties of the machine that belong to every figure."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from pathlib import Path
from typing import Any

from bench.harness.peers import REPOSITORY


def _output(*command: str) -> str:
    if shutil.which(command[0]) is None:
        return "not installed"
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    return (done.stdout + done.stderr).strip()


def _field(path: str, name: str) -> str:
    for line in Path(path).read_text().splitlines():
        key, _, value = line.replace("=", ":", 1).partition(":")
        if key.strip() == name:
            return value.strip().strip('"')
    return "unknown"


def commit() -> dict[str, Any]:
    """Returns the commit that is checked out, and whether files differ from it."""
    git = ("git", "-C", str(REPOSITORY))
    head = subprocess.run(
        [*git, "rev-parse", "--verify", "HEAD"], capture_output=True, text=True, check=False
    )
    status = subprocess.run(
        [*git, "status", "--porcelain"], capture_output=True, text=True, check=False
    )
    return {
        "id": head.stdout.strip() if head.returncode == 0 else "none",
        "modified": bool(status.stdout.strip()) if status.returncode == 0 else None,
    }


def _governor() -> str:
    path = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
    return path.read_text().strip() if path.exists() else "not visible"


def facts() -> dict[str, Any]:
    """Returns the data needed to judge or repeat the figures; no host name, no paths."""
    return {
        "cpu": _field("/proc/cpuinfo", "model name"),
        "cpus": os.cpu_count() or 1,
        "memory": _field("/proc/meminfo", "MemTotal"),
        "kernel": platform.release(),
        "distribution": _field("/etc/os-release", "PRETTY_NAME"),
        "hypervisor": "yes" if "hypervisor" in _field("/proc/cpuinfo", "flags").split() else "no",
        "governor": _governor(),
        "load_average": os.getloadavg()[0],
        "php": _output("php", "-v").splitlines()[0],
        "wrk": _output("wrk", "-v").splitlines()[0],
        "python": platform.python_version(),
        "commit": commit(),
    }
