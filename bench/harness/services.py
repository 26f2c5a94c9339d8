"""Databases and caches of cases: each with fresh data, on Unix sockets, for one run."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

from bench.harness.errors import BenchError
from bench.harness.processes import ProcessGroup

if TYPE_CHECKING:
    from collections.abc import Sequence

PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
INSTALL_SECONDS = 120
POLL_SECONDS = 0.02
# Connection limit of a database: the maximum number of requests in flight.
MOST_CONNECTIONS = 1000
POSTGRESQL_SOCKET = ".s.PGSQL.5432"
# Microseconds between a statement and its result, if the database has it by then.
FAR_US = 2300
DELAY = Path(__file__).parent.parent / "delay" / "delay.c"
# Lines of this file end in the path of sockets that are bound, and of their connections.
UNIX_SOCKETS = Path("/proc/net/unix")
UNIX_COLUMNS = 8
UNIX_CONNECTED = "03"
# Facts that a service adds for PHP.
Facts = dict[str, str | list[str]]


def program(*names: str, hint: str) -> str:
    """Returns the path of the first program that exists.

    Raises:
        BenchError: none exists.
    """
    for name in names:
        found = shutil.which(name, path=PATH)
        if found is not None:
            return found
    raise BenchError(f"{names[0]} is not installed; try: {hint}")


def socket_of(address: str) -> Path | None:
    """Returns the Unix socket in a PDO address, or None."""
    for part in address.partition(":")[2].split(";"):
        name, _, value = part.partition("=")
        if name == "host" and value.startswith("/"):
            return Path(value) / POSTGRESQL_SOCKET
        if name == "unix_socket":
            return Path(value)
    return None


def php_file(facts: Facts) -> str:
    """Returns a PHP file that returns the facts."""

    def literal(value: str) -> str:
        escaped = value.replace("\\", "\\\\").replace("'", "\\'")
        return f"'{escaped}'"

    lines = []
    for name, value in facts.items():
        text = (
            literal(value)
            if isinstance(value, str)
            else f"[{', '.join(literal(part) for part in value)}]"
        )
        lines.append(f"    {literal(name)} => {text},\n")
    return f"<?php\n\nreturn [\n{''.join(lines)}];\n"


class Services:
    """Starts the services of cases; `stop` terminates all of them.

    Their CPU time is not the server's and is not counted.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._group: ProcessGroup | None = None
        self._homes = 0

    def provide(self, names: Sequence[str], site: Path) -> Facts:
        """Starts the services of a case; the data of `sqlite` is in its folder.

        Raises:
            BenchError: one is unknown, not installed, or does not start.
        """
        facts: Facts = {}
        for name in names:
            if name == "sqlite":
                facts["pdo"] = [f"sqlite:{site}/bench.sqlite"]
            elif name == "memcached":
                facts["memcached"] = str(self._memcached())
            elif name == "redis":
                facts["redis"] = str(self._redis())
            elif name == "postgresql":
                facts["pdo"] = [f"pgsql:host={self._postgresql()};dbname=postgres;user=postgres"]
            elif name == "postgresql-far":
                far = self._far(self._postgresql("postgresql-far"))
                facts["pdo"] = [f"pgsql:host={far};dbname=postgres;user=postgres"]
            elif name == "mariadb":
                facts["pdo"] = [f"mysql:unix_socket={self._mariadb()};dbname=bench", "root", ""]
            else:
                known = "sqlite, redis, memcached, postgresql, postgresql-far, mariadb"
                raise BenchError(f"no service {name}; there are: {known}")
        return facts

    def connections(self, facts: Facts) -> int | None:
        """Returns the connections that databases in the facts have open; None without any."""
        named = facts.get("pdo")
        addresses = named if isinstance(named, list) else []
        sockets = {
            str(socket) for address in addresses if (socket := socket_of(address)) is not None
        }
        if not sockets:
            return None
        lines = (line.split() for line in UNIX_SOCKETS.read_text().splitlines()[1:])
        return sum(
            len(line) == UNIX_COLUMNS and line[5] == UNIX_CONNECTED and line[7] in sockets
            for line in lines
        )

    def stop(self) -> None:
        """Terminates all of them."""
        if self._group is not None:
            self._group.stop()
            self._group = None

    def start(self, name: str, argv: Sequence[str], ready: Sequence[str]) -> None:
        """Starts one more, and waits until the command `ready` succeeds.

        Raises:
            BenchError: it does not.
        """
        if self._group is None:
            self._group = ProcessGroup("services")
        log = self.folder / f"{name}.log"
        self._group.start(name, argv, cwd=self.folder, env=dict(os.environ), log=log)
        deadline = time.monotonic() + INSTALL_SECONDS
        quiet = subprocess.DEVNULL
        while subprocess.run(ready, stdin=quiet, capture_output=True, check=False).returncode != 0:
            self._group.check_alive()
            if time.monotonic() > deadline:
                raise BenchError(f"{name} does not answer: {log.read_text()[-500:]}")
            time.sleep(POLL_SECONDS)

    def _home(self, name: str, user: str | None = None) -> tuple[Path, list[str]]:
        """Returns a folder, and a prefix for a command that must not run as root."""
        # Each case has a separate one, so that no case finds the data of another.
        self._homes += 1
        home = self.folder / f"{name}-{self._homes}"
        home.mkdir(parents=True)
        if user is None or os.geteuid() != 0:
            return home, []
        account = pwd.getpwnam(user)
        os.chown(home, account.pw_uid, account.pw_gid)
        return home, [
            program("setpriv", hint="apt-get install util-linux"),
            f"--reuid={account.pw_uid}",
            f"--regid={account.pw_gid}",
            "--clear-groups",
        ]

    def _install(self, name: str, argv: Sequence[str]) -> None:
        done = subprocess.run(
            argv, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False
        )
        if done.returncode != 0:
            raise BenchError(f"{name} cannot be set up:\n{done.stdout}{done.stderr}")

    def _redis(self) -> Path:
        server = program("redis-server", hint="apt-get install redis-server")
        client = program("redis-cli", hint="apt-get install redis-tools")
        home, _ = self._home("redis")
        socket = home / "redis.sock"
        options = ["--port", "0", "--unixsocket", str(socket), "--unixsocketperm", "777"]
        self.start(
            "redis",
            [server, *options, "--save", "", "--dir", str(home)],
            [client, "-s", str(socket), "ping"],
        )
        return socket

    def _memcached(self) -> Path:
        server = program("memcached", hint="apt-get install memcached")
        home, _ = self._home("memcached")
        socket = home / "memcached.sock"
        user = pwd.getpwuid(os.geteuid()).pw_name
        self.start(
            "memcached",
            [server, "-s", str(socket), "-a", "777", "-u", user],
            [program("test", hint="apt-get install coreutils"), "-S", str(socket)],
        )
        return socket

    def _postgresql(self, name: str = "postgresql") -> Path:
        hint = "apt-get install postgresql"
        folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
        if not folders:
            raise BenchError(f"PostgreSQL is not installed; try: {hint}")
        home, before = self._home(name, "postgres")
        data = home / "data"
        self._install(
            "PostgreSQL",
            [*before, str(folders[0] / "initdb"), "-U", "postgres", "-A", "trust", "-D", str(data)],
        )
        options = ["-k", str(home), "-c", "listen_addresses=", "-c", "fsync=off"]
        # Its disk is not measured either: commits do not wait for it.
        options += ["-c", "synchronous_commit=off"]
        options += ["-c", f"max_connections={MOST_CONNECTIONS}"]
        self.start(
            name,
            [*before, str(folders[0] / "postgres"), "-D", str(data), *options],
            [str(folders[0] / "pg_isready"), "-h", str(home)],
        )
        return home

    def _far(self, database: Path) -> Path:
        """Returns the folder of a socket for a database at a distance of FAR_US."""
        home, _ = self._home("far")
        proxy = home / "delay"
        compiler = program("cc", hint="apt-get install gcc")
        self._install("the proxy", [compiler, "-std=c11", "-O2", "-o", str(proxy), str(DELAY)])
        socket = home / POSTGRESQL_SOCKET
        target = database / POSTGRESQL_SOCKET
        self.start(
            "far",
            [str(proxy), str(socket), str(target), str(FAR_US)],
            [program("test", hint="apt-get install coreutils"), "-S", str(socket)],
        )
        socket.chmod(0o777)
        return home

    def _mariadb(self) -> Path:
        hint = "apt-get install mariadb-server"
        server = program("mariadbd", hint=hint)
        client = program("mariadb", hint=hint)
        home, _ = self._home("mariadb")
        user = pwd.getpwuid(os.geteuid()).pw_name
        common = ["--no-defaults", f"--datadir={home / 'data'}", f"--user={user}"]
        self._install(
            "MariaDB",
            [
                program("mariadb-install-db", hint=hint),
                *common,
                "--skip-test-db",
                "--auth-root-authentication-method=normal",
            ],
        )
        socket = home / "mariadb.sock"
        ask = [client, "--no-defaults", f"--socket={socket}", "--user=root", "-e"]
        self.start(
            "mariadb",
            [
                server,
                *common,
                f"--socket={socket}",
                f"--pid-file={home / 'pid'}",
                "--skip-networking",
                "--innodb-flush-log-at-trx-commit=0",
                f"--max-connections={MOST_CONNECTIONS}",
            ],
            [*ask, "SELECT 1"],
        )
        self._install("MariaDB", [*ask, "CREATE DATABASE bench"])
        return socket
