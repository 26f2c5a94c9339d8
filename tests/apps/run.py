#!/usr/bin/env python3
"""Walks through real applications at Howdah and at nginx with php-fpm, and compares what they answer.

    tests/apps/run.py                          all applications, with target/release/howdah
    tests/apps/run.py wordpress mediawiki      some of them
    tests/apps/run.py --mode worker            only in worker mode, those that have a worker script
    tests/apps/run.py --mode leaks             in worker mode with the leak detector, which must find nothing
    tests/apps/run.py --preload auto           classic mode with preloading: a walk before, then a reload
    tests/apps/run.py --server fpm             nginx with php-fpm against itself: tests the walks
    tests/apps/run.py --server-cmd 'SERVER --root {docroot} --listen 127.0.0.1:{port}'

Prints "N passed, N failed". Exit status: 0 all passed, 1 some failed, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from harness.apps import App, Snapshot, load  # noqa: E402
from harness.client import Answer, Browser, WalkError  # noqa: E402
from harness.compare import differences  # noqa: E402
from harness.mariadb import MariaDb  # noqa: E402
from harness.processes import StartError, free_port  # noqa: E402
from harness.servers import Command, Fpm, HowdahLeaks, HowdahPreload, HowdahWorker, Server, howdah  # noqa: E402

Subject = Callable[[App], Server]


def main() -> int:
    """Runs the walks that the command line names; returns the exit status."""
    apps = load(HERE)
    arguments = _arguments(list(apps))
    subjects = _subjects(arguments)
    unknown = [name for name in arguments.apps if name not in apps]
    if unknown or subjects is None:
        if unknown:
            print(f"unknown application {unknown[0]}; known: {', '.join(apps)}", file=sys.stderr)
        return 2
    chosen = [apps[name] for name in arguments.apps] if arguments.apps else list(apps.values())
    # Short, because the path of a Unix socket is limited to 107 bytes.
    root = Path(tempfile.mkdtemp(prefix="howdah-apps-"))
    database = MariaDb(root / "db")
    passed = failed = skipped = 0
    try:
        if any(app.database is not None for app in chosen):
            database.start()
        for app in chosen:
            began = time.monotonic()
            if absent := app.absent():
                skipped += 1
                print(f"skipped {app.name}: {', '.join(absent)} is not installed (scripts/setup.sh test)", flush=True)
                continue
            for mode, problem in _check(app, subjects, root, database):
                took = f"{time.monotonic() - began:.1f} s"
                if problem is None:
                    passed += 1
                    print(f"ok      {app.name}, {mode} ({took})", flush=True)
                else:
                    failed += 1
                    print(f"FAILED  {app.name}, {mode} ({took})\n{problem}\n", flush=True)
            missing = _missing(app)
            if missing is not None and arguments.mode != "classic":
                skipped += 1
                print(f"skipped {app.name}, worker: set {missing} (tests/apps/README.md)", flush=True)
    finally:
        database.stop()
        if failed and arguments.keep:
            print(f"the applications and logs are kept in {root}")
        else:
            shutil.rmtree(root, ignore_errors=True)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


def _check(
    app: App, subjects: Mapping[str, Subject], root: Path, database: MariaDb
) -> Iterator[tuple[str, str | None]]:
    """Walks at php-fpm and at each subject that can run the application; the text describes problems."""
    modes = [mode for mode in subjects if mode == "classic" or (app.worker is not None and _missing(app) is None)]
    if not modes:
        return
    place = root / app.name
    # The same port and folder for all, because applications write them into their pages.
    port = free_port()
    try:
        environment = app.setup(place, f"http://127.0.0.1:{port}", database)
        snapshot = Snapshot(app, place, database)
        expected = _walk(app, Fpm(), snapshot, place, port, root / f"{app.name}.fpm", environment)
    except (WalkError, StartError) as error:
        yield "php-fpm", str(error)
        return
    for mode in modes:
        try:
            snapshot.restore()
            got = _walk(app, subjects[mode](app), snapshot, place, port, root / f"{app.name}.{mode}", environment)
        except (WalkError, StartError) as error:
            yield mode, str(error)
            continue
        found = differences(expected, got, app.rules, app.allowed)
        text = "\n".join(f"  {d.step}: {d.what} differs\n{_indented(d.detail)}" for d in found)
        yield mode, text or None


def _missing(app: App) -> str | None:
    """Returns the missing environment variable that the application's worker mode needs."""
    return app.worker_needs if app.worker_needs is not None and not os.environ.get(app.worker_needs) else None


