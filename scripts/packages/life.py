"""The life of the packages in a root: install, first page, upgrade under load, remove, purge.

Runs outside of the root, in its namespaces (scripts/packages.sh). The maintainer scripts run
unchanged. They call systemctl, in whose place the root has a script that passes each call on; this
module then does what systemd does for howdah.service and howdah.socket: it holds the socket, starts
the server with the unit's environment, waits for its notification, and stops it with SIGTERM. What
only systemd can do, such as the sandbox of the unit, is not covered.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Found = TypeVar("Found")

START_SECONDS = 60
STOP_SECONDS = 60
# Of processes in a root.
ENVIRONMENT = {
    "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "DEBIAN_FRONTEND": "noninteractive",
    "LC_ALL": "C.UTF-8",
}
# Of the units, where those of the package are on Debian before and after the merge of /usr.
UNITS = ("lib/systemd/system", "usr/lib/systemd/system")
# In place of systemctl, which does what only changes links itself. One call at a time: each waits
# for its reply.
SYSTEMCTL = """#!/bin/sh
case " $* " in
*" preset "* | *" enable "* | *" disable "* | *" is-enabled "*)
	for real in /usr/bin/systemctl.real /bin/systemctl.real; do
		if [ -x "$real" ]; then SYSTEMD_OFFLINE=1 exec "$real" "$@"; fi
	done
	;;
