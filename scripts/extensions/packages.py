"""Extensions that the distribution packages for its PHP, and their installation."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass

# Packages for PHP that are not extensions, or that install a virtual machine or a web server.
NOT_TRIED = {
    "libow-php7": "bindings that scripts load from a file",
    "php-guestfs": "needs QEMU and a kernel to boot",
    "php-mapscript-ng": "brings a map server with it",
    "uwsgi-plugin-php": "a server, not an extension",
}
# Not extensions: SAPIs and headers.
SAPIS = ("cgi", "cli", "dev", "fpm", "phpdbg")
# Other requirements of the trials: dictionaries, drivers, services.
HELPERS = (
    "aspell-en",
    "gearman-job-server",
    "gnupg",
    "hunspell-en-us",
    "libsqliteodbc",
    "mmdb-bin",
    "openssh-server",
    "slapd",
    "snmpd",
)
# Services of packages must not start.
POLICY = "printf '#!/bin/sh\\nexit 101\\n' >/usr/sbin/policy-rc.d && chmod +x /usr/sbin/policy-rc.d"


@dataclass(frozen=True)
class Module:
    """An extension in a file: its package, and the line of php.ini that loads it."""

    name: str
    package: str
    line: str
    priority: int


@dataclass(frozen=True)
class Distribution:
    """The PHP of a root: its version, and the name of its binary interface."""

    name: str
    php: str
    api: str

    @property
    def branch(self) -> str:
        """The part of the version that packages are named after, as `8.2`."""
        return ".".join(self.php.split(".")[:2])


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs a command and waits for its exit."""
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
    return subprocess.run(arguments, check=False, capture_output=True, text=True, env=quiet)


def distribution() -> Distribution:
    """Reads the versions in the root."""
    asked = run(
        "sh",
        "-c",
        '. /etc/os-release; echo "$NAME $VERSION_ID"; php-config --version; php-config --phpapi',
    )
    lines = [*asked.stdout.split("\n"), "", "", ""]
    return Distribution(name=lines[0].replace(" GNU/Linux", ""), php=lines[1], api=lines[2])


def offered(php: Distribution) -> list[str]:
    """Returns all packages with extensions: PHP's own, and those for its binary interface."""
    own = run("apt-cache", "pkgnames", f"php{php.branch}-").stdout.split()
    asked = run("apt-cache", "showpkg", f"phpapi-{php.api}").stdout
    _, _, dependants = asked.partition("Reverse Depends:")
    dependants, _, _ = dependants.partition("Dependencies:")
    others = re.findall(r"^ +([^ ,]+),", dependants, re.MULTILINE)
    sapis = {f"php{php.branch}-{sapi}" for sapi in SAPIS}
    named = sorted({*own, *others} - sapis)
    # A virtual package, which others only provide, is not shown.
    shown = run("apt-cache", "show", "--no-all-versions", *named).stdout
    real = set(re.findall(r"^Package: (.+)$", shown, re.MULTILINE))
    return [name for name in named if name in real]


def install(packages: list[str], *, remove: bool) -> dict[str, str]:
    """Installs them; returns those that cannot be installed, with apt's reason.

    `remove`: installs them in place of those that they exclude.
    """
    run("sh", "-c", POLICY)
    run("dpkg", "--configure", "-a")
    run("apt-get", "update", "-qq")
    failed = _install(packages, () if remove else ("--no-remove",))
    run("apt-get", "clean")
    return failed


def _install(packages: list[str], more: tuple[str, ...]) -> dict[str, str]:
    """Installs a list at once, or its halves if that fails."""
    options = ("-y", "-qq", "--no-install-recommends", *more)
    unsafe = ("-o", "Dpkg::Options::=--force-unsafe-io")
    done = run("apt-get", "install", *options, *unsafe, *packages)
    if done.returncode == 0:
        return {}
    if len(packages) == 1:
        errors = [line for line in done.stderr.splitlines() if line.startswith("E:")]
        return {packages[0]: errors[-1].removeprefix("E: ") if errors else "apt-get failed"}
    half = len(packages) // 2
    return _install(packages[:half], more) | _install(packages[half:], more)


def modules(php: Distribution) -> list[Module]:
    """Returns the extensions in files that are installed in the root."""
    folder = f"/etc/php/{php.branch}/mods-available"
    texts = run("sh", "-c", f"cd {folder} && grep -H '' *.ini").stdout
    lines: dict[str, list[str]] = {}
    for line in texts.splitlines():
        name, _, text = line.partition(".ini:")
        lines.setdefault(name, []).append(text)
    found = []
    for name, content in sorted(lines.items()):
        settings = "\n".join(content)
        priority = re.search(r"priority=(\d+)", settings)
        loads = re.search(r"^(?:zend_)?extension=(\S+)", settings, re.MULTILINE)
        if loads is None:
            continue
        file = loads[1] if loads[1].endswith(".so") else f"{loads[1]}.so"
        owner = run("dpkg", "-S", f"/usr/lib/php/{php.api}/{file}").stdout
        package = owner.partition(":")[0]
        found.append(Module(name, package, loads[0], int(priority[1]) if priority else 20))
    return found
