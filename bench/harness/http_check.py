"""Sends one request and compares the whole response: a fast wrong response must not count."""

from __future__ import annotations

import gzip
import http.client
import io
import json
import socket
import time
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote

from bench.harness.cases import PROBE_PATH, Case
from bench.harness.errors import BenchError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from _typeshed import WriteableBuffer as Buffer

HOST = "127.0.0.1"
TIMEOUT_SECONDS = 10.0
START_SECONDS = 30.0
POLL_SECONDS = 0.02


@dataclass(frozen=True)
class Answer:
    """A response; `wire_bytes` counts head and body as received, `body_bytes` only the body.

    `body` is decoded, and `encoding` is its original encoding.
    """

    status: int
    content_type: str
    body: bytes
    wire_bytes: int
    body_bytes: int = 0
    encoding: str = ""


def fetch(
    port: int,
    path: str,
    headers: dict[str, str] | None = None,
    method: str = "GET",
    body: bytes = b"",
) -> Answer:
    """Sends one request on a new connection.

    Raises:
        OSError, EOFError, http.client.HTTPException, zlib.error: no response, or a broken one.
    """
    connection = http.client.HTTPConnection(HOST, port, timeout=TIMEOUT_SECONDS)
    try:
        # http.client requests `identity` by default, unlike the load generators.
        connection.putrequest(method, path, skip_accept_encoding=True)
        for name, value in (headers or {}).items():
            connection.putheader(name, value)
        if body:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body or None)
        counter = _CountingSocket(connection.sock)
        response = http.client.HTTPResponse(cast("socket.socket", counter), method=method)
        response.begin()
        raw = response.read()
        encoding = response.getheader("Content-Encoding", "").lower()
        return Answer(
            status=response.status,
            content_type=response.getheader("Content-Type", ""),
            body=gzip.decompress(raw) if encoding == "gzip" else raw,
            wire_bytes=counter.received,
            body_bytes=len(raw),
            encoding=encoding,
        )
    finally:
        connection.close()


class _CountingSocket(io.RawIOBase):
    """The stream for HTTPResponse; counts all bytes: head, chunk sizes and body."""

    def __init__(self, source: socket.socket) -> None:
        super().__init__()
        self.received = 0
        self._source = source

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer) -> int:
        count = self._source.recv_into(buffer)
        self.received += count
        return count


def verify(port: int, case: Case, body: bytes = b"") -> Answer:
    """Requests the case's path and compares status, type and body; `body` is the request body.

    Raises:
        BenchError: the response differs.
    """
    headers = {**case.headers, **({"Accept-Encoding": "gzip"} if case.gzip else {})}
    try:
        answer = fetch(port, case.path, headers, case.method, body)
    except (OSError, EOFError, http.client.HTTPException, zlib.error) as error:
        raise BenchError(f"{case.method} {case.path}: no answer: {error!r}") from error
    differences = case.check.differences(answer)
    if differences:
        raise BenchError(f"{case.method} {case.path}: {'; '.join(differences)}")
    return answer


def probe(port: int, ini_names: Iterable[str]) -> dict[str, Any]:
    """Returns the conditions that the peer's PHP reports."""
    answer = fetch(port, f"{PROBE_PATH}?ini={quote(','.join(ini_names))}")
    try:
        facts: dict[str, Any] = json.loads(answer.body)
    except json.JSONDecodeError as error:
        raise BenchError(
            f"GET {PROBE_PATH}: status {answer.status}, not JSON: {answer.body[:200]!r}"
        ) from error
    return facts


def wait_for_port(port: int, check_alive: Callable[[], None]) -> None:
    """Returns once the port accepts; `check_alive` raises if the server has exited."""
    deadline = time.monotonic() + START_SECONDS
    while True:
        check_alive()
        try:
            socket.create_connection((HOST, port), timeout=TIMEOUT_SECONDS).close()
        except OSError:
            if time.monotonic() > deadline:
                raise BenchError(
                    f"nothing listens on {HOST}:{port} after {START_SECONDS:.0f} s"
                ) from None
            time.sleep(POLL_SECONDS)
        else:
            return
