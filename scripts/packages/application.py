"""From the packages to the first page of a WordPress, timed, in a root without PHP.

Runs outside of the root, in its namespaces (scripts/packages.sh), which has put MariaDB and the
files of Debian's WordPress there: a blog that its owner moves to this machine. Timed are what the
owner then types: `apt install` of the packages and of PHP's MySQL extension, `howdah init` and
`howdah run` in the blog's folder. The database is filled in between, which PHP is needed for.
"""

from __future__ import annotations

import http.client
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from scripts.packages.life import (
    ENVIRONMENT,
    START_SECONDS,
    apt,
    check,
    inside,
    packages,
    report,
    say,
    wait_for,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

PORT = 8080
TITLE = b"<title>Elephant blog"
BLOG = "/srv/application/public"
SOCKET = "/run/mysqld/mysqld.sock"
# The target for the whole procedure.
LIMIT_SECONDS = 120


@contextmanager
def running(root: Path, folder: str, *command: str) -> Iterator[subprocess.Popen[bytes]]:
    """Runs a process in a folder of the root."""
    words = ["chroot", str(root), "sh", "-c", 'cd "$0" && exec "$@"', folder, *command]
    process = subprocess.Popen(words, env=ENVIRONMENT)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(START_SECONDS)


def answers() -> bool:
    """Whether the blog's first page is served."""
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
        wait_for((root / SOCKET.lstrip("/")).is_socket, "MariaDB", server)
        address = (f"APP_URL=http://127.0.0.1:{PORT}", f"APP_DB_SOCKET={SOCKET}")
        inside(root, "env", *address, "bash", "/application/setup.sh", str(Path(BLOG).parent))
        began = time.monotonic()
        inside(root, "sh", "-c", f"cd {BLOG} && howdah init")
        with running(root, BLOG, "howdah", "run") as howdah:
            wait_for(answers, "the first page", howdah)
            served = time.monotonic() - began
            howdah.terminate()
            check(howdah.wait(START_SECONDS) == 0, f"the server exited with {howdah.returncode}")
    took = installed + served
    say(
        f"first page of WordPress {took:.1f} s after the start of apt, which took {installed:.1f} s"
    )
    check(took < LIMIT_SECONDS, f"that is more than {LIMIT_SECONDS} s")


if __name__ == "__main__":
    report(application)
