"""What the reader of a tutorial has before: Composer's packages, a blog with its database.

Tests have no network. Composer itself is the real one, with a repository of stand-ins on this machine: the frameworks
of the distribution's packages, below the small applications of `stand-ins`, and the packages of php/.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.mariadb import MariaDb

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
APPS = ROOT / "tests/apps"

Json = dict[str, Any]

# An application in which Composer installed Laravel 10 or later and Octane.
LARAVEL = "HOWDAH_LARAVEL"
# An autoloader of spiral/roadrunner-http.
ROADRUNNER = "HOWDAH_ROADRUNNER"


class Absent(Exception):
    """A requirement of a page that this machine lacks."""


class Place:
    """The reader's home, and the prepared files in it."""

    def __init__(self, home: Path, scratch: Path, environment: dict[str, str]) -> None:
        self.home = home
        self.scratch = scratch
        self.environment = environment
        self._packages: dict[str, Json] = {}
        self._database: MariaDb | None = None

    def database(self) -> MariaDb:
        """Runs a MariaDB."""
        if shutil.which("mariadbd", path=os.environ["PATH"] + ":/usr/sbin") is None:
            raise Absent("mariadb-server is not installed (scripts/setup.sh test)")
        if self._database is None:
            self._database = MariaDb(self.scratch / "db")
            self._database.start()
        return self._database

    def package(self, name: str, version: str, folder: Path, more: Mapping[str, Any]) -> None:
        """Adds a package to Composer's repository."""
        if shutil.which("composer") is None:
            raise Absent("composer is not installed (scripts/setup.sh test)")
        self._packages[name] = {
            "name": name, "version": version, "dist": {"type": "path", "url": str(folder)},
            **more,
        }  # fmt: skip
        home = self.scratch / "composer"
        home.mkdir(exist_ok=True)
        listed = {name: {package["version"]: package} for name, package in self._packages.items()}
        (home / "packages.json").write_text(json.dumps({"packages": listed}))
        repositories = {"here": {"type": "composer", "url": f"file://{home}"}, "packagist.org": False}
        (home / "config.json").write_text(json.dumps({"repositories": repositories}))
        self.environment |= {
            "COMPOSER_HOME": str(home), "COMPOSER_ALLOW_SUPERUSER": "1", "COMPOSER_NO_INTERACTION": "1",
            "COMPOSER_NO_AUDIT": "1", "COMPOSER_MIRROR_PATH_REPOS": "1",
        }  # fmt: skip

    def stand_in(self, name: str, version: str, includes: Sequence[str]) -> None:
        """Creates a package that includes autoloaders of the distribution's packages."""
        for include in includes:
            if not Path("/usr/share/php", include).is_file():
                raise Absent(f"{include} is missing (tests/apps/packages.txt)")
        folder = self.scratch / "packages" / name
        folder.mkdir(parents=True)
        (folder / "load.php").write_text("<?php\n" + "".join(f"require_once '{include}';\n" for include in includes))
        self.package(name, version, folder, {"autoload": {"files": ["load.php"]}})

    def application(self, name: str, version: str, folder: Path) -> None:
        """Creates a project to start from, with the composer.json in its folder."""
        described: Json = json.loads((folder / "composer.json").read_text())
        self.package(name, version, folder, described)

    def ours(self) -> None:
        """Adds this repository's packages, with those of their requirements that the stand-ins have."""
        for file in sorted((ROOT / "php").glob("*/composer.json")):
            described: Json = json.loads(file.read_text())
            described.pop("require-dev", None)
            required: Mapping[str, str] = described.get("require", {})
            described["require"] = {name: "*" for name in required if name in self._packages}
            self.package(described["name"], "1.0.0", file.parent, described)

    def close(self) -> None:
        """Stops all that was started."""
        if self._database is not None:
            self._database.stop()


