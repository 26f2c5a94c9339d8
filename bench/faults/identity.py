"""Who answers: a request that says which worker ran it, for measurements of its time."""

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
    """Who answered: a process, and what booted in it."""

    pid: int
    boot: str
    boot_ms: float
    served: int

    def is_other(self, before: Worker) -> bool:
        """Another process, or another boot in the same one, as threads have it."""
        return (self.pid, self.boot) != (before.pid, before.boot)


@dataclass(frozen=True)
class Reply:
    """One answer; `worker` only if it is a right one."""

    status: str
    worker: Worker | None


def connect(port: int, target: str, seconds: float) -> http.client.HTTPConnection:
    """A connection that is open before anything is timed, with its request ready to be sent.

    Its answer is waited for `seconds` at most.
    """
    connection = http.client.HTTPConnection(HOST, port, timeout=seconds)
    connection.connect()
    connection.putrequest("GET", target, skip_accept_encoding=True)
    connection.putheader("Connection", "close")
    return connection


def receive(connection: http.client.HTTPConnection) -> bytes:
    """Sends the request and returns all that comes until the server closes; `parse` reads it.

    Nothing of it is parsed here: that can take longer than the answer, and time counts.
    """
    with closing(connection):
        connection.endheaders()
        answer = bytearray()
        while piece := connection.sock.recv(RECEIVE_BYTES):
            answer += piece
    return bytes(answer)


class _Received:
    """What came, in the place of the socket that HTTPResponse reads from."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer

    def makefile(self, _mode: str) -> io.BytesIO:
        return io.BytesIO(self._answer)


def parse(answer: bytes) -> Reply:
    """Status and worker of an answer."""
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