esac
exec 9>>/run/systemctl.lock
flock 9
printf '%s\\n' "$*" >/run/systemctl.call
read -r code text </run/systemctl.reply
[ -z "$text" ] || echo "$text"
exit "$code"
"""
# Files that apt, dpkg and the system write in every case.
VOLATILE = (
    "/var/lib/dpkg",
    "/var/lib/apt",
    "/var/cache",
    "/var/log",
    "/proc",
    "/sys",
    "/dev",
    "/run",
    "/tmp",  # noqa: S108
)


def say(text: str) -> None:
    """Print a line of the report."""
    print(f"{Path(sys.argv[0]).stem}: {text}", flush=True)


class LifeError(Exception):
    """An error of the packages."""


class Manager:
    """Does the tasks of systemd for the two units."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.server: subprocess.Popen[bytes] | None = None
        self.socket: socket.socket | None = None
        self.starts = 0
        self.calls: list[str] = []
        self.call = root / "run/systemctl.call"
        self.reply = root / "run/systemctl.reply"

    def install(self) -> None:
        """Replace systemctl, and handle its calls in a thread."""
        (self.root / "run/systemd/system").mkdir(parents=True)
        (self.root / "run/lock").mkdir()
        os.mkfifo(self.call)
        os.mkfifo(self.reply)
        # The package systemd, which may be installed with the server's, contains a systemctl.
        for path in ("/bin/systemctl", "/usr/bin/systemctl"):
            inside(
                self.root, "dpkg-divert", "--local", "--no-rename", "--divert", f"{path}.real", path
            )
        script = self.root / "usr/bin/systemctl"
        script.write_text(SYSTEMCTL)
        script.chmod(0o755)
        threading.Thread(target=self.answer, daemon=True).start()

    def answer(self) -> None:
        """Handle calls until the process exits."""
        while True:
            words = self.call.read_text().split()
            self.calls.append(" ".join(words))
            try:
                reply = self.handle([word for word in words if not word.startswith("-")])
            except Exception as error:  # noqa: BLE001 - the package's scripts have to see a failure
                print(f"manager: {words}: {error}", flush=True)
                reply = "1"
            self.reply.write_text(f"{reply}\n")

    def handle(self, words: list[str]) -> str:
        """Handle one call; return the exit status of systemctl, and its output."""
        verb, units = words[0], words[1:]
        for unit in units:
            if not unit.startswith("howdah."):
                continue
            is_socket = unit == "howdah.socket"
            if verb == "is-active":
                active = self.socket is not None if is_socket else self.server is not None
                return "0 active" if active else "3 inactive"
            if verb in {"stop", "restart", "try-restart"}:
                self.close() if is_socket else self.stop()
            if verb in {"start", "restart"}:
                self.listen() if is_socket else self.start()
        return "0"

    def unit(self, name: str) -> dict[str, list[str]]:
        """Return settings of an installed unit."""
        files = [self.root / folder / name for folder in UNITS]
        text = next(file for file in files if file.exists()).read_text()
        settings: dict[str, list[str]] = {}
        for line in text.splitlines():
            key, separator, value = line.partition("=")
            if separator and not line.startswith("#"):
                settings.setdefault(key, []).append(value)
        return settings

    def listen(self) -> None:
        """Start howdah.socket."""
        if self.socket is None:
            port = int(self.unit("howdah.socket")["ListenStream"][0])
            self.socket = socket.create_server(
                ("", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=4096
            )

    def close(self) -> None:
        """Stop howdah.socket."""
        if self.socket is not None:
            self.socket.close()
            self.socket = None

    def start(self) -> None:
        """Start howdah.service, and wait until it reports that it is ready."""
        if self.server is not None:
            return
        unit = self.unit("howdah.service")
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "NOTIFY_SOCKET": "/run/notify"}
        environment |= dict(pair.split("=", 1) for pair in unit["Environment"])
        folders = {
            "StateDirectory": "var/lib",
            "RuntimeDirectory": "run",
            "LogsDirectory": "var/log",
        }
        for key, parent in folders.items():
            folder = self.root / parent / unit[key][0]
            folder.mkdir(exist_ok=True)
            variable = {"State": "STATE", "Runtime": "RUNTIME", "Logs": "LOGS"}[
                key.removesuffix("Directory")
            ]
            environment[f"{variable}_DIRECTORY"] = f"/{parent}/{unit[key][0]}"
        (self.root / "var/lib/howdah").chmod(0o700)
        path = self.root / "run/notify"
        path.unlink(missing_ok=True)
        notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        notify.bind(str(path))
        path.chmod(0o666)
        notify.settimeout(START_SECONDS)
        # Root has the privileges of every service here, so it need not run as a different user.
        command = unit["ExecStart"][0].removeprefix("!")
        self.server = self.spawn(shlex.split(command), environment)
        self.starts += 1
        while "READY=1" not in notify.recv(4096).decode():
            pass
        # It continues to send, and no client reads.
        notify.setblocking(False)  # noqa: FBT003
        self.notify = notify

    def spawn(self, command: list[str], environment: dict[str, str]) -> subprocess.Popen[bytes]:
        """Run the server in the root, with the socket if there is one."""
        held = self.socket
        if held is None:
            return subprocess.Popen(["chroot", str(self.root), *command], env=environment)
        # The shell becomes the server, so its process is the one to which the socket belongs.
        script = 'exec 3<&"$1"; export LISTEN_FDS=1 LISTEN_PID=$$; shift; exec chroot "$@"'
        number = held.fileno()
        words = ["bash", "-c", script, "bash", str(number), str(self.root), *command]
        return subprocess.Popen(words, env=environment, pass_fds=(number,))

    def stop(self) -> None:
        """Stop howdah.service."""
        if self.server is not None:
            self.server.send_signal(signal.SIGTERM)
            code = self.server.wait(STOP_SECONDS)
            self.server = None
            # As for all units without RuntimeDirectoryPreserve=.
            for folder in self.unit("howdah.service")["RuntimeDirectory"]:
                shutil.rmtree(self.root / "run" / folder)
            if code != 0:
                message = f"the server exited with {code}"
                raise LifeError(message)

    def reload(self) -> None:
        """Reload howdah.service."""
        if self.server is not None:
            self.server.send_signal(signal.SIGHUP)


