"""Runs wrk or oha and parses their figures."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.harness.errors import BenchError

if TYPE_CHECKING:
    from bench.harness.cases import Check

SCRIPT = Path(__file__).with_name("wrk.lua")
MARK = "@howdah "
# wrk aggregates every 100 ms and joins its threads. A much longer delay is a hang.
GRACE_SECONDS = 30.0
ERROR_STATUS = 400


@dataclass(frozen=True)
class Load:
    """Figures of one run of wrk; latencies in microseconds."""

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
    # 0 in runs of earlier versions of the harness, which did not record it.
    p95: int = 0

    @property
    def requests_per_second(self) -> float:
        """Responses of any status per second."""
        return self.requests / (self.duration_us / 1e6)

    @property
    def failed(self) -> int:
        """Responses with a wrong status, and requests without a complete response in time."""
        return self.status + self.connect + self.read + self.write + self.timeout

    def as_dict(self) -> dict[str, Any]:
        """Returns the values for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Load:
        """Restores the values of `as_dict`; unknown keys are an error."""
        return cls(**values)


def parse_wrk(output: str) -> Load:
    """Parses the line that wrk.lua prints.

    Raises:
        BenchError: the line is missing or incomplete.
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
    if any(getattr(load, one.name) < 0 for one in fields(load)):
        raise BenchError(f"wrk printed a negative figure: {line}")
    return load


@dataclass(frozen=True)
class LoadRun:
    """The figures and wrk's own text."""

    load: Load
    output: str


def without_closes(load: Load) -> Load:
    """Corrects the figures of a server that closes the connection after each response.

    wrk counts each close as a read error; errors beyond the responses are broken connections.
    """
    return replace(load, read=max(0, load.read - load.requests))


def size_problem(
    check: Check, expected: int, requests: int, received: int, connections: int
) -> str | None:
    """Checks that responses under load were as long as the verified one.

    Each connection may have received a part of a response that does not count as a request.
    """
    if requests == 0:
        return "no request was answered"
    slack = check.slack(expected) * requests + expected * connections
    if abs(received - expected * requests) > slack:
        return (
            f"{received / requests:.0f} bytes an answer under load, {expected} when it was checked"
        )
    return None


@dataclass(frozen=True)
class Shape:
    """The client's requests; every hundredth request uses the slow path, if there is one.

    A status of 400 and above is required of every response. Below that, no response with 400 and
    above is valid.
    """

    headers: dict[str, str] = field(default_factory=dict)
    method: str = "GET"
    body: Path | None = None
    slow_path: str = ""
    gzip: bool = False
    status: int = 200

    @property
    def error_status(self) -> int | None:
        """Returns the required error status; None if every error is a failure."""
        return self.status if self.status >= ERROR_STATUS else None

    def header_lines(self) -> list[str]:
        """Returns all header fields that the load generator must send."""
        lines = [f"{name}: {value}" for name, value in self.headers.items()]
        return [*lines, "Accept-Encoding: gzip"] if self.gzip else lines


class Generator:
    """One running load generator; `finish` waits for it."""

    name = ""
    hint = ""

    def __init__(self, command: list[str], seconds: int) -> None:
        self.seconds = seconds
        try:
            self._process = subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                process_group=0,  # like servers, and in their session
            )
        except FileNotFoundError as error:
            raise BenchError(f"{self.name} is not installed; try: {self.hint}") from error

    def parse(self, output: str) -> Load:
        """The figures in the generator's output."""
        raise NotImplementedError

    def finish(self) -> LoadRun:
        """Waits until the run ends."""
        before = os.times()
        try:
            output, _ = self._process.communicate(timeout=self.seconds + GRACE_SECONDS)
        except subprocess.TimeoutExpired as error:
            raise BenchError(f"{self.name} did not end in time") from error
        finally:
            self.abort()
        after = os.times()
        if self._process.returncode != 0:
            raise BenchError(
                f"{self.name} ended with exit status {self._process.returncode}:\n{output}"
            )
        load = self.parse(output)
        # No other process that this one waits for exits meanwhile.
        cpu = (after.children_user + after.children_system) - (
            before.children_user + before.children_system
        )
        return LoadRun(replace(load, client_cpu_seconds=cpu), output)

    def abort(self) -> None:
        """Kills the generator if it still runs, for cleanup after an error."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()


class Wrk(Generator):
    """A closed loop: connections that each send the next request after a response."""

    name = "wrk"
    hint = "apt-get install wrk"

    def __init__(
        self,
        url: str,
        *,
        connections: int,
        seconds: int,
        threads: int,
        shape: Shape | None = None,
    ) -> None:
        shape = shape or Shape()
        command = [
            "wrk",
            f"--threads={min(threads, connections)}",
            f"--connections={connections}",
            f"--duration={seconds}s",
            # A slow response is a latency to show, not a number to drop. Only a response that takes
            # longer than the run is a timeout.
            f"--timeout={seconds + 2}s",
            f"--script={SCRIPT}",
        ]
        for line in shape.header_lines():
            command += ["--header", line]
        body = "" if shape.body is None else str(shape.body)
        status = str(shape.error_status or "")
        arguments = [shape.method, body, shape.slow_path, status]
        super().__init__([*command, url, "--", *arguments], seconds)

    def parse(self, output: str) -> Load:
        """Parses wrk.lua's line."""
        return parse_wrk(output)


def run_wrk(
    url: str,
    *,
    connections: int,
    seconds: int,
    threads: int,
    shape: Shape | None = None,
) -> LoadRun:
    """Runs wrk from start to end."""
    started = time.monotonic()
    run = Wrk(url, connections=connections, seconds=seconds, threads=threads, shape=shape).finish()
    if time.monotonic() - started < seconds:
        raise BenchError(f"wrk ended early:\n{run.output}")
    return run