def _laravel(place: Place) -> None:
    if installed := os.environ.get(LARAVEL):
        place.stand_in("laravel/framework", "11.0.0", [f"{installed}/vendor/autoload.php"])
    else:
        includes = ["Illuminate/autoload.php", "Illuminate/Foundation/helpers.php"]
        place.stand_in("laravel/framework", _debian("php-laravel-framework"), includes)
    folder = place.scratch / "laravel"
    subprocess.run(
        ["bash", str(APPS / "laravel/setup.sh"), str(folder)],
        env={name: value for name, value in os.environ.items() if name not in (LARAVEL, "HOWDAH_OCTANE")},
        check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    shutil.rmtree(folder / "vendor")
    shutil.copytree(HERE / "stand-ins/laravel", folder, dirs_exist_ok=True)
    place.application("laravel/laravel", "8.0.0", folder)
    place.ours()


def _octane(place: Place) -> None:
    installed = os.environ.get(LARAVEL)
    if not installed:
        raise Absent(f"no distribution packages Octane: set {LARAVEL} (CONTRIBUTING.md)")
    folder = Path(installed, "vendor/laravel/octane")
    described: Json = json.loads((folder / "composer.json").read_text())
    place.package("laravel/octane", "2.99.0", folder, {"autoload": described["autoload"]})
    place.ours()


def _symfony(place: Place) -> None:
    version = _debian("php-symfony-framework-bundle")
    place.stand_in("symfony/framework-bundle", version, ["Symfony/Bundle/FrameworkBundle/autoload.php"])
    place.stand_in("symfony/runtime", version, ["Symfony/Component/Runtime/autoload.php"])
    place.application("symfony/skeleton", version, HERE / "stand-ins/symfony")
    place.ours()


def _psr7(place: Place) -> None:
    place.stand_in("nyholm/psr7", _debian("php-nyholm-psr7"), ["Nyholm/Psr7/autoload.php"])
    place.ours()


def _roadrunner(place: Place) -> None:
    autoloader = os.environ.get(ROADRUNNER)
    if not autoloader:
        raise Absent(f"no distribution packages spiral/roadrunner-http: set {ROADRUNNER} (CONTRIBUTING.md)")
    place.stand_in("spiral/roadrunner-http", "3.0.0", [autoloader])


def _codeigniter(place: Place) -> None:
    checkout = os.environ.get("HOWDAH_CODEIGNITER")
    if not checkout:
        raise Absent("no distribution packages CodeIgniter 4: set HOWDAH_CODEIGNITER (CONTRIBUTING.md)")
    place.package(
        "codeigniter4/framework", "4.7.1", Path(checkout),
        {"autoload": {"psr-4": {"CodeIgniter\\": "system/"}}},
    )  # fmt: skip
    folder = place.scratch / "codeigniter"
    folder.mkdir()
    for name in ("app", "public", "writable"):
        shutil.copytree(Path(checkout) / name, folder / name)
    shutil.copy(Path(checkout) / "spark", folder)
    # In a project, the framework is a package.
    paths = folder / "app/Config/Paths.php"
    paths.write_text(paths.read_text().replace("/../../system'", "/../../vendor/codeigniter4/framework/system'"))
    described = {
        "name": "codeigniter4/appstarter", "type": "project", "require": {"codeigniter4/framework": "*"},
    }  # fmt: skip
    (folder / "composer.json").write_text(json.dumps(described))
    place.application("codeigniter4/appstarter", "4.7.1", folder)
    place.ours()


def _wordpress(place: Place) -> None:
    if not Path("/usr/share/wordpress").is_dir():
        raise Absent("wordpress is not installed (tests/apps/packages.txt)")
    folder = place.scratch / "wordpress"
    environment = {**os.environ, "APP_URL": "http://localhost:8080", "APP_DB_SOCKET": str(place.database().socket)}
    subprocess.run(
        ["bash", str(APPS / "wordpress/setup.sh"), str(folder)], check=True, env=environment, stdout=subprocess.DEVNULL
    )
    (folder / "public").rename(place.home / "blog")


def _debian(package: str) -> str:
    """Returns the version of a distribution package in Composer's format."""
    query = ["dpkg-query", "-W", "-f", "${db:Status-Status} ${Version}", package]
    status, _, version = subprocess.run(query, capture_output=True, text=True, check=False).stdout.partition(" ")
    number = re.match(r"(?:\d+:)?([\d.]+)", version)
    if status != "installed" or number is None:
        raise Absent(f"{package} is not installed (tests/apps/packages.txt)")
    return number[1]


PREPARATIONS: Mapping[str, Callable[[Place], None]] = {
    "laravel": _laravel,
    "octane": _octane,
    "symfony": _symfony,
    "psr7": _psr7,
    "roadrunner": _roadrunner,
    "codeigniter": _codeigniter,
    "wordpress": _wordpress,
}
