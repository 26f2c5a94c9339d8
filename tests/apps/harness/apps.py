"""The applications: each is a folder with setup.sh, which prepares it, and walk.py, which walks through it."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from .client import Browser, WalkError
from .compare import Allowed, Rule
from .mariadb import MariaDb


@dataclass(frozen=True)
class App:
    """An application and the options of its walk."""

    name: str
    folder: Path
    walk: Callable[[Browser], None]
    database: str | None
    rules: Sequence[Rule]
    allowed: Sequence[Allowed]
    # Worker mode: the script below the document root, state that requests may change for later ones (`keep`), the
    # environment variable that the setup requires, and leaks that the leak detector is to `allow`.
    worker: str | None = None
    worker_keep: str | None = None
    worker_needs: str | None = None
    worker_allow: Sequence[str] = ()
    # Debian packages that some distributions lack. Without them the application is skipped.
    packages: Sequence[str] = ()

    def absent(self) -> list[str]:
        """Returns those of its packages that are not installed."""
        return [package for package in self.packages if not _installed(package)]

    def docroot(self, place: Path) -> Path:
        """Returns the folder to serve."""
        return place / "public"

    def setup(self, place: Path, base: str, database: MariaDb) -> dict[str, str]:
        """Prepares the application; returns the environment for the servers.

        setup.sh gets APP_URL and APP_DB_SOCKET, and may write further NAME=VALUE lines to the file `environment`.
        """
        environment = {**os.environ, "APP_URL": base, "APP_DB_SOCKET": str(database.socket), "LC_ALL": "C.UTF-8"}
        place.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(
            ["bash", str(self.folder / "setup.sh"), str(place)],
            env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        if done.returncode != 0:
            raise WalkError(f"setup.sh ended with {done.returncode}:\n{done.stdout[-3000:]}")
        if not self.docroot(place).is_dir():
            raise WalkError(f"setup.sh left no folder {self.docroot(place)}")
        extra = place / "environment"
        if extra.is_file():
            for line in extra.read_text().splitlines():
                name, _, value = line.partition("=")
                environment[name] = value
        return environment


def _installed(package: str) -> bool:
    query = ["dpkg-query", "-W", "-f", "${db:Status-Status}", package]
    return subprocess.run(query, capture_output=True, text=True).stdout == "installed"


class Snapshot:
    """The state of an application right after its setup, so that each server starts from the same one."""

    def __init__(self, app: App, place: Path, database: MariaDb) -> None:
        self._app, self._place, self._database = app, place, database
        self._copy = place.with_name(place.name + ".pristine")
        self._dump = place.with_name(place.name + ".sql")
        shutil.copytree(place, self._copy, symlinks=True)
        if app.database is not None:
            database.dump(app.database, self._dump)

    def restore(self) -> None:
        """Restores the state after the setup. Folders stay, because one may be the current folder of a server."""
        for path in sorted(self._place.rglob("*"), reverse=True):
            pristine = self._copy / path.relative_to(self._place)
            if path.is_symlink() or not path.is_dir():
                path.unlink(missing_ok=True)  # A process that ends removes its database journal.
            elif not pristine.is_dir() or pristine.is_symlink():
                path.rmdir()
        shutil.copytree(self._copy, self._place, symlinks=True, dirs_exist_ok=True)
        if self._app.database is not None:
            self._database.restore(self._dump)


def load(root: Path) -> dict[str, App]:
    """Loads all applications by name, those without a database server first."""
    apps = [_load(file.parent) for file in sorted(root.glob("*/walk.py"))]
    return {app.name: app for app in sorted(apps, key=lambda app: app.database is not None)}


def _load(folder: Path) -> App:
    spec = importlib.util.spec_from_file_location(f"walk_{folder.name.replace('-', '_')}", folder / "walk.py")
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot load {folder / 'walk.py'}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return App(
        name=folder.name,
        folder=folder,
        walk=module.walk,
        database=getattr(module, "DATABASE", None),
        rules=getattr(module, "RULES", ()),
        allowed=getattr(module, "ALLOWED", ()),
        worker=getattr(module, "WORKER", None),
        worker_keep=getattr(module, "WORKER_KEEP", None),
        worker_needs=getattr(module, "WORKER_NEEDS", None),
        worker_allow=getattr(module, "WORKER_ALLOW", ()),
        packages=getattr(module, "PACKAGES", ()),
    )
