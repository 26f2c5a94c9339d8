"""A private MariaDB: data, socket and log in one folder, no TCP port."""

from __future__ import annotations

import getpass
import os
import shutil
import subprocess
from pathlib import Path

from .processes import Process, StartError, unix_is_open


class MariaDb:
    """Starts on demand and stores all its data below one folder."""

    def __init__(self, directory: Path) -> None:
        self.socket = directory / "mariadb.sock"
        self._directory = directory
        self._process: Process | None = None

    def start(self) -> None:
        """Creates the data folder if it is missing, and returns when the socket is open."""
        data = self._directory / "data"
        user = getpass.getuser()
        if not data.exists():
            self._directory.mkdir(parents=True, exist_ok=True)
            install = _program("mariadb-install-db")
            subprocess.run(
                [install, "--no-defaults", f"--datadir={data}", f"--user={user}", "--skip-test-db",
                 "--auth-root-authentication-method=normal"],
                check=True, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT,
            )  # fmt: skip
        self._process = Process(
            "mariadbd",
            [_program("mariadbd"), "--no-defaults", f"--datadir={data}", f"--socket={self.socket}", f"--user={user}",
             f"--pid-file={self._directory / 'mariadb.pid'}", "--skip-networking", "--innodb-flush-log-at-trx-commit=0",
             "--innodb-buffer-pool-size=64M"],
            self._directory / "mariadb.log",
            self._directory,
        )  # fmt: skip
        self._process.wait_until(lambda: unix_is_open(self.socket))

    def stop(self) -> None:
        """Stops the server, if it runs."""
        if self._process is not None:
            self._process.stop()

    def dump(self, database: str, file: Path) -> None:
        """Writes a database to an SQL file."""
        with file.open("wb") as stream:
            subprocess.run(
                [_program("mariadb-dump"), "--no-defaults", f"--socket={self.socket}", "--user=root",
                 "--add-drop-database", "--databases", database],
                check=True, stdout=stream,
            )  # fmt: skip

    def restore(self, file: Path) -> None:
        """Replaces a database by a dump."""
        with file.open("rb") as stream:
            subprocess.run(
                [_program("mariadb"), "--no-defaults", f"--socket={self.socket}", "--user=root"],
                check=True, stdin=stream,
            )  # fmt: skip


def _program(name: str) -> str:
    path = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if path is None:
        raise StartError(f"{name} is not installed; scripts/setup.sh test installs what is needed")
    return path
