"""Cases: served files, request targets, and valid responses."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tomllib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.harness.errors import BenchError
from bench.harness.peers import REPOSITORY, local_paths
from bench.harness.services import php_file

if TYPE_CHECKING:
    from bench.harness.http_check import Answer
    from bench.harness.peers import Peer
    from bench.harness.services import Facts, Services

CASES = Path(__file__).parent.parent / "cases"
CONTRACTS = Path(__file__).parent.parent / "contracts"
PROBE = Path(__file__).parent.parent / "probe.php"
# Also named in contracts/adapter.php.
PROBE_PATH = "/howdah-bench-probe.php"
PREPARE_SECONDS = 120
# Responses may differ in the length of a header field (a date, a counter), but not in their body.
SIZE_TOLERANCE = 0.02
# Returns the request handler. bench/contracts has a script around it for each kind of server.
HANDLER = "handler.php"
# For servers whose coroutines share globals, see contracts/swoole-coroutines.php.
COROUTINES = "coroutines.php"
# FrankenPHP's worker script in an application with Octane, with the name of `artisan
# octane:install`.
OCTANE_WORKER = "public/frankenphp-worker.php"


@dataclass(frozen=True)
class Check:
    """The response that every peer must send byte for byte before it is measured."""

    status: int
    content_type: str
    body_sha256: str

    def differences(self, answer: Answer) -> list[str]:
        """Returns how a response differs from it."""
        found = []
        if answer.status != self.status:
            found.append(f"status {answer.status} instead of {self.status}")
        # Servers disagree on the case of the charset and on the space before it. Both are ignored.
        if _media_type(answer.content_type) != _media_type(self.content_type):
            found.append(f"Content-Type {answer.content_type!r} instead of {self.content_type!r}")
        if hashlib.sha256(answer.body).hexdigest() != self.body_sha256:
            begin = answer.body[:120].decode(errors="replace")
            found.append(f"{len(answer.body)} bytes of another body, beginning {begin!r}")
        return found

    def slack(self, length: int) -> float:
        """Returns by how many bytes a response of that length may differ under load."""
        return length * SIZE_TOLERANCE


def _media_type(value: str) -> str:
    return value.replace(" ", "").lower()


@dataclass(frozen=True)
class Case:
    """A workload; `files` contains its files, `root` is the document root in them.

    `beside` names a case with the same application and response without the feature under test.
    Each server gets both in turn, so that they can be compared. Every hundredth request uses
    `slow_path`. Without `loop`, its handler alone is not meaningful. Without `coroutines`, its
    application handles one request at a time per process. `external` is a folder outside of the
    repository that is copied to `external_to`, and `copy` lists files of the repository to copy.
    `octane` marks an application with Laravel Octane, which starts servers itself.
    """

    name: str
    title: str
    about: str
    files: Path
    root: str
    path: str
    check: Check
    prepare: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    hint: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    method: str = "GET"
    body: str = ""
    slow_path: str = ""
    beside: Case | None = None
    gzip: bool = False
    static: bool = False
    loop: bool = True
    coroutines: bool = True
    external: str = ""
    external_to: str = "app"
    services: tuple[str, ...] = ()
    worker: str = ""
    octane: str = ""
    copy: dict[str, str] = field(default_factory=dict)

    @property
    def both(self) -> list[Case]:
        """Returns the case and the one to compare with."""
        return [self] if self.beside is None else [self, self.beside]

    def refusal(self, peer: Peer) -> str | None:
        """Returns why this case does not support that peer, or None."""
        if self.static and (peer.contract != "classic" or not peer.serves_files):
            return "serves no files, or those just as in another mode"
        if peer.coroutines and not self.coroutines:
            return "its application is for one request at a time in a process"
        if peer.contract == "classic":
            return None
        fit, otherwise = self._script_for(peer)
        return None if fit else otherwise

    def _script_for(self, peer: Peer) -> tuple[bool, str]:
        """Whether a script exists for a server that does not request a path, and its path."""
        if peer.contract == "none":
            return self.name in peer.cases, "it answers other cases"
        if peer.contract == "swoole-coroutines":
            found = (self.files / COROUTINES).is_file()
            return found, "the case is not written for coroutines that share globals"
        if peer.contract == "octane":
            return bool(self.octane), "the case is not an application with Laravel Octane"
        needs_client = not self.loop or self.method != "GET" or self.headers or self.slow_path
        if peer.contract == "loop" and needs_client:
            return False, "has no meaning without a client"
        # Servers do not run Octane's worker script directly: Octane starts them.
        own = peer.contract in {"frankenphp", "loop"} and bool(self.worker)
        own |= peer.contract == "loop" and bool(self.octane)
        found = own or (self.files / HANDLER).is_file()
        return found, "the case has no script for this kind of server"

    def missing(self) -> str | None:
        """Returns the unmet requirement of this case on this machine, or None."""
        for needed in self.needs:
            if not Path(needed).exists():
                return f"{needed} is missing; try: {self.hint}"
        if self.external and self._external() is None:
            return (
                f'name a folder of it in bench/peers.toml: {self.external} = "/path", or in '
                f"HOWDAH_{self.external.upper()}"
            )
        return None

    def _external(self) -> Path | None:
        named = os.environ.get(f"HOWDAH_{self.external.upper()}") or local_paths().get(
            self.external
        )
        if named is None or not Path(named).expanduser().is_dir():
            return None
        return Path(named).expanduser()

    def install(self, target: Path, services: Services) -> Site:
        """Copies the case to `target` and warms it up there.

        The repository itself is never changed, and every run starts with the same files.

        Raises:
            BenchError: something is missing, or the preparation failed.
        """
        missing = self.missing()
        if missing is not None:
            raise BenchError(f"case {self.name}: {missing}")
        shutil.copytree(self.files, target, ignore=shutil.ignore_patterns("case.toml", "var"))
        if self.files != CASES / self.name and (CASES / self.name).is_dir():
            shutil.copytree(
                CASES / self.name,
                target,
                ignore=shutil.ignore_patterns("case.toml"),
                dirs_exist_ok=True,
            )
        external = self._external() if self.external else None
        if external is not None:
            shutil.copytree(external, target / self.external_to, symlinks=True)
        for source, name in self.copy.items():
            shutil.copytree(REPOSITORY / source, target / name)
        shutil.copytree(CONTRACTS, target / "contracts")
        found: Facts = {}
        if self.services:
            found = services.provide(self.services, target)
            (target / "services.php").write_text(php_file(found))
        self._prepare(target)
        docroot = target / self.root
        shutil.copy(PROBE, docroot / PROBE_PATH.lstrip("/"))
        script = target / (self.worker or "contracts/frankenphp.php")
        if self.octane:
            script = target / self.octane / OCTANE_WORKER
        return Site(target, docroot, script, self, found)

    def _prepare(self, target: Path) -> None:
        if not self.prepare:
            return
        done = subprocess.run(
            self.prepare,
            cwd=target,
            capture_output=True,
            text=True,
            timeout=PREPARE_SECONDS,
            check=False,
        )
        if done.returncode != 0:
            raise BenchError(
                f"case {self.name}: `{' '.join(self.prepare)}` failed:\n{done.stdout}{done.stderr}"
            )


@dataclass(frozen=True)
class Site:
    """A case that is ready to be served from `folder`."""

    folder: Path
    docroot: Path
    worker_script: Path
    case: Case
    facts: Facts

    def body(self) -> bytes:
        """Returns the request body."""
        return (self.folder / self.case.body).read_bytes() if self.case.body else b""

    def values(self) -> dict[str, str]:
        """Returns the values for configuration files of peers."""
        return {
            "docroot": str(self.docroot),
            "worker_script": str(self.worker_script),
            "contracts": str(self.folder / "contracts"),
            "application": str(self.folder / self.case.octane),
            "url_path": self.case.path.partition("?")[0],
            "gzip": "on" if self.case.gzip else "off",
        }


def parse_case(name: str, folder: Path, table: dict[str, Any]) -> Case:
    """Creates a case from a parsed case.toml.

    Raises:
        BenchError: a key is missing or unknown.
    """
    switches = {"gzip", "static", "loop", "coroutines"}
    plain = {"method", "body", "slow_path", "external", "external_to", "copy", "headers"} | switches
    known = {"title", "about", "files", "root", "path", "check", "prepare", "services", "worker"}
    unknown = set(table) - known - plain - {"beside"}
    if unknown:
        raise BenchError(f"case {name}: unknown key {', '.join(sorted(unknown))} in case.toml")
    prepare = table.get("prepare", {})
    try:
        case = Case(
            name=name,
            title=table["title"],
            about=table["about"],
            files=folder.parent / table["files"] if "files" in table else folder,
            root=table["root"],
            path=table["path"],
            check=Check(**table["check"]),
            prepare=tuple(prepare.get("command", ())),
            needs=tuple(prepare.get("needs", ())),
            hint=prepare.get("hint", ""),
            services=tuple(table.get("services", ())),
            worker=table.get("worker", {}).get("frankenphp", ""),
            octane=table.get("worker", {}).get("octane", ""),
            **{key: table[key] for key in plain & set(table)},
        )
        beside = table.get("beside")
        if beside is None:
            return case
        other = replace(case, **beside)
    except (KeyError, TypeError) as error:
        raise BenchError(f"case {name}: case.toml is not complete: {error}") from error
    # Servers are configured with one path for their workers.
    if other.name == name or other.path.partition("?")[0] != case.path.partition("?")[0]:
        raise BenchError(f"case {name}: beside needs a name and a query of its own, no more")
    return replace(case, beside=other)


def load_cases(folder: Path = CASES) -> dict[str, Case]:
    """Loads all cases by name, in alphabetical order."""
    cases = {}
    for path in sorted(folder.glob("*/case.toml")):
        name = path.parent.name
        cases[name] = parse_case(name, path.parent, tomllib.loads(path.read_text()))
    return cases
