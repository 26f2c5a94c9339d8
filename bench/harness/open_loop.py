"""Requests at a constant rate, whatever the response times; runs oha."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from bench.harness.errors import BenchError
from bench.harness.load import ERROR_STATUS, Generator, Load, Shape

TOOLS = Path(__file__).parent.parent / ".tools" / "bin"
HINT = "make -C bench tools"
VERSION = "1.16.0"
TIMEOUT_SECONDS = 30
MICROSECONDS = 1e6


def find_oha() -> str | None:
    """Returns the path of oha, or None if it is missing."""
    return shutil.which("oha") or shutil.which("oha", path=str(TOOLS))


def parse_oha(output: str, error_status: int | None = None) -> Load:
    """Parses the figures of oha's JSON, which lacks the standard deviation.

    `error_status` is the only valid one if it is set.

    A request without a response counts as a timeout: it was due and got none.

    Raises:
        BenchError: the output is not from oha.
    """
    try:
        document: dict[str, Any] = json.loads(output)
        summary = document["summary"]
        latencies = document["latencyPercentiles"]
        found = document["statusCodeDistribution"]
        statuses = {int(status): int(count) for status, count in found.items()}
        lost = sum(int(count) for count in document["errorDistribution"].values())

        def us(seconds: float | None) -> int:
            return round((seconds or 0.0) * MICROSECONDS)

        return Load(
            requests=sum(statuses.values()),
            duration_us=us(summary["total"]),
            bytes=int(summary["totalData"]),
            connect=0,
            read=0,
            write=0,
            status=sum(
                count
                for status, count in statuses.items()
                if (status >= ERROR_STATUS if error_status is None else status != error_status)
            ),
            timeout=lost,
            mean=(summary["average"] or 0.0) * MICROSECONDS,
            stdev=0.0,
            min=us(summary["fastest"]),
            p50=us(latencies["p50"]),
            p75=us(latencies["p75"]),
            p90=us(latencies["p90"]),
            p95=us(latencies["p95"]),
            p99=us(latencies["p99"]),
            max=us(summary["slowest"]),
        )
    except (json.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise BenchError(f"oha printed figures that cannot be read: {output[:500]}") from error


class Oha(Generator):
    """A latency counts from the time when a request was due, so that stalls are included."""

    name = "oha"
    hint = HINT

    def __init__(
        self, url: str, *, rate: int, connections: int, seconds: int, shape: Shape | None = None
    ) -> None:
        shape = shape or Shape()
        path = find_oha()
        if path is None:
            raise BenchError(f"oha is not installed; try: {HINT}")
        command = [
            path,
            "--no-tui",
            "--output-format=json",
            "--latency-correction",
            "--wait-ongoing-requests-after-deadline",
            "--disable-compression",
            f"-q{rate}",
            f"-c{connections}",
            f"-z{seconds}s",
            f"-t{TIMEOUT_SECONDS}s",
            f"-m{shape.method}",
        ]
        for line in shape.header_lines():
            command += ["-H", line]
        if shape.body is not None:
            command += ["-D", str(shape.body)]
        self._error_status = shape.error_status
        super().__init__([*command, url], seconds + TIMEOUT_SECONDS)

    def parse(self, output: str) -> Load:
        """Parses oha's JSON."""
        return parse_oha(output, self._error_status)
