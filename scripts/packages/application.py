"""From the packages to the first page of a WordPress, timed, in a root without PHP.

Runs outside of the root, in its namespaces (scripts/packages.sh), which has put MariaDB and the
files of Debian's WordPress there: a blog that its owner moves to this machine. Timed are what the
owner then types: `apt install` of the packages and of PHP's MySQL extension, `howdah init` and
`howdah run` in the blog's folder. The database is filled in between, which PHP is needed for.
"""

from __future__ import annotations

import http.client
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from scripts.packages.life import LifeError, apt, check, inside, packages, say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PORT = 8080
TITLE = b"<title>Elephant blog"
BLOG = "/srv/application/public"
SOCKET = "/run/mysqld/mysqld.sock"
# The target, for all of it.
LIMIT_SECONDS = 120
START_SECONDS = 60


@contextmanager
def running(root: Path, folder: str, *command: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process in a folder of the root."""
    words = ["chroot", str(root), "sh", "-c", 'cd "$0" && exec "$@"', folder, *command]
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8"}
    process = subprocess.Popen(words, env=environment)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(START_SECONDS)


def wait(process: subprocess.Popen[bytes], what: str, holds: Callable[[], bool]) -> None:
    """Wait until something holds, while the process runs."""
    deadline = time.monotonic() + START_SECONDS
    while not holds():
        check(process.poll() is None, f"{what}: the process exited with {process.returncode}")
        check(time.monotonic() < deadline, f"{what}: {START_SECONDS} s were not enough")
        time.sleep(0.02)


def answers() -> bool:
    """Whether the blog's first page comes."""
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=START_SECONDS)
    try:
        connection.request("GET", "/")
        response = connection.getresponse()
        page = response.read()
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    first = response.status == http.HTTPStatus.OK and TITLE in page
    check(first, f"the first page is {response.status} with {page[:200]!r}")
    return True


def application(root: Path) -> None:
    """Time the way to the first page."""
    check(not (root / "usr/bin/php").exists(), "PHP is installed before the packages")
    php = next(name for name in packages(root, 1) if "/howdah-php" in name)
    version = Path(php).name.removeprefix("howdah-php").partition("_")[0]
    began = time.monotonic()
    apt(root, "install", *packages(root, 1), f"php{version}-mysql")
    installed = time.monotonic() - began
    inside(root, "install", "-d", "-o", "mysql", "/run/mysqld")
    database = ("mariadbd", "--user=mysql", "--skip-grant-tables", "--skip-networking")
    with running(root, "/", *database, f"--socket={SOCKET}") as server:
        wait(server, "MariaDB", (root / SOCKET.lstrip("/")).is_socket)
        address = (f"APP_URL=http://127.0.0.1:{PORT}", f"APP_DB_SOCKET={SOCKET}")
        inside(root, "env", *address, "bash", "/application/setup.sh", str(Path(BLOG).parent))
        began = time.monotonic()
        inside(root, "sh", "-c", f"cd {BLOG} && howdah init")
        with running(root, BLOG, "howdah", "run") as howdah:
            wait(howdah, "the first page", answers)
            served = time.monotonic() - began
            howdah.terminate()
            check(howdah.wait(START_SECONDS) == 0, f"the server exited with {howdah.returncode}")
    took = installed + served
    say(
        f"first page of WordPress {took:.1f} s after the start of apt, which took {installed:.1f} s"
    )
    check(took < LIMIT_SECONDS, f"that is more than {LIMIT_SECONDS} s")


def main() -> int:
    """Run, and report a failure."""
    try:
        application(Path(sys.argv[1]))
    except LifeError as failure:
        say(f"FAILED: {failure}")
        return 1
    return 0


if __name__ == "__main__":
    # What still runs ends with the namespace.
    status = main()
    sys.stdout.flush()
    os._exit(status)
