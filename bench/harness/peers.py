"""Peers: configuration and start of each server, from bench/peers/NAME/peer.toml."""

from __future__ import annotations

import shutil
import subprocess
import tomllib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bench.harness.errors import BenchError
from bench.harness.template import fill

PEERS = Path(__file__).parent.parent / "peers"
REPOSITORY = Path(__file__).parent.parent.parent
# Paths of programs that are not on PATH; see peers.toml in bench/README.md.
LOCAL = Path(__file__).parent.parent / "peers.toml"
CONTRACTS = (
    "classic",
    "frankenphp",
    "roadrunner",
    "swoole",
    "swoole-coroutines",
    "octane",
    "loop",
    "none",
)
# References of PHP servers: PHP without a server, and a server without PHP.
REFERENCES = ("loop", "none")
SHARES = ("all", "few", "no")


@dataclass(frozen=True)
class Binary:
    """A program of a peer: the first existing one of `names` is used.

    `version` are the arguments that print its version. An extension cannot print it itself: then
    `version_by` is the path or name of the program that gets them, with `{{path}}` replaced. If
    `version_has` is set, the output must contain it. With `folder_has` it is a folder that contains
    that file.
    """

    names: tuple[str, ...]
    version: tuple[str, ...]
    hint: str
    version_by: str = ""
    version_has: str = ""
    folder_has: str = ""

    def find(self) -> str | None:
        """Returns the path, None if it is missing; a relative path is below the repository."""
        for name in self.names:
            # A relative path is below the repository, and `~` is the home of the current user.
            if "/" in name:
                path = REPOSITORY / Path(name).expanduser()
                if (path / self.folder_has if self.folder_has else path).is_file():
                    return str(path)
            else:
                found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")
                if found:
                    return found
        return None

    def missing(self) -> str | None:
        """Returns what to do if it is missing or unsuitable; None if it is suitable."""
        if self.find() is None:
            return f"{' or '.join(self.names)} not found; try: {self.hint}"
        if self.version_has and self.version_has not in self.version_text():
            return f"{self.find()} is not built {self.version_has}; try: {self.hint}"
        return None

    def version_text(self) -> str:
        """Returns the program's version output; some programs print it on stderr."""
        path = self.find()
        if path is None:
            return "not installed"
        if not self.version:
            return Path(path).name
        arguments = [fill(argument, {"path": path}, "version") for argument in self.version]
        try:
            done = subprocess.run(
                [self.version_by or path, *arguments],
                capture_output=True,
                text=True,
                timeout=30,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"unknown: {error}"
        return (done.stdout + done.stderr).strip()


@dataclass(frozen=True)
class Command:
    """A process of a peer; `php_ini_option` is repeated for each php.ini value.

    `wait_for` is a Unix socket or a loopback port that must accept before the next one starts,
    `wait_for_log` a text that its log must contain.
    """

    name: str
    argv: tuple[str, ...]
    php_ini_option: tuple[str, ...] = ()
    wait_for: str = ""
    wait_for_log: str = ""
    env: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Peer:
    """A server, or a variant of a server.

    `contract` is the way in which it calls the application. A case without that contract is not
    measured with this peer. With `none` it calls no application, and `cases` are those that it
    supports. `share` is its share of a run without `--peer`. `workers` is its number of PHP
    processes if a run compares several, otherwise 0; `base` is then its name without the number.
    `settle` is a command for the started server, after its first response, that brings it into the
    state to be measured. `php_conf_d` is the command that prints the folder of its PHP's extension
    ini files; without it, the PHP is the distribution's. With `coroutines`, a process runs several
    requests at a time. `before` is the peer of which it is an earlier build.
    """

    name: str
    title: str
    about: str
    folder: Path
    binaries: dict[str, Binary]
    commands: tuple[Command, ...]
    templates: tuple[str, ...]
    php_process: str
    php_conf_d: tuple[str, ...] = ()
    settle: tuple[str, ...] = ()
    variables: dict[str, str] = field(default_factory=dict)
    contract: str = "classic"
    share: str = "no"
    ours: bool = False
    closes_connections: bool = False
    serves_files: bool = True
    coroutines: bool = False
    cases: tuple[str, ...] = ()
    workers: int = 0
    base: str = ""
    before: str = ""

    @property
    def is_reference(self) -> bool:
        """Whether it is only a reference for others and not a competitor."""
        return self.contract in REFERENCES

    def missing(self) -> list[str]:
        """Returns what to do for each missing program."""
        found = [binary.missing() for binary in self.binaries.values()]
        return [reason for reason in found if reason is not None]


def _take(table: dict[str, Any], known: set[str], where: str) -> None:
    unknown = set(table) - known
    if unknown:
        raise BenchError(f"{where}: unknown key {', '.join(sorted(unknown))}")


def local_paths(path: Path = LOCAL) -> dict[str, str]:
    """Reads paths of programs and applications on this machine from bench/peers.toml.

    Raises:
        BenchError: the file is not valid TOML, or a value is not a string.
    """
    if not path.is_file():
        return {}
    try:
        table = tomllib.loads(path.read_text())
    except tomllib.TOMLDecodeError as error:
        raise BenchError(f"{path.name}: {error}") from error
    for key, value in table.items():
        if not isinstance(value, str):
            raise BenchError(f"{path.name}: {key} has to be a path in quotes")
    return table


def _binaries(table: dict[str, Any], local: dict[str, str]) -> dict[str, Binary]:
    """Returns the programs of a peer.toml; a `version_by` with the name of one becomes its path."""
    binaries = {
        name: Binary(
            (local[name],) if name in local else tuple(value["names"]),
            tuple(value["version"]),
            value["hint"],
            value.get("version_by", ""),
            value.get("version_has", ""),
            value.get("folder_has", ""),
        )
        for name, value in table.items()
    }
    return {
        name: replace(binary, version_by=binaries[binary.version_by].find() or binary.version_by)
        if binary.version_by in binaries
        else binary
        for name, binary in binaries.items()
    }


def _word(variant: dict[str, Any], key: str, known: tuple[str, ...], where: str) -> str:
    word = variant.get(key, known[0] if key == "contract" else "no")
    if word not in known:
        raise BenchError(f"{where}: {key} is {word!r}; use {', '.join(known)}")
    return str(word)


PEER_KEYS = {
    "binary",
    "closes_connections",
    "ours",
    "php_conf_d",
    "php_process",
    "process",
    "serves_files",
    "settle",
    "templates",
    "variables",
    "variant",
}
PROCESS_KEYS = {"name", "command", "env", "php_ini_option", "wait_for", "wait_for_log"}
VARIANT_KEYS = {
    "about",
    "cases",
    "contract",
    "coroutines",
    "name",
    "serves_files",
    "share",
    "title",
    "variables",
}


def _command(process: dict[str, Any], where: str) -> Command:
    """Returns the command of a `[[process]]`."""
    _take(process, PROCESS_KEYS, where)
    return Command(
        name=process["name"],
        argv=tuple(process["command"]),
        php_ini_option=tuple(process.get("php_ini_option", ())),
        wait_for=process.get("wait_for", ""),
        wait_for_log=process.get("wait_for_log", ""),
        env=dict(process.get("env", {})),
    )


def _variant(common: Peer, variant: dict[str, Any], where: str) -> Peer:
    """Returns the peer of a `[[variant]]`: `common` with the variant's own values."""
    _take(variant, VARIANT_KEYS, where)
    return replace(
        common,
        name=variant["name"],
        title=variant["title"],
        about=variant["about"],
        variables={**common.variables, **variant.get("variables", {})},
        contract=_word(variant, "contract", CONTRACTS, where),
        share=_word(variant, "share", SHARES, where),
        coroutines=bool(variant.get("coroutines", False)),
        serves_files=bool(variant.get("serves_files", common.serves_files)),
        cases=tuple(variant.get("cases", ())),
    )


def parse_peers(
    folder: Path, table: dict[str, Any], local: dict[str, str] | None = None
) -> list[Peer]:
    """Creates peers from a parsed peer.toml: one for each `[[variant]]`.

    Raises:
        BenchError: a key is missing or unknown.
    """
    where = f"{folder.name}/peer.toml"
    _take(table, PEER_KEYS, where)
    try:
        common = Peer(
            name="",
            title="",
            about="",
            folder=folder,
            binaries=_binaries(table["binary"], local or {}),
            commands=tuple(_command(process, where) for process in table["process"]),
            templates=tuple(table.get("templates", ())),
            php_process=table["php_process"],
            php_conf_d=tuple(table.get("php_conf_d", ())),
            settle=tuple(table.get("settle", ())),
            variables=table.get("variables", {}),
            ours=bool(table.get("ours", False)),
            closes_connections=bool(table.get("closes_connections", False)),
            serves_files=bool(table.get("serves_files", True)),
        )
        return [_variant(common, variant, where) for variant in table["variant"]]
    except KeyError as error:
        raise BenchError(f"{where}: {error} is missing") from error


def with_workers(peers: list[Peer], counts: list[int]) -> list[Peer]:
    """Returns each server once per number of PHP processes; with one number they are unchanged."""
    if len(counts) == 1:
        return peers
    servers = [
        replace(
            peer,
            name=f"{peer.name}-w{count}",
            title=f"{peer.title}, {count} processes",
            workers=count,
            base=peer.name,
        )
        for count in counts
        for peer in peers
        if not peer.is_reference
    ]
    return [*servers, *(peer for peer in peers if peer.is_reference)]


def load_peers(folder: Path = PEERS) -> dict[str, Peer]:
    """Loads all peers and variants by name."""
    peers: dict[str, Peer] = {}
    local = local_paths()
    for path in sorted(folder.glob("*/peer.toml")):
        for peer in parse_peers(path.parent, tomllib.loads(path.read_text()), local):
            if peer.name in peers:
                raise BenchError(f"two peers are called {peer.name}")
            peers[peer.name] = peer
    return peers


def absent_peers(folder: Path = PEERS) -> dict[str, dict[str, str]]:
    """Returns title and reason of every peer that cannot be measured here, by name."""
    table = tomllib.loads((folder / "absent.toml").read_text())
    absent = {
        name: {"title": value["title"], "reason": value["reason"]} for name, value in table.items()
    }
    for peer in load_peers(folder).values():
        missing = peer.missing()
        if missing:
            absent[peer.name] = {"title": peer.title, "reason": "; ".join(missing)}
    return absent
