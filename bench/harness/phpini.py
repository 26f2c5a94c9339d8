"""The php.ini values of every peer, and the place of the distribution's ini files."""

from __future__ import annotations

import functools
import subprocess
from pathlib import Path

from bench.harness.errors import BenchError

FILE = Path(__file__).parent.parent / "php.ini"


def parse_ini(text: str, where: str) -> dict[str, str]:
    """Parses `key = value` lines; `;` starts a comment line."""
    values = {}
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if not stripped or stripped.startswith(";"):
            continue
        key, equals, value = stripped.partition("=")
        if not equals or not key.strip():
            raise BenchError(f"{where}:{number}: not `key = value`: {stripped}")
        values[key.strip()] = value.strip()
    return values


def shared_ini(overrides: list[str]) -> dict[str, str]:
    """Returns the values of bench/php.ini, overridden by the command line's `KEY=VALUE`."""
    values = parse_ini(FILE.read_text(), str(FILE))
    for override in overrides:
        values |= parse_ini(override, "--php-ini")
    return values


def render_ini(values: dict[str, str]) -> str:
    """Returns the text of an ini file."""
    return "".join(f"{key} = {value}\n" for key, value in values.items())


def distribution_conf_d() -> str:
    """Returns the folder with the ini files that load the distribution's extensions."""
    try:
        return conf_d(("php", "-r", "echo PHP_CONFIG_FILE_SCAN_DIR;"))
    except BenchError as error:
        raise BenchError("php does not run; try: apt-get install php-cli") from error


@functools.cache
def conf_d(command: tuple[str, ...]) -> str:
    """Returns the folder with a PHP's extension ini files, as the command prints it.

    Raises:
        BenchError: the command fails, or prints something else.
    """
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)
    except (OSError, subprocess.SubprocessError) as error:
        raise BenchError(f"{' '.join(command)}: does not run: {error}") from error
    folder = done.stdout.strip()
    if not Path(folder).is_dir():
        raise BenchError(f"{' '.join(command)}: printed no folder: {folder[:200]!r}")
    return folder


def same_value(wanted: str, found: object) -> bool:
    """Whether ini_get() returns the expected value; PHP has several forms of booleans."""
    off = {"", "0", "off", "no", "false", "none", "disable"}
    on = {"1", "on", "yes", "true"}
    left, right = wanted.strip().lower(), str(found).strip().lower()
    return left == right or (left in off and right in off) or (left in on and right in on)
