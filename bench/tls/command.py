"""`python3 -m bench tls`: memory of idle TLS connections, and concurrent active ones."""

from __future__ import annotations

import json
import socket
import ssl
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.faults.command import SPARE_FILES, allow_files
from bench.harness import machine
from bench.harness.errors import BenchError
from bench.harness.http_check import HOST, TIMEOUT_SECONDS
from bench.harness.load import Load, run_wrk
from bench.harness.markdown import table
from bench.harness.progress import Progress
from bench.harness.server import web_user
from bench.tls.servers import BODY, FILE, Secure, secure

if TYPE_CHECKING:
    import argparse

# The server has this time to release memory that an idle connection does not need.
SETTLE_SECONDS = 5.0
BUFFER = 8192
READABLE = 0o755
HEAD = (
    "",
    "TLS connections",
    "idle, still open",
    "KiB each",
    "active",
    "req/s",
    "p50 ms",
    "p99 ms",
    "failed",
    "MiB idle",
    "MiB after",
)


@dataclass(frozen=True)
class TlsResult:
    """A server with `idle` connections of which `open` remained; bytes are PSS of its processes."""

    peer: str
    version: str
    idle: int
    open: int
    active: int
    seconds: int
    before: int
    with_idle: int
    after: int
    load: Load

    @property
    def bytes_each(self) -> float:
        """Returns memory of one idle connection, without the kernel's buffers."""
        return (self.with_idle - self.before) / self.idle

    def as_dict(self) -> dict[str, Any]:
        """Returns the values for JSON."""
        return {**asdict(self), "bytes_each": self.bytes_each}


def connect(server: Secure, context: ssl.SSLContext) -> ssl.SSLSocket:
    """Opens a persistent connection and sends one request.

    Raises:
        BenchError: the response is not the file.
    """
    plain = socket.create_connection((HOST, server.port), TIMEOUT_SECONDS)
    client = context.wrap_socket(plain, server_hostname=HOST)
    client.sendall(f"GET /{FILE} HTTP/1.1\r\nHost: {HOST}:{server.port}\r\n\r\n".encode())
    answer = b""
    while not answer.endswith(BODY):
        part = client.recv(BUFFER)
        if not part:
            raise BenchError(f"not the file over TLS, but {answer[:100]!r}")
        answer += part
    return client


def is_open(client: ssl.SSLSocket) -> bool:
    """Whether the server has not closed it."""
    client.setblocking(False)  # noqa: FBT003  the name of the method says what it sets
    try:
        return client.recv(BUFFER) != b""
    except ssl.SSLWantReadError:
        return True
    except OSError:
        return False


def measure(name: str, arguments: argparse.Namespace, folder: Path) -> TlsResult:
    """Measures one server on a fresh start."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    clients: list[ssl.SSLSocket] = []
    with secure(name, folder, web_user()) as server:
        try:
            # Memory that is allocated once, at the first connection, does not belong to a
            # connection.
            connect(server, context).close()
            before = server.group.pss_bytes()
            clients.extend(connect(server, context) for _ in range(arguments.idle))
            version = str(clients[0].version())
            time.sleep(SETTLE_SECONDS)
            with_idle = server.group.pss_bytes()
            load = run_wrk(
                server.url,
                connections=arguments.active,
                seconds=arguments.duration,
                threads=1,
            ).load
            server.group.check_alive()
            after = server.group.pss_bytes()
            still = sum(is_open(client) for client in clients)
        finally:
            for client in clients:
                client.close()
    return TlsResult(
        peer=name,
        version=version,
        idle=arguments.idle,
        open=still,
        active=arguments.active,
        seconds=arguments.duration,
        before=before,
        with_idle=with_idle,
        after=after,
        load=load,
    )


def row(result: TlsResult) -> tuple[str, ...]:
    """Returns a row of the table."""
    load = result.load
    mebibyte = 1024 * 1024
    return (
        result.peer,
        f"{result.idle:,} ({result.version})",
        f"{result.open:,}",
        f"{result.bytes_each / 1024:.1f}",
        f"{result.active:,}",
        f"{load.requests_per_second:,.0f}",
        f"{load.p50 / 1000:.1f}",
        f"{load.p99 / 1000:.1f}",
        f"{load.failed:,} of {load.requests:,}",
        f"{result.with_idle / mebibyte:.0f}",
        f"{result.after / mebibyte:.0f}",
    )


def report(results: list[TlsResult], seconds: int) -> str:
    """Returns the table in Markdown."""
    about = (
        f"Connections that have asked once over HTTP/1.1 and say no more; then others ask for a "
        f"file of {len(BODY)} bytes without pause for {seconds} s. Memory is PSS of the server's "
        f"processes, without the kernel's buffers; PHP is idle."
    )
    rows = [row(result) for result in results]
    return "\n".join(["# TLS connections", "", about, "", *table(HEAD, rows)])


def measure_tls(arguments: argparse.Namespace, folder: Path) -> int:
    """Runs the whole command; prints the table and stores it with the raw data in `folder`."""
    # The server inherits the limit, and has the idle and the active connections.
    allow_files(arguments.idle + arguments.active + SPARE_FILES)
    folder.mkdir(parents=True)
    progress = Progress(len(arguments.peer))
    results: list[TlsResult] = []
    with tempfile.TemporaryDirectory(prefix="howdah-tls-") as temporary:
        Path(temporary).chmod(READABLE)
        for name in arguments.peer:
            progress.doing(name)
            results.append(measure(name, arguments, Path(temporary) / name))
            progress.step(name)
    document = {
        "machine": machine.facts(),
        "results": [result.as_dict() for result in results],
    }
    (folder / "tls.json").write_text(json.dumps(document, indent=2) + "\n")
    text = report(results, arguments.duration)
    (folder / "report.md").write_text(text)
    print(text, end="")
    print(f"{folder}/report.md", file=sys.stderr)
    return 1 if any(result.load.failed or result.open < result.idle for result in results) else 0
