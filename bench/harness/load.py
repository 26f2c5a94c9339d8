"""Runs wrk or oha and reads their figures."""

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
# wrk sums up every 100 ms and joins its threads; anything much longer is a hang.
GRACE_SECONDS = 30.0
ERROR_STATUS = 400


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
    # 0 in runs of earlier versions of the harness, which did not ask for it.
    p95: int = 0

    @property
    def requests_per_second(self) -> float:
        """Answers of any status per second."""
        return self.requests / (self.duration_us / 1e6)

    @property
    def failed(self) -> int:
        """Answers with a wrong status, and requests without a whole answer in time."""
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
    if any(getattr(load, one.name) < 0 for one in fields(load)):
        raise BenchError(f"wrk printed a negative figure: {line}")
    return load


@dataclass(frozen=True)
class LoadRun:
    """The figures and wrk's own text."""

    load: Load
    output: str


def without_closes(load: Load) -> Load:
    """The figures for a server that ends each answer by closing the connection.

    wrk counts each such end as a read error; what exceeds the answers are broken connections.
    """
    return replace(load, read=max(0, load.read - load.requests))


def size_problem(
    check: Check, expected: int, requests: int, received: int, connections: int
) -> str | None:
    """Whether the answers under load were as long as the one that was checked.

    Each connection may have received a part of an answer that does not count as a request.
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
    """What the client asks for; each hundredth request goes to the slow path, if there is one.

    A status of 400 and above is the one that each answer has to have; below it, none of 400 and
    above is a right one.
    """

    headers: dict[str, str] = field(default_factory=dict)
    method: str = "GET"
    body: Path | None = None
    slow_path: str = ""
    gzip: bool = False
    status: int = 200

    @property
    def error_status(self) -> int | None:
        """The error that is asked for; None where every error is a failure."""
        return self.status if self.status >= ERROR_STATUS else None

    def header_lines(self) -> list[str]:
        """All headers that the load generator has to send."""
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
                process_group=0,  # as servers are, and in their session
            )
        except FileNotFoundError as error:
            raise BenchError(f"{self.name} is not installed; try: {self.hint}") from error

    def parse(self, output: str) -> Load:
        """The figures in the generator's output."""
        raise NotImplementedError

    def finish(self) -> LoadRun:
        """Waits for the end of the run."""
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
        # Nothing else that this process waits for ends meanwhile.
        cpu = (after.children_user + after.children_system) - (
            before.children_user + before.children_system
        )
        return LoadRun(replace(load, client_cpu_seconds=cpu), output)

    def abort(self) -> None:
        """Ends the generator if it still runs; for the way out after an error."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()


class Wrk(Generator):
    """A closed loop: so many connections, each of which asks again once it has its answer."""

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
            # A slow answer is a latency to show, not a number to drop: only longer than the run
            # is a timeout.
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
        """wrk.lua's line."""
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
