"""Runs wrk and reads its figures."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from bench.harness.errors import BenchError

SCRIPT = Path(__file__).with_name("wrk.lua")
MARK = "@howdah "
# wrk sums up every 100 ms and joins its threads; anything much longer is a hang.
GRACE_SECONDS = 30.0


@dataclass(frozen=True)
class Load:
    """What one run of wrk saw; latencies in microseconds."""

    requests: int
    duration_us: int
    bytes: int
    connect: int
    read: int
    write: int
    status: int
    timeout: int
    mean: float
    stdev: float
    min: int
    p50: int
    p75: int
    p90: int
    p99: int
    max: int
    client_cpu_seconds: float = 0.0

    @property
    def requests_per_second(self) -> float:
        """Answers of any status per second."""
        return self.requests / (self.duration_us / 1e6)

    @property
    def failed(self) -> int:
        """Answers with status 400 and above, and requests without a whole answer in time."""
        return self.status + self.connect + self.read + self.write + self.timeout

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Load:
        """The reverse of `as_dict`; unknown keys are an error."""
        return cls(**values)


def parse_wrk(output: str) -> Load:
    """Finds the line that wrk.lua prints.

    Raises:
        BenchError: the line is missing or not complete.
    """
    line = next((line for line in output.splitlines() if line.startswith(MARK)), None)
    if line is None:
        raise BenchError(f"wrk printed no figures:\n{output}")
    # LuaJIT prints a mean over no requests as a bare nan.
    text = re.sub(r"-?nan|-?inf", "0", line.removeprefix(MARK))
    try:
        values = json.loads(text)
        load = Load(**values)
    except (json.JSONDecodeError, TypeError) as error:
        raise BenchError(f"wrk printed figures that cannot be read: {line}") from error
    if any(getattr(load, field.name) < 0 for field in fields(load)):
        raise BenchError(f"wrk printed a negative figure: {line}")
    return load


@dataclass(frozen=True)
class LoadRun:
    """The figures and wrk's own text."""

    load: Load
    output: str


class Wrk:
    """One running wrk; `finish` waits for it."""

    def __init__(
        self,
        url: str,
        *,
        connections: int,
        seconds: int,
        threads: int,
        headers: dict[str, str] | None = None,
    ) -> None:
        self.seconds = seconds
        command = [
            "wrk",
            f"--threads={min(threads, connections)}",
            f"--connections={connections}",
            f"--duration={seconds}s",
            # A slow answer is a latency to show, not a number to drop: only longer than the run
            # is a timeout.
            f"--timeout={seconds + 2}s",
            f"--script={SCRIPT}",
        ]
        for name, value in (headers or {}).items():
            command += ["--header", f"{name}: {value}"]
        try:
            self._process = subprocess.Popen(
                [*command, url],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
            )
        except FileNotFoundError as error:
            raise BenchError("wrk is not installed; try: apt-get install wrk") from error

    def finish(self) -> LoadRun:
        """Waits for the end of the run."""
        before = os.times()
        try:
            output, _ = self._process.communicate(timeout=self.seconds + GRACE_SECONDS)
        except subprocess.TimeoutExpired as error:
            raise BenchError("wrk did not end in time") from error
        finally:
            self.abort()
        after = os.times()
        if self._process.returncode != 0:
            raise BenchError(f"wrk ended with exit status {self._process.returncode}:\n{output}")
        load = parse_wrk(output)
        # Nothing else that this process waits for ends meanwhile.
        cpu = (after.children_user + after.children_system) - (
            before.children_user + before.children_system
        )
        return LoadRun(Load(**{**load.as_dict(), "client_cpu_seconds": cpu}), output)

    def abort(self) -> None:
        """Ends wrk if it still runs; for the way out after an error."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()


def run_wrk(
    url: str,
    *,
    connections: int,
    seconds: int,
    threads: int,
    headers: dict[str, str] | None = None,
) -> LoadRun:
    """Runs wrk from start to end."""
    started = time.monotonic()
    run = Wrk(
        url, connections=connections, seconds=seconds, threads=threads, headers=headers
    ).finish()
    if time.monotonic() - started < seconds:
        raise BenchError(f"wrk ended early:\n{run.output}")
    return run
