"""Identifies the worker that handled a request, for measurements of its time."""

from __future__ import annotations

import http.client
import io
import json
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from bench.harness.http_check import HOST

if TYPE_CHECKING:
    import socket

RECEIVE_BYTES = 1 << 16


@dataclass(frozen=True)
class Worker:
    """Identity of a worker: a process, and the boot in it."""

    pid: int
    boot: str
    boot_ms: float
    served: int

    def is_other(self, before: Worker) -> bool:
        """Whether this is a different process, or a different boot in the same one (threads)."""
        return (self.pid, self.boot) != (before.pid, before.boot)


@dataclass(frozen=True)
class Reply:
    """A response; `worker` is set only if it is valid."""

    status: str
    worker: Worker | None


def connect(port: int, target: str, seconds: float) -> http.client.HTTPConnection:
    """Opens a connection before the measurement, with its request ready to be sent.

    The timeout for its response is `seconds`.
    """
    connection = http.client.HTTPConnection(HOST, port, timeout=seconds)
    connection.connect()
    connection.putrequest("GET", target, skip_accept_encoding=True)
    connection.putheader("Connection", "close")
    return connection


def receive(connection: http.client.HTTPConnection) -> bytes:
    """Sends the request and returns all bytes until the server closes; `parse` reads them.

    Nothing is parsed here, because that can take longer than the response.
    """
    with closing(connection):
        connection.endheaders()
        answer = bytearray()
        while piece := connection.sock.recv(RECEIVE_BYTES):
            answer += piece
    return bytes(answer)


class _Received:
    """Received bytes in place of the socket that HTTPResponse reads from."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer

    def makefile(self, _mode: str) -> io.BytesIO:
        return io.BytesIO(self._answer)


def parse(answer: bytes) -> Reply:
    """Parses the status and the worker of a response."""
    response = http.client.HTTPResponse(cast("socket.socket", _Received(answer)))
    try:
        response.begin()
        body = response.read()
    except http.client.HTTPException:
        return Reply("broken answer" if answer else "no answer", None)
    try:
        facts = json.loads(body)
        worker = Worker(facts["pid"], facts["boot"], facts["boot_ms"], facts["served"])
    except (ValueError, KeyError, TypeError):
        worker = None
    return Reply(f"status {response.status}", worker)
