"""Cost of a request after which its worker is replaced, when all requests are of that kind.

Each request gets a 404 and then ends in a way after which the process is not reused. Each must get
a complete response, from a process that has served no request before, and none may wait for the
application to boot.
"""

from __future__ import annotations

import asyncio
import http.client
import statistics
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from bench.faults import replacement
from bench.faults.identity import parse
from bench.faults.replacement import percentile
from bench.harness import phpini
from bench.harness.errors import BenchError
from bench.harness.http_check import HOST, fetch
from bench.harness.server import Server, Setup, serve

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from bench.faults.identity import Worker
    from bench.harness.peers import Peer

TITLE = "Every request costs a worker"
ABOUT = (
    "Each request gets a 404 and ends in a way after which its process is not used again. As many "
    "come at a time as there are connections, and each waits until those before it have a process. "
    "Failed: no whole 404. Used again: answered by a process that had answered before. Boots: from "
    "how many the answers come, one where every successor is a fork. The application holds 20 MiB, "
    "and its boot takes what stands beside."
)
# The values of `do`, in words.
WAYS = {
    "return": "exit, and a finally block that returns",
    "throw": "exit, and a finally block that throws",
    "jit": "exit with JIT on, before PHP 8.4",
    "fatal": "fatal error (memory limit) after the answer",
}
JIT = {"opcache.jit": "tracing", "opcache.jit_buffer_size": "16M"}
CONNECTIONS = (8, 100)
REQUESTS = 1000
WARM_UP = 100
# A server that boots for each request is loaded for at most this time.
SECONDS = 10.0
ANSWER_SECONDS = 30.0
MISSING = "status 404"
OK = 200
HIGH = 0.99
GOES_ON = "its worker goes on"


