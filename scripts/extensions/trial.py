"""Runs the exercises of a package's extensions on the command line and in three kinds of pools."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from .packages import run

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .packages import Module

MODES = ("classic", "worker", "coroutines")
# Visitors whose requests run at the same time, and the number of requests of each.
VISITORS = range(1, 9)
ROUNDS = {"classic": 1, "worker": 2, "coroutines": 3}
REQUEST_S = 60
START_S = 60
# Characters of a result in a note.
NOTE_MAX = 600
# PHP runs as in a server.
USER = ("setpriv", "--reuid", "www-data", "--regid", "www-data", "--clear-groups")
SITE = Path("/tmp/exercises")  # noqa: S108 -- in a root of its own
EXERCISES = Path(__file__).parent / "exercises"
# Without these, some extensions refuse to work in pools, but not on the command line.
SETTINGS = "ffi.enable = 1\napc.enable_cli = 0\n"
VERSIONS = """
foreach ([...get_loaded_extensions(), ...get_loaded_extensions(true)] as $name) {
    echo $name, "\\t", phpversion($name), "\\n";
}
"""
POOLS = {
    "classic": "num_threads 4",
    "worker": "worker {{\nfile {file}\nnum 2\nenv EXERCISES {names}\n}}",
    "coroutines": "worker {{\nfile {file}\nnum 1\nconcurrency 16\nenv EXERCISES {names}\n}}",
}


@dataclass
class Result:
    """Result of an extension."""

    name: str
    package: str
    version: str
    exercise: str
    modes: dict[str, str] = field(default_factory=dict)
    note: str = ""


class NotStartedError(Exception):
    """The server does not start; the argument is its reason."""


@dataclass(frozen=True)
class Trial:
    """Shared state of all trials."""

    howdah: Path
    environment: dict[str, str]
    modules: list[Module]

    def prepare(self) -> None:
        """Copies the site to a place where any user can read it."""
        shutil.rmtree(SITE, ignore_errors=True)
        shutil.copytree(EXERCISES, SITE)
        for mode in MODES:
            (SITE / f"{mode}.php").write_text("<?php\n\nrequire __DIR__ . '/site.php';\n")

    def load(self, package: str) -> dict[str, str]:
        """Makes PHP load a package's extensions and their dependencies; returns all versions."""
        shown = run(
            "apt-cache", "depends", "--recurse", "--installed", "--important", package
        ).stdout
        needed = {line.strip() for line in shown.splitlines()} | {package}
        base = {module.package for module in self.modules if module.package.endswith("-common")}
        base |= {module.package for module in self.modules if module.name == "opcache"}
        wanted = {module.name for module in self.modules if module.package in needed | base}
        missing = self._configure(wanted)
        while missing - wanted:
            wanted |= missing
            missing = self._configure(wanted)
        lines = [line.split("\t") for line in self.php("-r", VERSIONS).splitlines()]
        return {line[0]: line[1].split(" ")[-1] for line in lines if len(line) > 1}

    def _configure(self, names: set[str]) -> set[str]:
        """Configures PHP to load extensions; returns names of missing dependencies."""
        folder = SITE / "conf.d"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        (folder / "00-settings.ini").write_text(SETTINGS)
        for module in self.modules:
            if module.name in names:
                (folder / f"{module.priority}-{module.name}.ini").write_text(module.line + "\n")
        warnings = self.php("-d", "display_startup_errors=1", "-d", "display_errors=1", "-r", "")
        return set(re.findall(r'required module "(\w+)" is not loaded', warnings))

    def variables(self) -> dict[str, str]:
        """Returns the environment of PHP."""
        return {**os.environ, **self.environment, "PHP_INI_SCAN_DIR": str(SITE / "conf.d")}

    def php(self, *arguments: str) -> str:
        """Returns the output of PHP on the command line."""
        command = [*USER, "php", *arguments]
        done = subprocess.run(
            command,
            check=False,
            capture_output=True,
            text=True,
            env=self.variables(),
            timeout=REQUEST_S,
        )
        return done.stdout or f"exit status {done.returncode}: {done.stderr.strip()[-300:]}"

    def package(self, package: str, names: dict[str, str]) -> list[Result]:
        """Tries a package. `names`: its extensions, by the names of their exercises."""
        loaded = {name.lower(): version for name, version in self.load(package).items()}
        # Few extensions lack a version.
        packaged = run("dpkg-query", "-W", "-f", "${source:Upstream-Version}", package).stdout
        results = {}
        for exercise, name in names.items():
            results[exercise] = Result(
                name, package, loaded.get(name.lower()) or packaged, exercise
            )
        tried = list(results.values())
        each = [(name, n) for name in names for n in VISITORS]
        with ThreadPoolExecutor() as shells:
            outcomes = shells.map(
                lambda one: self.php(str(SITE / "site.php"), one[0], str(one[1])), each
            )
            wanted = dict(zip(each, outcomes, strict=True))
        results = {
            name: result for name, result in results.items() if self.is_loaded(result, loaded)
        }
        for mode in MODES:
            try:
                with self.server(mode, list(names)) as address:
                    for name, result in results.items():
                        self.mode(address, mode, name, result, wanted)
            except NotStartedError as error:
                for result in results.values():
                    result.modes[mode] = "refused"
                    result.note = str(error)
        return tried

    def is_loaded(self, result: Result, loaded: dict[str, str]) -> bool:
        """Whether PHP has the extension; otherwise there is nothing to try."""
        if result.name.lower() in loaded:
            return True
        result.modes = dict.fromkeys(MODES, "not loaded")
        result.note = self.php("-d", "display_errors=stdout", "-r", "").strip()[:500]
        return False

    def mode(
        self, address: str, mode: str, name: str, result: Result, wanted: dict[tuple[str, int], str]
    ) -> None:
        """Sends an exercise's requests to one kind of pool."""

        def ask(n: int) -> tuple[int, str]:
            try:
                url = f"http://{address}/{mode}.php?name={name}&n={n}"
                with urllib.request.urlopen(url, timeout=REQUEST_S) as response:
                    return n, response.read().decode(errors="replace")
            except urllib.error.HTTPError as error:
                return n, f"status {error.code}"
            except OSError as error:
                return n, f"no response: {error}"

        for number in range(ROUNDS[mode]):
            with ThreadPoolExecutor(len(VISITORS)) as visitors:
                for n, got in visitors.map(ask, VISITORS):
                    if got != wanted[name, n] and mode not in result.modes:
                        result.modes[mode] = "wrong"
                        expected = wanted[name, n][:NOTE_MAX]
                        wrong = (
                            f"{mode}, round {number + 1}, n={n}: "
                            f"got {got[:NOTE_MAX]}, expected {expected}"
                        )
                        result.note = "; ".join(filter(None, [result.note, wrong]))
        failed = [
            wanted[name, n]
            for n in VISITORS
            if wanted[name, n].startswith(('{"failed"', "exit status"))
        ]
        if failed:
            result.modes[mode] = "not tried"
            result.note = f"on the command line: {failed[0][:300]}"
        result.modes.setdefault(mode, "works")

    @contextmanager
    def server(self, mode: str, names: Sequence[str]) -> Iterator[str]:
        """Runs a server with one kind of pool."""
        pool = POOLS[mode].format(file=SITE / f"{mode}.php", names=json.dumps(" ".join(names)))
        file = SITE / "Caddyfile"
        file.write_text(
            f"{{\nadmin off\nfrankenphp {{\n{pool}\n}}\n}}\n"
            f"http://:0 {{\nbind 127.0.0.1\nroot * {SITE}\nphp_server\n}}\n"
        )
        log = SITE / "log"
        with log.open("w") as output:
            server = subprocess.Popen(
                [self.howdah, "run", "--config", file],
                stderr=output,
                stdout=output,
                env=self.variables(),
            )
        try:
            yield self._address(server, log)
        finally:
            server.terminate()
            try:
                server.wait(30)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()

    @staticmethod
    def _address(server: subprocess.Popen[bytes], log: Path) -> str:
        """Returns the address in the log, when the server is ready."""
        until = time.monotonic() + START_S
        while time.monotonic() < until:
            ended = server.poll() is not None
            lines = [
                json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")
            ]
            if any(line.get("msg") == "ready" for line in lines):
                return str(
                    next(line["address"] for line in lines if line.get("msg") == "listening")
                )
            if ended:
                break
            time.sleep(0.05)
        said = " | ".join(log.read_text().splitlines()[-3:])[-800:]
        raise NotStartedError(said or f"no word from the server, exit status {server.poll()}")
