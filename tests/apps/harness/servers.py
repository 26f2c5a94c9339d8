"""The servers of the walks: nginx with php-fpm, Howdah, or any command."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path

from .processes import Process, StartError, tcp_is_open, unix_is_open

WORKERS = 4
# Log message of the leak detector for each leak.
_LEAK = "leaked state into the worker"


class Server(ABC):
    """Serves one document root on one port of the loopback address, as a context manager."""

    name: str

    def __init__(self) -> None:
        self._processes: list[Process] = []

    @abstractmethod
    def start(self, docroot: Path, port: int, scratch: Path, environment: Mapping[str, str]) -> None:
        """Returns when the port is open. All output of the server is in the scratch folder."""

    @property
    def rehearsals(self) -> int:
        """Number of walks before the measured one; learned() is called after them."""
        return 0

    def learned(self) -> None:
        """Applies what the walks have used."""

    def complaints(self, scratch: Path) -> list[str]:
        """Returns the problems of the application that it found; call it after stop()."""
        return []

    def stop(self) -> None:
        """Stops all processes that start() has started, the last first."""
        for process in reversed(self._processes):
            process.stop()
        self._processes.clear()


class Fpm(Server):
    """nginx with php-fpm over a Unix socket: the reference of all comparisons."""

    name = "nginx + php-fpm"

    def start(self, docroot: Path, port: int, scratch: Path, environment: Mapping[str, str]) -> None:
        socket = scratch / "fpm.sock"
        socket.unlink(missing_ok=True)
        pool = scratch / "fpm.conf"
        pool.write_text(_FPM.format(scratch=scratch, socket=socket, workers=WORKERS))
        nginx = scratch / "nginx.conf"
        mime = Path("/etc/nginx/mime.types")
        # Started by root, nginx would run as a user who may be unable to read the application.
        user = "user root;" if os.geteuid() == 0 else ""
        nginx.write_text(
            _NGINX.format(user=user, scratch=scratch, socket=socket, port=port, docroot=docroot, mime=mime)
        )
        command = [_php_fpm(), "--nodaemonize", "--fpm-config", str(pool)]
        if os.geteuid() == 0:
            command.append("--allow-to-run-as-root")
        fpm = Process("php-fpm", command, scratch / "fpm.log", docroot, environment)
        self._processes.append(fpm)
        fpm.wait_until(lambda: unix_is_open(socket))
        front = Process(
            "nginx",
            [_program("nginx"), "-e", str(scratch / "nginx-error.log"), "-p", str(scratch), "-c", str(nginx)],
            scratch / "nginx.log",
            docroot,
        )
        self._processes.append(front)
        front.wait_until(lambda: tcp_is_open(port))


class Command(Server):
    """A server that one command starts; {docroot} and {port} in it are replaced."""

    def __init__(self, template: str, name: str) -> None:
        super().__init__()
        self.name = name
        self.template = template

    def start(self, docroot: Path, port: int, scratch: Path, environment: Mapping[str, str]) -> None:
        command = shlex.split(
            self.template.format(docroot=shlex.quote(str(docroot)), port=port, scratch=shlex.quote(str(scratch)))
        )
        process = Process(self.name, command, scratch / "server.log", docroot, environment)
        self._processes.append(process)
        process.wait_until(lambda: tcp_is_open(port))


def howdah(binary: Path) -> Command:
    """Howdah's one-command server in classic mode. Without compression, like nginx here."""
    template = (
        f"{shlex.quote(str(binary))} php-server -r {{docroot}} -l 127.0.0.1:{{port}} --workers {WORKERS} --no-compress"
    )
    return Command(template, "howdah")