@dataclass(frozen=True)
class UnderLoad:
    """A server that lost a worker with each request; latencies in milliseconds.

    Without latencies, `reason` is the cause. `boots` counts the boots that responses came from.
    """

    peer: str
    way: str
    connections: int
    requests: int = 0
    failed: int = 0
    used_again: int = 0
    boots: int = 0
    boot_ms: float = 0.0
    seconds: float = 0.0
    p50: float = 0.0
    p99: float = 0.0
    max: float = 0.0
    outcomes: dict[str, int] = field(default_factory=dict)
    reason: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Returns the values for JSON."""
        return asdict(self)


def where(result: dict[str, Any]) -> str:
    """Describes way and load in words."""
    return f"{WAYS[result['way']]}, {result['connections']} connections"


def judged(result: dict[str, Any]) -> bool:
    """Whether a target applies: with JIT, the worker continues where PHP allows it."""
    return not (result["reason"] == GOES_ON and result["way"] == "jit")


def summary(result: dict[str, Any]) -> str:
    """Summarizes the result of a target in one line."""
    if result["reason"]:
        return str(result["reason"])
    text = (
        f"{result['failed']:,} of {result['requests']:,} failed, median {result['p50']:.0f} and "
        f"slowest {result['max']:.0f} ms"
    )
    if result["used_again"]:
        text += f", {result['used_again']:,} by a process that had answered before"
    if result["boots"] > 1:
        text += f", {result['boots']:,} boots"
    return text


def good(result: dict[str, Any]) -> bool:
    """Whether each response came from a new process, and none waited for a boot.

    A request that waits for a boot is slower than the others by its duration. Latencies themselves
    are not conclusive, because they grow with the number of connections.
    """
    if result["reason"]:
        return False
    whole = result["failed"] == 0 and result["used_again"] == 0
    waited = result["boots"] > 1 or result["max"] >= result["p50"] + result["boot_ms"]
    return whole and not waited


async def read_answer(reader: asyncio.StreamReader) -> bytes:
    """Reads a complete response with the length that its head declares.

    Raises:
        EOFError, OSError, ValueError: it is incomplete, or has no length.
    """
    head = await reader.readuntil(b"\r\n\r\n")
    fields = {}
    for line in head.decode("latin-1").split("\r\n")[1:]:
        name, _, value = line.partition(":")
        fields[name.lower()] = value.strip()
    if fields.get("transfer-encoding") == "chunked":
        body = b""
        while True:
            size = await reader.readuntil(b"\r\n")
            piece = await reader.readexactly(int(size, 16) + 2)
            body += size + piece
            if int(size, 16) == 0:
                return head + body
    if "content-length" in fields:
        return head + await reader.readexactly(int(fields["content-length"]))
    return head + await reader.read()


class Load:
    """Connections that each send the next request after a response."""

    def __init__(self, port: int, way: str, requests: int) -> None:
        self.left = requests
        self.sent = 0
        self.failed = 0
        self.milliseconds: list[float] = []
        self.workers: list[Worker] = []
        self.outcomes: Counter[str] = Counter()
        self._port = port
        self._request = f"GET /?do={way}&missing=1 HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode()

    def run(self, connections: int, seconds: float) -> float:
        """Runs until all requests have responses or the time is over; returns the duration."""
        begun = time.perf_counter()
        asyncio.run(self._all(connections, begun + seconds))
        return time.perf_counter() - begun

    async def _all(self, connections: int, end: float) -> None:
        await asyncio.gather(*(self._client(end) for _ in range(connections)))

    async def _client(self, end: float) -> None:
        streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        while self.left > 0 and time.perf_counter() < end:
            self.left -= 1
            self.sent += 1
            begun = time.perf_counter()
            answer = b""
            try:
                async with asyncio.timeout(ANSWER_SECONDS):
                    streams = streams or await asyncio.open_connection(HOST, self._port)
                    streams[1].write(self._request)
                    answer = await read_answer(streams[0])
            except (OSError, EOFError, ValueError) as error:
                self.outcomes[type(error).__name__] += 1
            self._count(answer, time.perf_counter() - begun)
            if streams is not None and (not answer or b"\nconnection: close" in answer.lower()):
                streams[1].close()
                streams = None
        if streams is not None:
            streams[1].close()

    def _count(self, answer: bytes, seconds: float) -> None:
        reply = parse(answer)
        if answer:
            self.outcomes[reply.status] += 1
        if reply.status != MISSING or reply.worker is None:
            self.failed += 1
            return
        self.milliseconds.append(seconds * 1000)
        self.workers.append(reply.worker)


def measure_load(server: Server, way: str, connections: int, workers: int) -> UnderLoad:
    """Measures one server under one load in one way; it has `workers` processes."""
    name = server.peer.name
    do = "exit" if way == "jit" else way
    # The first requests find empty caches that are filled later, and reused processes.
    Load(server.port, do, WARM_UP).run(connections, SECONDS)
    load = Load(server.port, do, REQUESTS)
    seconds = load.run(connections, SECONDS)
    try:
        server.group.check_alive()
    except BenchError:
        return UnderLoad(name, way, connections, reason="it ends the whole server")
    if not load.workers:
        words = ", ".join(load.outcomes) or "nothing"
        return UnderLoad(name, way, connections, reason=f"no whole 404 came, but {words}")
    used_again = sum(worker.served > 1 for worker in load.workers)
    # At first, no process has served a request yet.
    if used_again >= len(load.workers) - workers:
        return UnderLoad(name, way, connections, reason=GOES_ON)
    return UnderLoad(
        peer=name,
        way=way,
        connections=connections,
        requests=load.sent,
        failed=load.failed,
        used_again=used_again,
        boots=len({worker.boot for worker in load.workers}),
        boot_ms=statistics.median(worker.boot_ms for worker in load.workers),
        seconds=seconds,
        p50=statistics.median(load.milliseconds),
        p99=percentile(load.milliseconds, HIGH),
        max=max(load.milliseconds),
        outcomes=dict(load.outcomes),
    )


def check_serves(server: Server) -> None:
    """Sends a request that loses nothing.

    Raises:
        BenchError: the application does not respond, so later errors would not be due to losses.
    """
    try:
        answer = fetch(server.port, "/")
    except (OSError, http.client.HTTPException) as error:
        raise BenchError(f"{server.peer.name} does not serve the application: {error!r}") from error
    if answer.status != OK:
        raise BenchError(
            f"{server.peer.name} does not serve the application: status {answer.status}"
        )


def takes_part(peer: Peer) -> bool:
    """Whether the server is installed and runs the worker script of this application.

    Whether a process with coroutines was reused cannot be observed: other requests are in flight in
    it, and each request has separate statics.
    """
    return peer.contract == "frankenphp" and not peer.coroutines and not peer.missing()


def measure_peer(peer: Peer, arguments: argparse.Namespace, folder: Path) -> list[UnderLoad]:
    """Measures one server in all ways, each on a fresh start."""
    found = []
    for way in WAYS:
        values = replacement.install(folder / way / "site")
        ini = phpini.shared_ini(arguments.php_ini) | (JIT if way == "jit" else {})
        setup = Setup(arguments.workers, ini)
        keep = arguments.folder / "peers" / peer.name / f"{replacement.NAME}-load-{way}"
        with serve(peer, setup, site=values, folder=folder / way / "server", keep=keep) as server:
            check_serves(server)
            found += [
                measure_load(server, way, connections, arguments.workers)
                for connections in CONNECTIONS
            ]
    return found
