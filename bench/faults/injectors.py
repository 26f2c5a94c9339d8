"""Threads that cause a fault while they run, and count the outcomes."""

from __future__ import annotations

import contextlib
import http.client
import os
import random
import signal
import socket
import threading
from collections import Counter
from typing import TYPE_CHECKING, Self

from bench.harness.http_check import HOST, TIMEOUT_SECONDS, fetch

if TYPE_CHECKING:
    from types import TracebackType

    from bench.harness.server import Server

FAULT_SECONDS = 0.1
BYTE_SECONDS = 1.0
JOIN_SECONDS = 60.0
SLOW_BODY_BYTES = 100_000
SMALL_BUFFER = 4096


class Injector:
    """Runs `step` repeatedly in a thread, `pause` seconds apart, until the block ends.

    `outcomes` counts outcomes by name.
    """

    pause = FAULT_SECONDS

    def __init__(self, server: Server) -> None:
        self.server = server
        self.outcomes: Counter[str] = Counter()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._loop, daemon=True)
        self._error: BaseException | None = None

    def begin(self) -> None:
        """Called once before the first step."""

    def step(self) -> None:
        """Causes the fault once."""
        raise NotImplementedError

    def end(self) -> None:
        """Called once after the last step."""

    def _loop(self) -> None:
        try:
            while not self._stop.is_set():
                self.step()
                self._stop.wait(self.pause)
        except BaseException as error:  # noqa: BLE001  raised again where the block ends
            self._error = error

    def __enter__(self) -> Self:
        self.begin()
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join(JOIN_SECONDS)
        self.end()
        if self._error is not None and error is None:
            raise self._error


class WorkerKiller(Injector):
    """Kills one randomly chosen PHP process."""

    def step(self) -> None:
        """Sends SIGKILL to a PHP process, if there is one."""
        pids = self.server.php_pids()
        if not pids:
            self.outcomes["no PHP process alive"] += 1
            return
        # The choice is not relevant to security.
        with contextlib.suppress(ProcessLookupError):
            os.kill(random.choice(pids), signal.SIGKILL)  # noqa: S311
            self.outcomes["killed"] += 1


class BadRequests(Injector):
    """Requests a page whose PHP crashes; counts the responses."""

    def __init__(self, server: Server, path: str) -> None:
        super().__init__(server)
        self.path = path

    def step(self) -> None:
        """Sends one request."""
        try:
            answer = fetch(self.server.port, self.path)
        except OSError as error:
            self.outcomes[type(error).__name__] += 1
        except http.client.HTTPException as error:
            self.outcomes[f"broken answer ({type(error).__name__})"] += 1
        else:
            self.outcomes[f"status {answer.status}"] += 1


class SlowClients(Injector):
    """Clients that send a body byte by byte, and as many that read a response byte by byte."""

    pause = BYTE_SECONDS

    def __init__(self, server: Server, count: int, path: str = "/big.php") -> None:
        super().__init__(server)
        self.count = count
        self.path = path
        self._writers: list[socket.socket] = []
        self._readers: list[socket.socket] = []

    def begin(self) -> None:
        """Sends all request heads, so that the requests are in flight before the measurement."""
        host = f"Host: {HOST}:{self.server.port}"
        post = (
            f"POST /body.php HTTP/1.1\r\n{host}\r\nContent-Type: text/plain\r\n"
            f"Content-Length: {SLOW_BODY_BYTES}\r\n\r\n"
        )
        get = f"GET {self.path} HTTP/1.1\r\n{host}\r\n\r\n"
        for _ in range(self.count):
            self._writers.append(self._connect(post))
            self._readers.append(self._connect(get))

    def _connect(self, head: str) -> socket.socket:
        client = socket.socket()
        # Must be set before connecting, because the offered window depends on it.
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER)
        client.settimeout(TIMEOUT_SECONDS)
        client.connect((HOST, self.server.port))
        client.sendall(head.encode())
        return client

    def step(self) -> None:
        """Sends or reads one byte per client."""
        for client in self._writers:
            try:
                client.sendall(b"x")
                self.outcomes["bytes sent"] += 1
            except OSError:
                self.outcomes["writer cut off"] += 1
        for client in self._readers:
            try:
                got = client.recv(1)
                self.outcomes["bytes read" if got else "reader cut off"] += 1
            except OSError:
                self.outcomes["reader cut off"] += 1

    def end(self) -> None:
        """Closes all connections."""
        for client in [*self._writers, *self._readers]:
            client.close()


class IdleConnections(Injector):
    """Persistent connections that have sent one request and are then idle."""

    def __init__(self, server: Server, count: int) -> None:
        super().__init__(server)
        self.count = count
        self.bytes_each = 0.0
        self._clients: list[socket.socket] = []

    def begin(self) -> None:
        """Opens all connections, and measures memory before and after."""
        head = f"GET /index.php HTTP/1.1\r\nHost: {HOST}:{self.server.port}\r\n\r\n".encode()
        before = self.server.group.pss_bytes()
        for _ in range(self.count):
            try:
                client = socket.create_connection((HOST, self.server.port), TIMEOUT_SECONDS)
                self._clients.append(client)
                client.sendall(head)
                if client.recv(SMALL_BUFFER).startswith(b"HTTP/1.1 200"):
                    self.outcomes["answered once"] += 1
                else:
                    self.outcomes["refused"] += 1
            except OSError:
                self.outcomes["refused"] += 1
        after = self.server.group.pss_bytes()
        answered = self.outcomes["answered once"]
        self.bytes_each = (after - before) / answered if answered else 0.0

    def step(self) -> None:
        """Sends nothing, because the connections are idle."""

    def end(self) -> None:
        """Counts the open connections and closes them."""
        for client in self._clients:
            client.setblocking(False)  # noqa: FBT003  the name of the method says what it sets
            try:
                # The first response may have arrived in several packets.
                while client.recv(SMALL_BUFFER):
                    continue
            except BlockingIOError:
                self.outcomes["still open"] += 1
            except OSError:
                self.outcomes["cut off"] += 1
            client.close()
