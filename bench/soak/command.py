"""`python3 -m bench soak`: requests of every kind in one process, with databases."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from bench.harness.errors import BenchError
from bench.harness.peers import REPOSITORY
from bench.harness.server import free_port
from bench.harness.services import Services, program
from bench.soak.cost import cost

if TYPE_CHECKING:
    import argparse

TABLE = "CREATE TABLE soak (id VARCHAR(60) NOT NULL)"
READABLE = 0o755
CERTIFICATE_SECONDS = 60
# PHP holds memory to the end, which is not a leak. ASan's fake stacks do not support coroutines.
# ASan sees the memory of PHP's heap only if PHP uses malloc(). Quarantined memory would count as
# growth.
SANITIZER = {
    "ASAN_OPTIONS": "detect_leaks=0:detect_stack_use_after_return=0:handle_segv=0"
    ":quarantine_size_mb=16",
    "USE_ZEND_ALLOC": "0",
}


def make_table(dsn: list[str]) -> None:
    """Creates a table for the transactions of the test.

    Raises:
        BenchError: PHP cannot create it.
    """
    code = f"(new PDO(...array_slice($argv, 1)))->exec('{TABLE}');"
    php = program("php", hint="apt-get install php-cli")
    done = subprocess.run(
        [php, "-r", code, "--", *dsn], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise BenchError(f"the table of the soak test: {done.stdout}{done.stderr}")


def https(services: Services, folder: Path) -> str:
    """Returns the address of a server that responds over TLS."""
    openssl = program("openssl", hint="apt-get install openssl")
    key, certificate = str(folder / "key.pem"), str(folder / "certificate.pem")
    make = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost"]
    subprocess.run(
        [*make, "-keyout", key, "-out", certificate],
        capture_output=True,
        check=True,
        timeout=CERTIFICATE_SECONDS,
    )
    port = str(free_port())
    services.start(
        "https",
        [openssl, "s_server", "-accept", port, "-key", key, "-cert", certificate, "-www"],
        [openssl, "s_client", "-connect", f"127.0.0.1:{port}"],
    )
    return f"https://127.0.0.1:{port}/"


def environment(services: Services, folder: Path) -> dict[str, str]:
    """Returns the addresses in the variables of tests/worker/coroutine/soak.php."""
    found: dict[str, str] = {}
    for name, variable in [("postgresql", "SOAK_PGSQL"), ("mariadb", "SOAK_MYSQL")]:
        pdo = services.provide([name], folder)["pdo"]
        make_table(list(pdo))
        found[variable] = pdo[0]
    found["SOAK_MYSQLI"] = found["SOAK_MYSQL"].split("unix_socket=")[1].split(";")[0]
    found["SOAK_REDIS"] = str(services.provide(["redis"], folder)["redis"])
    found["SOAK_MEMCACHED"] = str(services.provide(["memcached"], folder)["memcached"])
    found["SOAK_HTTPS"] = https(services, folder)
    return found


def soak(arguments: argparse.Namespace) -> int:
    """Runs the test, or measures the cost; returns the exit status."""
    with tempfile.TemporaryDirectory(prefix="howdah-soak-") as temporary:
        folder = Path(temporary)
        folder.chmod(READABLE)
        services = Services(folder / "services")
        try:
            if arguments.cost:
                return cost(services, folder)
            return run(arguments, services, folder)
        finally:
            services.stop()


def run(arguments: argparse.Namespace, services: Services, folder: Path) -> int:
    """Runs the test with all its services; returns the exit status."""
    found = environment(services, folder)
    command = ["cargo", "test", "--locked", "-p", "howdah-tests", "--test", "coroutine"]
    command += [f"soak::{arguments.only}", "--", "--nocapture", "--test-threads=1"]
    env = {**os.environ, **found, "HOWDAH_SOAK": str(arguments.requests)}
    if arguments.php:
        env = {**SANITIZER, **env, "HOWDAH_PHP": str(arguments.php.resolve())}
    return subprocess.run(command, cwd=REPOSITORY, env=env, check=False).returncode