class HowdahPreload(Command):
    """Howdah in classic mode, restarted with the classes that a walk has used."""

    def __init__(self, binary: Path, preload: str) -> None:
        super().__init__(
            f"{howdah(binary).template} --preload {preload} --admin unix/{{scratch}}/admin.sock",
            f"howdah, preload {preload}",
        )
        self._binary = binary
        self._socket: Path | None = None

    @property
    def rehearsals(self) -> int:
        return 1

    def start(self, docroot: Path, port: int, scratch: Path, environment: Mapping[str, str]) -> None:
        super().start(docroot, port, scratch, environment)
        self._socket = scratch / "admin.sock"

    def learned(self) -> None:
        command = [str(self._binary), "reload", "--address", f"unix/{self._socket}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise StartError(f"howdah reload: {done.stderr}")
        command = [str(self._binary), "status", "--preload", "--address", f"unix/{self._socket}"]
        shown = subprocess.run(command, capture_output=True, text=True, check=True)
        print(f"        {shown.stdout.splitlines()[0]}", flush=True)


class HowdahWorker(Server):
    """Howdah in worker mode: one script below the document root for every path that is not a file."""

    name = "howdah, worker mode"

    workers = WORKERS

    def __init__(self, binary: Path, script: str, keep: str | None) -> None:
        super().__init__()
        self._binary, self._script = binary, script
        self._options = [f"keep {keep}"] if keep else []

    def start(self, docroot: Path, port: int, scratch: Path, environment: Mapping[str, str]) -> None:
        options = "\n\t\t\t".join([f"num {self.workers}", *self._options])
        caddyfile = scratch / "Caddyfile"
        caddyfile.write_text(_HOWDAH_WORKER.format(docroot=docroot, port=port, script=self._script, options=options))
        command = [str(self._binary), "run", "--config", str(caddyfile)]
        # Only the user that runs the test can access the application's folder.
        own = {**environment, "HOWDAH_USER": "root"}
        process = Process("howdah", command, scratch / "server.log", docroot, own)
        self._processes.append(process)
        process.wait_until(lambda: tcp_is_open(port))


class HowdahLeaks(HowdahWorker):
    """One worker with the leak detector, which needs each page a few times."""

    name = "howdah, detect_leaks"
    workers = 1

    def __init__(self, binary: Path, script: str, keep: str | None, allow: Sequence[str]) -> None:
        super().__init__(binary, script, keep)
        patterns = " ".join(f'"{pattern}"' for pattern in allow)
        self._options += ["detect_leaks {", f"\tallow {patterns}", "}"] if allow else ["detect_leaks"]

    @property
    def rehearsals(self) -> int:
        return 4

    def complaints(self, scratch: Path) -> list[str]:
        lines = (scratch / "server.log").read_text("utf-8", "replace").splitlines()
        return [line for line in lines if _LEAK in line]


def _program(name: str) -> str:
    path = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if path is None:
        raise StartError(f"{name} is not installed; scripts/setup.sh test installs what is needed")
    return path


def _php_fpm() -> str:
    """Returns Debian's php-fpm, with the version at its end; the latest one."""
    found = [p for p in Path("/usr/sbin").glob("php-fpm*") if re.fullmatch(r"php-fpm\d\.\d+", p.name)]
    if found:
        return str(max(found, key=lambda p: [int(n) for n in re.findall(r"\d+", p.name)]))
    return _program("php-fpm")


_FPM = """[global]
pid = {scratch}/fpm.pid
error_log = {scratch}/fpm-error.log
daemonize = no
[www]
listen = {socket}
pm = static
pm.max_children = {workers}
clear_env = no
catch_workers_output = yes
"""

_NGINX = """daemon off;
{user}
worker_processes 1;
pid {scratch}/nginx.pid;
error_log {scratch}/nginx-error.log;
events {{ worker_connections 256; }}
http {{
    include {mime};
    access_log off;
    client_max_body_size 64m;
    client_body_temp_path {scratch}/nginx-body;
    fastcgi_temp_path {scratch}/nginx-fastcgi;
    proxy_temp_path {scratch}/nginx-proxy;
    uwsgi_temp_path {scratch}/nginx-uwsgi;
    scgi_temp_path {scratch}/nginx-scgi;
    server {{
        listen 127.0.0.1:{port};
        server_name localhost;
        root {docroot};
        index index.php index.html;
        location / {{ try_files $uri $uri/ /index.php$is_args$args; }}
        location ~ [^/]\\.php(/|$) {{
            fastcgi_split_path_info ^(.+?\\.php)(/.*)$;
            # try_files forgets the path info.
            set $info $fastcgi_path_info;
            try_files $fastcgi_script_name /index.php$is_args$args;
            fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;
            fastcgi_param SCRIPT_NAME $fastcgi_script_name;
            fastcgi_param PATH_INFO $info;
            fastcgi_param QUERY_STRING $query_string;
            fastcgi_param REQUEST_METHOD $request_method;
            fastcgi_param CONTENT_TYPE $content_type;
            fastcgi_param CONTENT_LENGTH $content_length;
            fastcgi_param REQUEST_URI $request_uri;
            fastcgi_param DOCUMENT_URI $document_uri;
            fastcgi_param DOCUMENT_ROOT $document_root;
            fastcgi_param SERVER_PROTOCOL $server_protocol;
            fastcgi_param REQUEST_SCHEME $scheme;
            fastcgi_param GATEWAY_INTERFACE CGI/1.1;
            fastcgi_param SERVER_SOFTWARE nginx/$nginx_version;
            fastcgi_param REMOTE_ADDR $remote_addr;
            fastcgi_param REMOTE_PORT $remote_port;
            fastcgi_param SERVER_ADDR $server_addr;
            fastcgi_param SERVER_PORT $server_port;
            fastcgi_param SERVER_NAME $host;
            fastcgi_read_timeout 120s;
            fastcgi_pass unix:{socket};
        }}
    }}
}}
"""

_HOWDAH_WORKER = """\
{{
	admin off
	frankenphp {{
		num_threads 1
		worker {{
			file {docroot}/{script}
			{options}
		}}
	}}
}}
http://:{port} {{
	bind 127.0.0.1
	root * {docroot}
	php_server {{
		try_files {{path}} {script}
	}}
}}
"""
