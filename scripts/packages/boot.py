"""The packages under systemd: a root is booted in a container, and the unit's server is tried.

Runs outside of the root, in its namespaces (scripts/packages.sh). No daemon of this machine takes
part: systemd-nspawn needs none. The network is that of the namespace, which has nothing but a
loopback. What life.py covers, such as upgrades, is left to it.
"""

from __future__ import annotations

import http.client
import json
import re
import shlex
import ssl
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from scripts.packages.life import (
    START_SECONDS,
    LifeError,
    Load,
    check,
    execute,
    first_page,
    packages,
    report,
    say,
    wait_for,
)

if TYPE_CHECKING:
    from collections.abc import Callable

Found = TypeVar("Found")

# `systemd-analyze security` times ten: the figures in docs/security.md.
EXPOSURE = 19
EXPOSURE_UNPRIVILEGED = 14
DROP_IN = "etc/systemd/system/howdah.service.d"
# The one of docs/security.md.
UNPRIVILEGED = re.compile(r"```ini\n(\[Service\]\nUser=howdah\n.*?)```", re.DOTALL)
# Lets the watchdog be tested without a wait of half a minute.
WATCHDOG = "[Service]\nWatchdogSec=2\nRestart=on-failure\nRestartSec=0\n"

SITE = """{
	frankenphp {
		user www-data
		num_threads 2
	}
}
:80 {
	root /srv/site
	php_server
}
:8443 {
	tls /etc/howdah/cert.pem /etc/howdah/key.pem
	root /srv/site
	php_server
}
"""
# Access of PHP code to the server, its keys, and the system around it.
PROBE = r"""<?php
if (isset($_GET['size'])) { exit((string) strlen(file_get_contents('php://input'))); }
$can = [];
$front = (int) $_GET['front'];
$zygote = posix_getppid();
$secrets = ['/etc/howdah/key.pem', '/srv/secret', "/proc/$zygote/environ", "/proc/$front/maps"];
foreach ($secrets as $path) {
    if (@file_get_contents($path) != '') { $can[] = "read $path"; }
}
foreach ([$zygote, $front] as $pid) {
    if (@fopen("/proc/$pid/mem", 'r+')) { $can[] = "open the memory of $pid"; }
}
$folders = ['/etc', '/usr', '/srv', '/var/lib', '/sys/kernel', '/proc/sys/kernel', '/dev', '/home'];
foreach ($folders as $folder) {
    if (@touch("$folder/probe")) { $can[] = "write to $folder"; }
}
foreach (['/var/lib/howdah', '/home', '/root'] as $folder) {
    if (@scandir($folder) > ['.', '..']) { $can[] = "list $folder"; }
}
foreach (glob('/proc/[1-9]*') as $process) {
    if (@fileowner($process) !== posix_getuid()) { $can[] = "see $process"; }
}
if (posix_kill($front, 0)) { $can[] = 'signal the server'; }
$status = file_get_contents('/proc/self/status');
if (!preg_match('/^NoNewPrivs:\s1$/m', $status)) { $can[] = 'gain rights'; }
if (!preg_match('/^CapPrm:\s0+$/m', $status)) { $can[] = 'use capabilities'; }
$targets = ['key' => '/etc/howdah/key.pem', 'secret' => '/srv/secret', 'shadow' => '/etc/shadow'];
foreach ($targets as $name => $target) {
    @symlink($target, __DIR__ . "/uploads/$name");
}
header('Content-Type: application/json');
echo json_encode(['user' => posix_getpwuid(posix_getuid())['name'], 'can' => $can]);
"""
# Overwrites the head of each ring in the pool's shared memory.
BREAK = r"""<?php
$maps = file_get_contents('/proc/self/maps');
preg_match('/^([0-9a-f]+)-[0-9a-f]+ .*memfd:howdah-pool/m', $maps, $x);
$memory = fopen('/proc/self/mem', 'r+');
stream_set_write_buffer($memory, 0);
stream_set_read_buffer($memory, 0);
fseek($memory, $s = hexdec($x[1]));
$fields = 'Pmagic/Vversion/Vfronts/Vworkers/Vslots/Vreq/Vresp/Psize/Pfo/Pstride';
$h = unpack($fields, fread($memory, 56));
for ($i = 0; $i < $h['fronts']; $i++) {
    fseek($memory, $s + $h['fo'] + $i * $h['stride']);
    fwrite($memory, pack('P', 1 << 40));
}
echo 'written';
"""


