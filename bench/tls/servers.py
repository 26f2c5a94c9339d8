"""The servers of this comparison: a static file over TLS, with one certificate."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.harness.errors import BenchError
from bench.harness.http_check import HOST, wait_for_port
from bench.harness.peers import REPOSITORY
from bench.harness.processes import ProcessGroup
from bench.harness.server import free_port
from bench.harness.services import program

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BODY = b"0123456789abcdef" * 64
FILE = "static.txt"
# Without a limit of open files below this, nginx uses the system's limit.
NGINX_CONNECTIONS = 16_384

CADDYFILE = """{{
	admin off
	storage file_system {folder}/storage
	auto_https off
	servers {{
		protocols h1 h2
	}}
}}
https://{host}:{port} {{
	tls {folder}/cert.pem {folder}/key.pem
	root * {folder}/site
	file_server
}}
"""

NGINX_CONF = """daemon off;
user {user} {group};
worker_processes auto;
worker_rlimit_nofile {files};
pid {folder}/nginx.pid;
events {{
    worker_connections {connections};
}}
http {{
    access_log off;
    sendfile on;
    open_file_cache max=1000;
    keepalive_timeout 600s;
    keepalive_requests 100000000;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    ssl_certificate {folder}/cert.pem;
    ssl_certificate_key {folder}/key.pem;
    ssl_protocols TLSv1.2 TLSv1.3;
    server {{
        listen {host}:{port} ssl backlog=4096;
        root {folder}/site;
    }}
}}
"""


@dataclass(frozen=True)
class Secure:
    """A server that serves https://HOST:port/static.txt."""

    port: int
    group: ProcessGroup

    @property
    def url(self) -> str:
        """Returns the URL of the file."""
        return f"https://{HOST}:{self.port}/{FILE}"


def certificate(folder: Path) -> None:
    """Writes cert.pem and key.pem for HOST.

    Raises:
        BenchError: openssl is missing or fails.
    """
    openssl = program("openssl", hint="apt-get install openssl")
    arguments = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    names = ["-days", "2", "-subj", "/CN=bench", "-addext", f"subjectAltName=IP:{HOST}"]
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    done = subprocess.run(
        [openssl, *arguments, *names, *files], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise BenchError(f"openssl makes no certificate:\n{done.stderr}")


def _command(name: str, folder: Path, port: int, user: tuple[str, str]) -> list[str]:
    values = {
        "folder": folder,
        "host": HOST,
        "port": port,
        "user": user[0],
        "group": user[1],
        "connections": NGINX_CONNECTIONS,
        "files": 2 * NGINX_CONNECTIONS,
    }
    if name == "howdah":
        binary = REPOSITORY / "target/release/howdah"
        if not binary.exists():
            raise BenchError(f"{binary} is not built; try: make build")
        file = folder / "Caddyfile"
        file.write_text(CADDYFILE.format(**values))
        return [str(binary), "run", "--config", str(file)]
    if name == "nginx":
        file = folder / "nginx.conf"
        file.write_text(NGINX_CONF.format(**values))
        return [program("nginx", hint="apt-get install nginx-light"), "-c", str(file)]
    raise BenchError(f"no peer {name} with TLS; there are: howdah, nginx")


@contextmanager
def secure(name: str, folder: Path, user: tuple[str, str]) -> Iterator[Secure]:
    """Starts one of them with its files in `folder`, and stops it at the end.

    Raises:
        BenchError: it is unknown, not installed, or does not start.
    """
    (folder / "site").mkdir(parents=True)
    (folder / "site" / FILE).write_bytes(BODY)
    certificate(folder)
    if os.geteuid() == 0:
        for path in (folder, *folder.rglob("*")):
            shutil.chown(path, *user)
    port = free_port()
    group = ProcessGroup(name)
    try:
        command = _command(name, folder, port, user)
        log = folder / f"{name}.log"
        group.start(name, command, cwd=folder, env={**os.environ, "HOWDAH_USER": "root"}, log=log)
        wait_for_port(port, group.check_alive)
        yield Secure(port, group)
    finally:
        group.stop()
