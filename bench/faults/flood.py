"""More clients than a pool's queue has places."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import TYPE_CHECKING

from bench.faults.injectors import Injector
from bench.harness.errors import BenchError
from bench.harness.http_check import HOST

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any

    from bench.harness.server import Server

# A refused client retries after this time, as Retry-After requests. Without a pause, the clients
# themselves would use all CPU time.
RETRY_SECONDS = 1.0
FULL_SECONDS = 30.0
STATUS_AT = slice(9, 12)


class Flood(Injector):
    """Clients that each request a slow page repeatedly, on a new connection each time.

    The block starts once the queue has been full: once a client was refused, or every client waits
    for a response.
    """

    def __init__(self, server: Server, clients: int) -> None:
        super().__init__(server)
        self.clients = clients
        self._begun = threading.Event()
        self._sent = 0
        self._loop_of_clients: asyncio.AbstractEventLoop | None = None
        self._all: asyncio.Task[None] | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Flood:  # noqa: PYI034  the base class is not generic either
        super().__enter__()
        if not self._begun.wait(FULL_SECONDS):
            self._stop_clients()
            raise BenchError(f"{self.clients} clients could not be started in {FULL_SECONDS} s")
        return self

    def _run(self) -> None:
        try:
            asyncio.run(self._main())
        except asyncio.CancelledError:
            return
        except BaseException as error:  # noqa: BLE001  raised again where the block ends
            self._error = error
            self._begun.set()

    async def _main(self) -> None:
        self._loop_of_clients = asyncio.get_running_loop()
        self._all = asyncio.create_task(self._all_clients())
        with contextlib.suppress(asyncio.CancelledError):
            await self._all

    async def _all_clients(self) -> None:
        tasks: list[Coroutine[Any, Any, None]] = [self._client() for _ in range(self.clients)]
        await asyncio.gather(*tasks)

    async def _client(self) -> None:
        while True:
            status = await self._ask()
            self.outcomes[status] += 1
            if status != "status 200":
                self._begun.set()
                await asyncio.sleep(RETRY_SECONDS)

    async def _ask(self) -> str:
        head = f"GET /slow.php HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n"
        writer: asyncio.StreamWriter | None = None
        try:
            reader, writer = await asyncio.open_connection(HOST, self.server.port)
            writer.write(head.encode())
            self._sent += 1
            if self._sent >= self.clients:
                self._begun.set()
            answer = await reader.read()
        except OSError as error:
            return type(error).__name__
        finally:
            if writer is not None:
                writer.close()
        status = answer[STATUS_AT].decode(errors="replace")
        return f"status {status}" if answer.startswith(b"HTTP/1.") else "no answer"

    def _stop_clients(self) -> None:
        if self._loop_of_clients is not None and self._all is not None:
            with contextlib.suppress(RuntimeError):
                self._loop_of_clients.call_soon_threadsafe(self._all.cancel)

    def __exit__(self, *details: object) -> None:
        self._stop_clients()
        kind, error, trace = details
        super().__exit__(kind, error, trace)  # type: ignore[arg-type]
