#!/usr/bin/env python3
"""Follows the tutorials of docs/tutorials as a reader would: every file, every command, every output.

    tests/tutorials/run.py                     all of them, with target/debug/howdah
    tests/tutorials/run.py laravel symfony     some of them
    tests/tutorials/run.py --howdah FILE       with another server

Each runs in a fresh folder and in a network of its own, so that its ports are free. README.md has the rules by which a
page is read. Prints "N passed, N failed, N skipped". Exit status: 0 all passed, 1 some failed, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PAGES = ROOT / "docs/tutorials"
sys.path[:0] = [str(HERE), str(ROOT / "tests/apps")]

from harness.processes import StartError  # noqa: E402
from page import ANY, Command, File, Log, Need, PageError, Step, shows, steps  # noqa: E402
from preparations import PREPARATIONS, Absent, Place  # noqa: E402
from terminal import Server, Shell, TerminalError  # noqa: E402

SKIPPED = 3
# A line of the server's log that the page must show.
COMPLAINT = re.compile(r"^[\d:.]+ +(?:warn|error) .*$", re.MULTILINE)


def main() -> int:
    """Follows the pages that the command line names; returns the exit status."""
    arguments = _arguments()
    pages = {page.stem: page for page in sorted(PAGES.glob("*.md")) if page.stem != "README"}
    unknown = [name for name in arguments.pages if name not in pages]
    howdah = Path(arguments.howdah).resolve()
    if unknown or not howdah.is_file():
        message = (
            f"unknown page {unknown[0]}; known: {', '.join(pages)}" if unknown else f"{howdah} is missing: make debug"
        )
        print(message, file=sys.stderr)
        return 2
    if arguments.inside:
        return _inside(pages[arguments.pages[0]], howdah)
    chosen = arguments.pages or list(pages)
    namespaces = _namespaces()
    if not namespaces:
        print(f"tutorials: unshare(1) is not permitted here\n0 passed, 0 failed, {len(chosen)} skipped")
        return 0
    passed = failed = skipped = 0
    for name in chosen:
        began = time.monotonic()
        done = subprocess.run(
            [*namespaces, sys.executable, __file__, "--inside", "--howdah", str(howdah), name],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        )  # fmt: skip
        took = f"{time.monotonic() - began:.1f} s"
        passed, failed, skipped = (
            passed + (done.returncode == 0), failed + (done.returncode not in (0, SKIPPED)),
            skipped + (done.returncode == SKIPPED),
        )  # fmt: skip
        word = {0: "ok     ", SKIPPED: "skipped"}.get(done.returncode, "FAILED ")
        print(f"{word} {name} ({took})\n{done.stdout}".rstrip(), flush=True)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


def _namespaces() -> list[str]:
    """Returns a command for a separate network and an empty /srv; empty if that is not permitted."""
    command = [
        "unshare", "--net", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"]),
        "sh", "-c", 'mount -t tmpfs tmpfs /srv && exec "$@"', "sh",
    ]  # fmt: skip
    permitted = subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0
    return command if permitted else []


def _loopback() -> None:
    """Enables the loopback interface of a new network."""
    up, get, put = 1, 0x8913, 0x8914
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        request = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(handle, get, request))[1]
        if not flags & up:
            fcntl.ioctl(handle, put, struct.pack("16sh14x", b"lo", flags | up))


def _inside(page: Path, howdah: Path) -> int:
    """Follows one page in an empty home; prints problems."""
    _loopback()
    # Short, because the path of a Unix socket is limited to 107 bytes.
    scratch = Path(tempfile.mkdtemp(prefix="howdah-tutorial-"))
    home = scratch / "home"
    home.mkdir()
    environment = {
        **{name: value for name, value in os.environ.items() if name in ("LANG", "TMPDIR")},
        "PATH": f"{howdah.parent}:{os.environ['PATH']}",
        "HOME": str(home),
        # Only the user that runs the test can access the application's folder.
        "HOWDAH_USER": "root",
    }
    place = Place(home, scratch, environment)
    reader = Reader(page, Shell(home, scratch, environment), place)
    try:
        reader.follow()
    except Absent as absent:
        print(f"        from line {reader.line} on: {absent}")
        return SKIPPED
    except (TerminalError, PageError, StartError) as error:
        print(f"  {page.relative_to(ROOT)}:{reader.line}: {error}")
        if reader.server is not None:
            print(f"--- the server's terminal\n{reader.server.printed()}")
        return 1
    finally:
        reader.close()
        place.close()
        shutil.rmtree(scratch, ignore_errors=True)
    return 0


class Reader:
    """A reader who follows a page."""

    def __init__(self, page: Path, shell: Shell, place: Place) -> None:
        self.line = 0
        self.server: Server | None = None
        self._page = page
        self._shell = shell
        self._place = place
        self._steps = steps(page)

    def follow(self) -> None:
        """Follows all steps, and stops the last server."""
        for step in self._steps:
            self.line = step.line
            self._do(step)
        self._stop()

    def close(self) -> None:
        """Stops a server that remains after a failure."""
        if self.server is not None:
            with contextlib.suppress(TerminalError):
                self.server.stop()

    def _do(self, step: Step) -> None:
        match step:
            case Need():
                for name in step.names:
                    PREPARATIONS[name](self._place)
            case File():
                file = self._shell.folder / step.name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(step.text)
            case Log():
                if self.server is None:
                    raise PageError("no server runs here")
                self.server.wait_for(step.output)
            case Command() if step.serves:
                self._stop()
                self.server = Server(step.text, self._shell.folder, self._shell.environment)
                self.server.wait()
                if step.output:
                    self.server.wait_for(step.output)
            case Command():
                printed = self._shell.run(step.text)
                if step.output and not shows(step.output, printed):
                    expected = "\n".join(step.output)
                    raise TerminalError(f"$ {step.text}\n--- the page shows\n{expected}\n--- it printed\n{printed}")

    def _stop(self) -> None:
        """Stops the server. Its log must not have problems that the page does not show."""
        if self.server is None:
            return
        self.server.stop()
        printed, self.server = self.server.printed(), None
        shown = [line for step in self._steps if isinstance(step, Log | Command) for line in step.output]
        for complaint in COMPLAINT.findall(printed):
            if not any(shows([line], complaint) for line in shown if line.strip() != ANY):
                raise TerminalError(f"the server logged what the page does not show: {complaint.strip()}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Follows the tutorials of docs/tutorials.")
    parser.add_argument("pages", nargs="*", metavar="PAGE", help="default: all")
    parser.add_argument("--howdah", metavar="FILE", default=ROOT / "target/debug/howdah", help="default: that of debug")
    # One page, in the network that was created for it.
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