class Machine:
    """A root with systemd as its first process."""

    def __init__(self, root: Path) -> None:
        self.root = root
        # It needs the processes of this namespace, and provides what a root without it gets
        # otherwise.
        subprocess.run(["mount", "-t", "proc", "proc", "/proc"], check=True)
        for folder in ("dev", "sys", "proc", "run", "tmp"):
            subprocess.run(["umount", "--recursive", root / folder], check=True)
        command = [
            "systemd-nspawn",
            f"--directory={root}",
            "--boot",
            "--register=no",
            "--keep-unit",
        ]
        command += ["--machine=howdah", "--console=pipe", "--capability=all", "--resolv-conf=off"]
        self.container = subprocess.Popen(command, stdin=subprocess.DEVNULL)
        self.leader = ""
        self.wait_for(self.is_up, "systemd does not come up")

    def first_child(self) -> str:
        """Process id of the container's systemd."""
        children = Path(f"/proc/{self.container.pid}/task/{self.container.pid}/children")
        return children.read_text().strip()

    def is_up(self) -> bool:
        """Whether the boot is over."""
        # The first child only sets the container up; systemd takes its place.
        self.leader = self.first_child()
        if not self.leader:
            return False
        state = self.run("systemctl", "is-system-running", fails=True).strip()
        return state in {"running", "degraded"}

    def wait_for(self, get: Callable[[], Found], message: str) -> Found:
        """Wait until something holds while the container runs."""
        return wait_for(get, message, self.container)

    def run(self, *command: str, fails: bool = False) -> str:
        """Run a command in the container."""
        done = execute("nsenter", "--target", self.leader, "--all", *command)
        if done.returncode != 0 and not fails:
            print(done.stdout, flush=True)
            message = f"{shlex.join(command)} exited with {done.returncode}"
            raise LifeError(message)
        return done.stdout

    def property(self, name: str) -> str:
        """A property of the service."""
        return self.run(
            "systemctl", "show", "--property", name, "--value", "howdah.service"
        ).strip()

    def write(self, path: str, text: str, mode: int = 0o644) -> None:
        """Write a file."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(mode)

    def rate(self, limit: int) -> None:
        """Compare the rating of systemd with ours."""
        self.run(
            "systemd-analyze", "security", "--no-pager", f"--threshold={limit}", "howdah.service"
        )


def get(path: str, body: bytes | None = None, port: int = 80) -> tuple[int, str]:
    """Status and body of a response."""
    if port == 80:  # noqa: PLR2004 - HTTP
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    else:
        context = ssl._create_unverified_context()  # noqa: S323, SLF001 - the certificate is its own
        connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=30, context=context)
    try:
        connection.request("GET" if body is None else "POST", path, body=body)
        response = connection.getresponse()
        return response.status, response.read().decode(errors="replace")
    finally:
        connection.close()


def under_load(machine: Machine, verb: str) -> None:
    """Reload or restart three times while clients request pages."""
    with Load() as load:
        for _ in range(3):
            time.sleep(1)
            machine.run("systemctl", verb, "howdah.service")
        time.sleep(1)
    check(load.done > 0, "no request was made")
    check(
        not load.failures,
        f"{verb}: {len(load.failures)} of {load.done} requests failed: {load.failures[:1]}",
    )
    say(
        f"three times systemctl {verb}: {load.done} requests, none failed, the longest took "
        f"{load.longest:.2f} s; {load.repeated} were repeated on a new connection"
    )


def install(machine: Machine) -> None:
    """Install the packages as on any machine."""
    machine.run("apt-get", "-y", "-qq", "install", *packages(machine.root, 1))
    check("Welcome to Howdah" in first_page(), "the first page is not the welcome page")
    for unit in ("howdah.service", "howdah.socket"):
        state = machine.run("systemctl", "is-active", unit, fails=True).strip()
        check(state == "active", f"{unit} is {state}")
    say("the installed units are active and serve the first page")


def reload_and_restart(machine: Machine) -> None:
    """Check that no request fails, whether the process stays or another takes over the socket."""
    before = machine.property("MainPID")
    under_load(machine, "reload")
    check(machine.property("MainPID") == before, "a reload has replaced the process")
    under_load(machine, "restart")
    check(machine.property("MainPID") != before, "a restart has not replaced the process")


def restart(machine: Machine) -> None:
    """Restart the server; systemd refuses a sixth start within ten seconds, which a fast machine reaches."""
    machine.run("systemctl", "reset-failed", "howdah.service")
    machine.run("systemctl", "restart", "howdah.service")


def boundaries(machine: Machine) -> None:
    """Check the access of another user's PHP to the unit's server, and to the machine."""
    machine.write("etc/howdah/Caddyfile", SITE)
    machine.write("srv/site/index.php", "<?php echo 'Welcome to Howdah';")
    machine.write("srv/site/probe.php", PROBE)
    machine.write("srv/site/break.php", BREAK)
    machine.write("srv/secret", "TOPSECRET", 0o600)
    machine.write(f"{DROP_IN}/uploads.conf", "[Service]\nReadWritePaths=/srv/site/uploads\n")
    uploads = machine.root / "srv/site/uploads"
    uploads.mkdir()
    folder = machine.root / "etc/howdah"
    machine.run("chown", "www-data:", "/srv/site/uploads")
    key = [
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-subj",
        "/CN=localhost",
    ]
    files = ["-keyout", f"{folder}/key.pem", "-out", f"{folder}/cert.pem"]
    subprocess.run(["openssl", "req", "-x509", *key, *files], check=True, capture_output=True)
    machine.run("systemctl", "daemon-reload")
    restart(machine)

    front = machine.property("MainPID")
    status, text = get(f"/probe.php?front={front}")
    check(status == http.HTTPStatus.OK, f"the probe: {status} {text}")
    found = json.loads(text)
    check(found == {"user": "www-data", "can": []}, f"PHP's user and what it can: {found}")
    for name in ("key", "secret", "shadow"):
        check((uploads / name).is_symlink(), f"PHP has not made the link {name}")
        status, text = get(f"/uploads/{name}")
        check(status == http.HTTPStatus.FORBIDDEN, f"the link {name}: {status} {text[:80]}")
    check(
        get("/probe.php?size", body=b"x" * 300_000) == (200, "300000"),
        "a large body for another user",
    )
    check(get("/", port=8443) == (200, "Welcome to Howdah"), "a key that only root can read")
    # A process that is not dumpable cannot open its own memory as a file.
    machine.write(
        "etc/howdah/Caddyfile", SITE.replace("num_threads 2", "num_threads 2\n\t\tdumpable")
    )
    # `systemctl reload` can return before the server has reloaded; this command waits for it.
    machine.run("howdah", "reload", "--config", "/etc/howdah/Caddyfile")
    status, text = get("/break.php")
    check(
        text == "written" or status == http.HTTPStatus.BAD_GATEWAY, f"/break.php: {status} {text}"
    )
    machine.wait_for(lambda: get("/")[0] == http.HTTPStatus.OK, "the pool does not heal")
    machine.run("systemctl", "reload", "howdah.service")
    check(get("/")[0] == http.HTTPStatus.OK, "a reload does not repair the pool")
    say("PHP of another user reaches neither the server nor what the unit protects")


def watchdog(machine: Machine) -> None:
    """Check that a server that hangs is restarted."""
    machine.write(f"{DROP_IN}/watchdog.conf", WATCHDOG)
    machine.run("systemctl", "daemon-reload")
    restart(machine)
    machine.run("kill", "-STOP", machine.property("MainPID"))
    machine.wait_for(
        lambda: machine.property("NRestarts") == "1", "the watchdog does not restart it"
    )
    first_page()
    (machine.root / DROP_IN / "watchdog.conf").unlink()
    machine.run("systemctl", "daemon-reload")
    say("the watchdog restarts a server that hangs")


def unprivileged(machine: Machine) -> None:
    """Check the drop-in for servers that need no privileges of root."""
    found = UNPRIVILEGED.search(Path("docs/security.md").read_text())
    check(found is not None, "docs/security.md has no drop-in")
    machine.write(f"{DROP_IN}/unprivileged.conf", found[1] if found else "")
    machine.write(
        "etc/howdah/Caddyfile", ":80 {\n\troot /usr/share/howdah/welcome\n\tphp_server\n}\n"
    )
    machine.run("systemctl", "daemon-reload")
    restart(machine)
    under_load(machine, "reload")
    lines = machine.run("ps", "-eo", "user=,unit=").splitlines()
    owners = {line.split()[0] for line in lines if line.endswith("howdah.service")}
    check(owners == {"howdah"}, f"users of its processes: {owners}")
    machine.rate(EXPOSURE_UNPRIVILEGED)
    say("the unit without root serves and reloads")


def boot(root: Path) -> None:
    """Go through all of it."""
    machine = Machine(root)
    install(machine)
    reload_and_restart(machine)
    machine.rate(EXPOSURE)
    boundaries(machine)
    watchdog(machine)
    unprivileged(machine)
    machine.run("systemctl", "stop", "howdah.socket", "howdah.service")
    left = machine.run("pgrep", "-f", "howdah: ", fails=True).split()
    check(not left, f"processes are left: {left}")
    machine.run("systemctl", "poweroff")
    machine.container.wait(START_SECONDS)


if __name__ == "__main__":
    report(boot)