def _walk(
    app: App,
    server: Server,
    snapshot: Snapshot,
    place: Path,
    port: int,
    scratch: Path,
    environment: Mapping[str, str],
) -> list[Answer]:
    scratch.mkdir()
    browser = Browser(f"http://127.0.0.1:{port}")
    try:
        server.start(app.docroot(place), port, scratch, environment)
        for _ in range(server.rehearsals):
            app.walk(Browser(f"http://127.0.0.1:{port}"))
            snapshot.restore()
        server.learned()
        app.walk(browser)
    except (WalkError, AssertionError) as error:
        server.stop()
        raise WalkError(f"at {server.name}: {error}\n{_logs(scratch)}") from error
    finally:
        server.stop()
    if complaints := server.complaints(scratch):
        raise WalkError("\n".join([f"at {server.name}:", *complaints]))
    if len(browser.transcript) < 3:
        raise WalkError(f"the walk has only {len(browser.transcript)} steps")
    return browser.transcript


def _logs(scratch: Path) -> str:
    """Returns the last lines of every log of the server."""
    parts = []
    for file in sorted(scratch.glob("*.log")):
        lines = file.read_text("utf-8", "replace").splitlines()[-30:]
        if lines:
            parts.append("\n".join([f"--- {file.name}", *lines]))
    return "\n".join(parts)


def _subjects(arguments: argparse.Namespace) -> dict[str, Subject] | None:
    """Returns the servers to compare with php-fpm, by mode; None if there is none."""
    if arguments.server_cmd:
        template: str = arguments.server_cmd
        return {"classic": lambda _: Command(template, "subject")}
    if arguments.server == "fpm":
        return {"classic": lambda _: Fpm()}
    binary = Path(arguments.howdah).resolve()
    if not binary.is_file():
        print(f"{binary} is missing; run make build, or name another one with --howdah", file=sys.stderr)
        return None
    preload: str = arguments.preload
    subjects: dict[str, Subject] = {
        "classic": lambda _: howdah(binary) if preload == "off" else HowdahPreload(binary, preload),
        "worker": lambda app: HowdahWorker(binary, app.worker or "", app.worker_keep),
        "leaks": lambda app: HowdahLeaks(binary, app.worker or "", app.worker_keep, app.worker_allow),
    }
    return {mode: subject for mode, subject in subjects.items() if arguments.mode in (mode, "all")}


def _arguments(names: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Walks through real applications at two servers and compares them.")
    parser.add_argument("apps", nargs="*", metavar="APP", help=f"default: all ({', '.join(names)})")
    parser.add_argument("--server", choices=("howdah", "fpm"), default="howdah", help="default: howdah")
    parser.add_argument("--mode", choices=("all", "classic", "worker", "leaks"), default="all", help="default: all")
    parser.add_argument(
        "--preload", choices=("auto", "all", "off"), default="off", help="of classic mode; default: off"
    )
    parser.add_argument("--server-cmd", metavar="COMMAND", help="any server; {docroot} and {port} are filled in")
    parser.add_argument(
        "--howdah", metavar="FILE", default=HERE.parents[1] / "target/release/howdah",
        help="default: target/release/howdah",
    )  # fmt: skip
    parser.add_argument("--keep", action="store_true", help="keep applications and logs when something failed")
    return parser.parse_args()


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())


if __name__ == "__main__":
    sys.exit(main())
