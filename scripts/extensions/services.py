"""Additional services of the exercises besides tests/databases.sh, on free loopback ports."""

from __future__ import annotations

import shutil
import socket
import subprocess
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# The response time of a near server.
DELAY_S = 0.01
START_S = 30


class Echo(BaseHTTPRequestHandler):
    """Replies with the request's path."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Any method."""
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        time.sleep(DELAY_S)
        body = self.path.encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET  # noqa: N815 -- the library's name

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
        """Logs nothing."""


def free_port() -> int:
    """Returns a free port on the loopback address."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def wait_for_port(port: int) -> bool:
    """Waits until a process listens there."""
    until = time.monotonic() + START_S
    while time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return True
    return False


@contextmanager
def services() -> Iterator[dict[str, str]]:
    """Runs them; returns environment variables with their addresses."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    found = {"EXERCISE_HTTP": f"http://127.0.0.1:{server.server_port}"}
    gearman = None
    if shutil.which("gearmand"):
        port = free_port()
        options = ["-L", "127.0.0.1", "-p", str(port), "-l", "/tmp/gearmand.log"]  # noqa: S108 -- in a root of its own
        gearman = subprocess.Popen(["gearmand", *options])
        if wait_for_port(port):
            found["EXERCISE_GEARMAN"] = f"127.0.0.1:{port}"
    try:
        yield found
    finally:
        server.shutdown()
        if gearman is not None:
            gearman.kill()
            gearman.wait()
