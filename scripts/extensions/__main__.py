"""Tries all extensions that the distribution packages: `python3 -m scripts.extensions`, as root.

Everything is installed in a separate root (`root.py`) and runs there with only a loopback.
Options:

  --howdah PATH     the server; the default is target/release/howdah
  --only PACKAGE    one package, or several; the page keeps the last results of all others
  --skip-install    uses the packages that the last run installed

Exit status 1 if an extension has no exercise, or is wrong without a known cause.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from . import packages
from .kinds import kinds
from .page import CAUSES, page, section
from .root import Root
from .services import services
from .trial import EXERCISES, Result, Trial

REPOSITORY = Path(__file__).resolve().parent.parent.parent
TOP = REPOSITORY / "target/extensions"
PAGE = REPOSITORY / "docs/reference/extensions.md"
# Names in the page and in PHP, where the file has a different one.
NAMES = {
    "libvirt-php": "libvirt",
    "opcache": "Zend OPcache",
    "php-remctl": "remctl",
    "tideways": "tideways_xhprof",
}
BUILTIN = "built in"


def main() -> int:
    """Runs outside the root, then inside it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--howdah", type=Path, default=REPOSITORY / "target/release/howdah")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--skip-install", action="store_true")
    parser.add_argument("--inside", choices=["install", "try"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    match options.inside:
        case "install":
            return install(options.only)
        case "try":
            return try_all(options)
    if os.geteuid() != 0:
        parser.error("root is needed to make and enter another root; run it with sudo")
    if options.only and not (TOP / "failed.json").exists():
        parser.error("no earlier run is in target/extensions: run it without --only first")
    root = Root(TOP, REPOSITORY)
    again = [sys.executable, "-u", "-m", "scripts.extensions", "--howdah", str(options.howdah)]

    def step(only: list[str]) -> int:
        words = [*again, *(f"--only={name}" for name in only), "--inside"]
        if not options.skip_install and (code := root.run([*words, "install"], online=True)):
            return code
        return root.run(["tests/databases.sh", *words, "try"], online=False)

    code = step(options.only)
    if not options.only and not options.skip_install:
        # Packages that exclude others follow these, one by one.
        for package in json.loads((TOP / "failed.json").read_text()):
            code |= step([package])
    write()
    return code


def install(only: list[str]) -> int:
    """Installs all packages, or some in place of those that they exclude."""
    php = packages.distribution()
    if only:
        packages.install(only, remove=True)
        return 0
    names = [name for name in packages.offered(php) if name not in packages.NOT_TRIED]
    failed = packages.install([*names, *packages.HELPERS], remove=False)
    (TOP / "failed.json").write_text(json.dumps(failed))
    return 0


def try_all(options: argparse.Namespace) -> int:
    """Tries each package, and stores the results."""
    php = packages.distribution()
    modules = packages.modules(php)
    exercises = json.loads(subprocess.check_output(["php", "-n", EXERCISES / "site.php", "--list"]))
    in_files = {module.name: module.package for module in modules}
    common = f"php{php.branch}-common"
    groups: dict[str, dict[str, str]] = {}
    without = [module.name for module in modules if module.name not in exercises]
    for name in exercises:
        built_in = (
            name not in in_files
            and subprocess.call(["php", "-n", "--ri", name], stdout=subprocess.DEVNULL) == 0
        )
        package = common if built_in else in_files.get(name)
        if package:
            groups.setdefault(package, {})[name] = NAMES.get(name, name)
    if options.only:
        groups = {package: groups.get(package, {}) for package in options.only}
    (TOP / "without.json").write_text(
        json.dumps({module.package: "no exercise" for module in modules if module.name in without})
    )
    wrong = bool(without)
    for name in without:
        print(f"{name}: no exercise")
    with services() as addresses:
        trial = Trial(options.howdah.resolve(), addresses, modules)
        trial.prepare()
        (TOP / "results").mkdir(exist_ok=True)
        for package, names in sorted(groups.items()):
            results = trial.package(package, names)
            for result in results:
                print(f"{result.name} {result.version}: {result.modes} {result.note}")
                known = (result.name, "wrong") in CAUSES
                wrong |= "wrong" in result.modes.values() and not known
            (TOP / "results" / f"{package}.json").write_text(
                json.dumps([asdict(result) for result in results])
            )
    (TOP / "distribution.json").write_text(json.dumps([asdict(php), exercises]))
    return int(wrong)


def write() -> None:
    """Writes the distribution's section of the page from the results."""
    distribution, exercises = json.loads((TOP / "distribution.json").read_text())
    results = []
    for file in sorted((TOP / "results").glob("*.json")):
        results += [Result(**each) for each in json.loads(file.read_text())]
    failed = json.loads((TOP / "failed.json").read_text())
    php = packages.Distribution(**distribution)
    tried = {result.package for result in results}
    # A package without a version in its name depends on the one with it.
    tried |= {name.replace(f"php{php.branch}-", "php-", 1) for name in tried}
    missing = packages.NOT_TRIED | {name: why for name, why in failed.items() if name not in tried}
    missing |= json.loads((TOP / "without.json").read_text())
    text = section(php, results, exercises, kinds(REPOSITORY), missing)
    PAGE.write_text(page(PAGE.read_text(), php.name, text))
    print(f"wrote {PAGE.relative_to(REPOSITORY)}: {len(results)} extensions")


if __name__ == "__main__":
    sys.exit(main())