class Load:
    """Clients that request the page until they are stopped."""

    def __init__(self) -> None:
        self.stopping = threading.Event()
        self.lock = threading.Lock()
        self.done = 0
        self.repeated = 0
        self.longest = 0.0
        self.failures: list[str] = []
        self.threads = [threading.Thread(target=self.connect_each_time) for _ in range(4)]
        self.threads += [threading.Thread(target=self.keep_alive) for _ in range(4)]

    def __enter__(self) -> Self:
        """Start."""
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End."""
        self.stopping.set()
        for thread in self.threads:
            thread.join()

    def note(self, began: float, failure: str | None) -> None:
        """Count a request."""
        with self.lock:
            self.done += 1
            self.longest = max(self.longest, time.monotonic() - began)
            if failure is not None:
                self.failures.append(failure)

    def connect_each_time(self) -> None:
        """Send each request on a new connection, like clients without keep-alive."""
        while not self.stopping.is_set():
            began = time.monotonic()
            connection = http.client.HTTPConnection("127.0.0.1", 80, timeout=30)
            try:
                failure = request(connection, {"Connection": "close"})
            except (OSError, http.client.HTTPException) as error:
                failure = repr(error)
            connection.close()
            self.note(began, failure)

    def keep_alive(self) -> None:
        """Send requests on one connection, and reconnect if it was closed, like browsers."""
        connection = http.client.HTTPConnection("127.0.0.1", 80, timeout=30)
        while not self.stopping.is_set():
            began = time.monotonic()
            try:
                try:
                    failure = request(connection, {})
                except (http.client.RemoteDisconnected, ConnectionError):
                    connection.close()
                    with self.lock:
                        self.repeated += 1
                    failure = request(connection, {})
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                failure = repr(error)
            self.note(began, failure)
        connection.close()


def request(connection: http.client.HTTPConnection, headers: dict[str, str]) -> str | None:
    """Request the welcome page; return its error."""
    connection.request("GET", "/", headers=headers)
    response = connection.getresponse()
    body = response.read()
    if response.status != http.HTTPStatus.OK or b"Welcome to Howdah" not in body:
        return f"{response.status} with {body[:80]!r}"
    return None


def execute(*words: str) -> subprocess.CompletedProcess[str]:
    """Run a command with the environment of a root."""
    return subprocess.run(
        words,
        check=False,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def inside(root: Path, *command: str) -> str:
    """Run a command in the root."""
    done = execute("chroot", str(root), *command)
    print(done.stdout, flush=True)
    check(done.returncode == 0, f"{shlex.join(command)} exited with {done.returncode}")
    return done.stdout


def wait_for(get: Callable[[], Found], message: str, process: subprocess.Popen[bytes]) -> Found:
    """Wait until something holds, while the process runs."""
    deadline = time.monotonic() + START_SECONDS
    while not (found := get()):
        check(process.poll() is None, f"{message}: the process exited with {process.returncode}")
        check(time.monotonic() < deadline, f"{message}: {START_SECONDS} s were not enough")
        time.sleep(0.02)
    return found


def apt(root: Path, *arguments: str) -> None:
    """Run apt-get without a network."""
    inside(root, "apt-get", "-y", "-qq", "-o", "Dpkg::Use-Pty=0", *arguments)


def packages(root: Path, release: int) -> list[str]:
    """Paths of packages in the root."""
    files = sorted((root / "packages" / str(release)).glob("*.deb"))
    return [f"/packages/{release}/{file.name}" for file in files]


def listing(root: Path) -> set[str]:
    """Paths of all files, and lines of users and groups."""
    found: set[str] = set()
    for folder, folders, files in os.walk(root):
        place = "/" + str(Path(folder).relative_to(root))
        place = "/" if place == "/." else place
        if place.startswith(VOLATILE):
            folders.clear()
            continue
        found.update(f"{place.rstrip('/')}/{name}" for name in (*folders, *files))
    for name in ("passwd", "group", "shadow", "gshadow"):
        lines = (root / "etc" / name).read_text().splitlines()
        found.update(f"/etc/{name}: {line}" for line in lines)
    return found


def first_page() -> str:
    """Wait for the welcome page, which names the version of PHP."""
    deadline = time.monotonic() + START_SECONDS
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", 80, timeout=30)
        with contextlib.suppress(OSError, http.client.HTTPException):
            connection.request("GET", "/")
            response = connection.getresponse()
            if response.status == http.HTTPStatus.OK:
                return response.read().decode()
        if time.monotonic() > deadline:
            message = "the first page did not come"
            raise LifeError(message)
        time.sleep(0.05)


def check(holds: bool, message: str) -> None:  # noqa: FBT001
    """Fail with a message unless something holds."""
    if not holds:
        raise LifeError(message)


def server_files(root: Path) -> Iterator[Path]:
    """Return paths that must not exist after the packages were purged."""
    for place in ("etc", "usr", "var/lib", "var/log", "var/cache", "run"):
        for path in (root / place).rglob("*howdah*"):
            if "/dpkg/" not in f"{path}/":
                yield path


def install(manager: Manager, root: Path) -> None:
    """Install the packages, and wait for the first page."""
    before, began = manager.starts, time.monotonic()
    apt(root, "install", *packages(root, 1))
    installed = time.monotonic() - began
    page = first_page()
    took = time.monotonic() - began
    check("Welcome to Howdah" in page, "the first page is not the welcome page")
    check(manager.starts == before + 1, f"the server was started {manager.starts - before} times")
    say(f"first page {took:.1f} s after the start of apt, which took {installed:.1f} s")


def upgrade(manager: Manager, root: Path) -> None:
    """Install higher versions while clients request pages."""
    before = manager.starts
    version = ("dpkg-query", "--show", "--showformat=${Version}", "howdah")
    old = inside(root, *version)
    with Load() as load:
        time.sleep(2)
        apt(root, "install", *packages(root, 2))
        manager.reload()
        time.sleep(2)
    new = inside(root, *version)
    check(old != new, f"the version is {new} as before")
    check(manager.starts > before, "the upgrade did not restart the server")
    check(load.done > 0, "no request was made")
    failures = load.failures
    check(
        not failures,
        f"{len(failures)} of {load.done} requests failed, the first with {failures[:1]}",
    )
    say(
        f"upgrade from {old} to {new} and a reload: {load.done} requests, none failed, the longest "
        f"took {load.longest:.2f} s; {load.repeated} were repeated on a new connection"
    )


def remove(manager: Manager, root: Path) -> None:
    """Remove the packages, then purge them."""
    names = [Path(name).name.partition("_")[0] for name in packages(root, 1)]
    apt(root, "remove", *names)
    check(manager.server is None, "the server runs although its package is removed")
    check(not (root / "usr/bin/howdah").exists(), "removing leaves /usr/bin/howdah")
    check((root / "etc/howdah/Caddyfile").exists(), "removing takes the configuration away")
    apt(root, "purge", *names)
    manager.close()
    left = sorted(str(path.relative_to(root)) for path in server_files(root))
    check(not left, f"purge leaves {left}")
    accounts = (root / "etc/passwd").read_text() + (root / "etc/group").read_text()
    check("howdah" not in accounts, "purge leaves the user or the group")


def life(root: Path) -> None:
    """Go through all of it, twice: dependencies of the packages stay after the first time."""
    manager = Manager(root)
    manager.install()
    downloaded = (root / "packages/downloaded").read_text().strip()
    say(f"downloads of what the packages depend on took {downloaded}")
    install(manager, root)
    remove(manager, root)
    say("remove and purge leave no file of the server")
    before = listing(root)
    install(manager, root)
    upgrade(manager, root)
    remove(manager, root)
    changed = sorted(listing(root) ^ before)
    check(not changed, f"install, upgrade and purge change {changed}")
    say("install, upgrade and purge change no file, user or group")
    verbs = {call.split(" howdah")[0] for call in manager.calls if "howdah" in call}
    print("calls:", sorted(verbs), flush=True)


def report(program: Callable[[Path], None]) -> NoReturn:
    """Run a program on the root that the command line names, and exit: 1 if it failed."""
    code = 0
    try:
        program(Path(sys.argv[1]))
    except LifeError as failure:
        say(f"FAILED: {failure}")
        code = 1
    sys.stdout.flush()
    # Remaining processes end with the namespace.
    os._exit(code)


if __name__ == "__main__":
    report(life)
