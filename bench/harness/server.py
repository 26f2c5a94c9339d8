"""A started peer: its folder, its port, its processes."""

from __future__ import annotations

import grp
import os
import pwd
import random
import re
import shutil
import socket
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.harness import phpini, proc
from bench.harness.errors import BenchError
from bench.harness.http_check import HOST, wait_for_port
from bench.harness.peers import REPOSITORY
from bench.harness.processes import ProcessGroup
from bench.harness.template import fill

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

    from bench.harness.peers import Command, Peer

# Below the range of ports that the kernel assigns to clients (32768 by default), so that a
# connection of the load generator never takes the port between the check and the start.
PORTS = range(20_000, 32_000)
PORT_ATTEMPTS = 100
SOCKET_SECONDS = 30.0
POLL_SECONDS = 0.02
INI_NAME = "zz-bench.ini"
FRONT_THREADS_MAX = 16


@dataclass(frozen=True)
class Setup:
    """Values that are the same for every peer of a run; servers may use `cpus`, None for all."""

    workers: int
    php_ini: dict[str, str]
    cpus: tuple[int, ...] | None = None


@dataclass
class Server:
    """A peer that listens on `port`."""

    peer: Peer
    port: int
    folder: Path
    group: ProcessGroup
    settling: tuple[str, ...] = ()

    def settle(self) -> None:
        """Brings it into the state to be measured.

        Raises:
            BenchError: the command for that failed.
        """
        done = subprocess.run(self.settling, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise BenchError(f"{self.peer.name}: {' '.join(self.settling)}: {done.stderr.strip()}")

    def url(self, path: str) -> str:
        """Returns the URL of a path on this server."""
        return f"http://{HOST}:{self.port}{path}"

    def php_pids(self) -> list[int]:
        """Returns the processes that run requests: they match and are not the parent of another."""
        stats = self.group.alive()
        pattern = re.compile(self.peer.php_process)
        parents = {stat.ppid for stat in stats}
        return [
            stat.pid
            for stat in stats
            if stat.pid not in parents and pattern.search(proc.command_line(stat.pid))
        ]


def free_port() -> int:
    """Returns a free port on the loopback address."""
    chooser = random.SystemRandom()
    for _ in range(PORT_ATTEMPTS):
        port = chooser.choice(PORTS)
        with socket.socket() as candidate:
            try:
                candidate.bind((HOST, port))
            except OSError:
                continue
            return port
    raise BenchError(f"no free port found between {PORTS.start} and {PORTS.stop}")


def plain_site(docroot: Path) -> dict[str, str]:
    """Returns the values of a folder of files that is not a case."""
    return {
        "docroot": str(docroot),
        "worker_script": str(docroot / "index.php"),
        "contracts": str(docroot),
        "url_path": "/*",
        "gzip": "off",
    }


def web_user() -> tuple[str, str]:
    """Returns user and group for a server that refuses to serve as root."""
    if os.geteuid() != 0:
        return pwd.getpwuid(os.geteuid()).pw_name, grp.getgrgid(os.getegid()).gr_name
    try:
        account = pwd.getpwnam("www-data")
    except KeyError:
        account = pwd.getpwnam("nobody")
    return account.pw_name, grp.getgrgid(account.pw_gid).gr_name


def front_threads(cpus: Collection[int] | None = None) -> int:
    """Returns Howdah's default number of front threads: half the CPUs, 1 to 16."""
    return min(max(len(cpus or os.sched_getaffinity(0)) // 2, 1), FRONT_THREADS_MAX)


def variables(
    peer: Peer, setup: Setup, folder: Path, site: Mapping[str, str], port: int
) -> dict[str, str]:
    """Returns the values for a peer's templates and command lines; `site` are those of the case."""
    cpus = len(setup.cpus) if setup.cpus else os.cpu_count() or 1
    user = pwd.getpwuid(os.geteuid()).pw_name
    group = grp.getgrgid(os.getegid()).gr_name
    other_user, other_group = web_user()
    # Every front process may keep this many idle connections to PHP. At least one PHP process must
    # stay free of them: the persistent connections of all front processes together occupy as many
    # PHP processes, and other requests would starve.
    idle_upstream = (setup.workers - 1) // cpus
    values = {
        "dir": str(folder),
        **site,
        "port": str(port),
        "second_port": str(free_port()),
        "workers": str(setup.workers),
        "workers_and_one": str(setup.workers + 1),
        "cpus": str(cpus),
        "front_threads": str(front_threads(setup.cpus)),
        "user": user,
        "group": group,
        "web_user": other_user,
        "web_group": other_group,
        "idle_upstream": str(idle_upstream),
        "php_ini_lines": "".join(f'{k} "{v}"\n' for k, v in setup.php_ini.items()),
    }
    for name, value in peer.variables.items():
        if "{{idle_upstream}}" in value and idle_upstream == 0:
            raise BenchError(
                f"{peer.name} needs more than {cpus} PHP workers on {cpus} CPUs: kept "
                f"connections would pin them all; try: --workers {cpus + 1}"
            )
        values[name] = fill(value, values, f"{peer.name}: {name}")
    for name, binary in peer.binaries.items():
        path = binary.find()
        if path is None:
            raise BenchError(f"{peer.name}: {peer.missing()[0]}")
        values[name] = path
    return values


def render(peer: Peer, values: dict[str, str], folder: Path) -> list[Path]:
    """Writes the peer's configuration files to `folder`."""
    written = []
    for template in peer.templates:
        source = peer.folder / template
        target = folder / source.name
        target.write_text(fill(source.read_text(), values, str(source)))
        written.append(target)
    return written


def command_line(command: Command, values: dict[str, str], php_ini: dict[str, str]) -> list[str]:
    """Returns the arguments of a process, with an option for each php.ini value if required."""
    where = f"command of {command.name}"
    argv = [fill(argument, values, where) for argument in command.argv]
    if command.php_ini_option:
        for key, value in php_ini.items():
            pair = {**values, "key": key, "value": value}
            argv += [fill(argument, pair, where) for argument in command.php_ini_option]
    return argv


def wait_for_socket(place: str, group: ProcessGroup) -> None:
    """Returns once the Unix socket or ADDRESS:PORT accepts connections."""
    deadline = time.monotonic() + SOCKET_SECONDS
    address, colon, port = place.rpartition(":")
    family = socket.AF_INET if colon else socket.AF_UNIX
    while True:
        group.check_alive()
        with socket.socket(family) as client:
            try:
                client.connect((address, int(port)) if colon else place)
            except OSError:
                if time.monotonic() > deadline:
                    raise BenchError(f"nothing listens on {place}") from None
            else:
                return
        time.sleep(POLL_SECONDS)


def wait_for_log(log: Path, text: str, group: ProcessGroup) -> None:
    """Returns once the log contains the text."""
    deadline = time.monotonic() + SOCKET_SECONDS
    while text.encode() not in log.read_bytes():
        group.check_alive()
        if time.monotonic() > deadline:
            raise BenchError(f"{log.name} does not say {text!r}")
        time.sleep(POLL_SECONDS)


def environment(
    peer: Peer, setup: Setup, folder: Path, values: Mapping[str, str]
) -> dict[str, str]:
    """Returns the environment of a peer's processes; writes PHP's ini files to `folder`.

    PHP of every SAPI reads the same files: an empty php.ini (otherwise each SAPI would find a
    different one in /etc), the extensions of its distribution, and our values.
    """
    if peer.php_conf_d:
        where = f"php_conf_d of {peer.name}"
        conf_d = phpini.conf_d(tuple(fill(word, values, where) for word in peer.php_conf_d))
    else:
        conf_d = phpini.distribution_conf_d()
    ini_folder = folder / "php.d"
    ini_folder.mkdir()
    (ini_folder / INI_NAME).write_text(phpini.render_ini(setup.php_ini))
    (folder / "php.ini").write_text("; The values are in php.d.\n")
    return {
        **os.environ,
        # Only the user that measures can access the folders of a run.
        "HOWDAH_USER": "root",
        "PHPRC": str(folder),
        "PHP_INI_SCAN_DIR": f"{conf_d}:{ini_folder}",
    }


@contextmanager
def serve(
    peer: Peer,
    setup: Setup,
    *,
    site: Mapping[str, str],
    folder: Path,
    keep: Path | None = None,
) -> Iterator[Server]:
    """Starts a peer in `folder`, yields it once it accepts, and stops all of it at the end.

    Configuration files are copied to `keep` before the start and logs after the end, so that a run
    can be analysed later.
    """
    folder.mkdir(parents=True)
    port = free_port()
    values = variables(peer, setup, folder, site, port)
    files = render(peer, values, folder)
    environ = environment(peer, setup, folder, values)
    ini = folder / "php.d" / INI_NAME
    commands = [
        (command, command_line(command, values, setup.php_ini)) for command in peer.commands
    ]
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        for file in [*files, ini]:
            shutil.copy(file, keep)
        (keep / "commands.txt").write_text(
            "".join(f"{' '.join(argv)}\n" for _, argv in commands).replace(f"{REPOSITORY}/", "")
        )
    group = ProcessGroup(peer.name, setup.cpus)
    try:
        for command, argv in commands:
            group.start(
                command.name,
                argv,
                cwd=folder,
                env={**environ, **{k: fill(v, values, k) for k, v in command.env.items()}},
                log=folder / f"{command.name}.log",
            )
            if command.wait_for:
                wait_for_socket(fill(command.wait_for, values, "wait_for"), group)
            if command.wait_for_log:
                wait_for_log(folder / f"{command.name}.log", command.wait_for_log, group)
        wait_for_port(port, group.check_alive)
        settling = tuple(fill(word, values, f"settle of {peer.name}") for word in peer.settle)
        yield Server(peer, port, folder, group, settling)
    finally:
        try:
            group.stop()
        finally:
            if keep is not None:
                keep_logs(folder, keep)


def keep_logs(folder: Path, keep: Path) -> None:
    """Appends the server's logs to those of earlier starts in `keep`."""
    for log in folder.glob("*.log"):
        with (keep / log.name).open("ab") as target:
            target.write(log.read_bytes())
