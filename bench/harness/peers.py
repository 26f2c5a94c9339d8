"""Peers: how each server is configured and started, read from bench/peers/NAME/peer.toml."""

from __future__ import annotations

import shutil
import subprocess
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.harness.errors import BenchError

PEERS = Path(__file__).parent.parent / "peers"
REPOSITORY = Path(__file__).parent.parent.parent


@dataclass(frozen=True)
class Binary:
    """A program of a peer: the first of `names` that exists is used."""

    names: tuple[str, ...]
    version: tuple[str, ...]
    hint: str

    def find(self) -> str | None:
        """The path, None when it is not there; a relative path is below the repository."""
        for name in self.names:
            if "/" in name:
                path = REPOSITORY / name
                if path.is_file():
                    return str(path)
            else:
                found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")
                if found:
                    return found
        return None

    def version_text(self) -> str:
        """What the program says about its version; some say it on stderr."""
        path = self.find()
        if path is None:
            return "not installed"
        try:
            done = subprocess.run(
                [path, *self.version], capture_output=True, text=True, timeout=30, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"unknown: {error}"
        return (done.stdout + done.stderr).strip()


@dataclass(frozen=True)
class Command:
    """A process of a peer; `php_ini_option` is repeated for each php.ini value."""

    name: str
    argv: tuple[str, ...]
    php_ini_option: tuple[str, ...] = ()
    wait_for: str = ""


@dataclass(frozen=True)
class Peer:
    """A server, or a server in one of its variants."""

    name: str
    title: str
    about: str
    folder: Path
    binaries: dict[str, Binary]
    commands: tuple[Command, ...]
    templates: tuple[str, ...]
    php_process: str
    variables: dict[str, str] = field(default_factory=dict)

    def missing(self) -> list[str]:
        """What to do for each program that is not there."""
        return [
            f"{' or '.join(binary.names)} not found; try: {binary.hint}"
            for binary in self.binaries.values()
            if binary.find() is None
        ]


def _take(table: dict[str, Any], known: set[str], where: str) -> None:
    unknown = set(table) - known
    if unknown:
        raise BenchError(f"{where}: unknown key {', '.join(sorted(unknown))}")


def parse_peers(folder: Path, table: dict[str, Any]) -> list[Peer]:
    """Makes peers of a parsed peer.toml: one for each `[[variant]]`.

    Raises:
        BenchError: a key is missing or unknown.
    """
    where = f"{folder.name}/peer.toml"
    _take(table, {"binary", "templates", "php_process", "process", "variables", "variant"}, where)
    peers = []
    try:
        binaries = {
            name: Binary(tuple(value["names"]), tuple(value["version"]), value["hint"])
            for name, value in table["binary"].items()
        }
        commands = []
        for process in table["process"]:
            _take(process, {"name", "command", "php_ini_option", "wait_for"}, where)
            commands.append(
                Command(
                    name=process["name"],
                    argv=tuple(process["command"]),
                    php_ini_option=tuple(process.get("php_ini_option", ())),
                    wait_for=process.get("wait_for", ""),
                )
            )
        for variant in table["variant"]:
            _take(variant, {"name", "title", "about", "variables"}, where)
            peers.append(
                Peer(
                    name=variant["name"],
                    title=variant["title"],
                    about=variant["about"],
                    folder=folder,
                    binaries=binaries,
                    commands=tuple(commands),
                    templates=tuple(table.get("templates", ())),
                    php_process=table["php_process"],
                    variables={**table.get("variables", {}), **variant.get("variables", {})},
                )
            )
    except KeyError as error:
        raise BenchError(f"{where}: {error} is missing") from error
    return peers


def load_peers(folder: Path = PEERS) -> dict[str, Peer]:
    """All peers and variants by name."""
    peers: dict[str, Peer] = {}
    for path in sorted(folder.glob("*/peer.toml")):
        for peer in parse_peers(path.parent, tomllib.loads(path.read_text())):
            if peer.name in peers:
                raise BenchError(f"two peers are called {peer.name}")
            peers[peer.name] = peer
    return peers
