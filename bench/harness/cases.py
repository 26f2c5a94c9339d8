"""Cases: what is served, where it is asked for, and what a right answer looks like."""

from __future__ import annotations

import shutil
import subprocess
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.harness.errors import BenchError

CASES = Path(__file__).parent.parent / "cases"
PROBE = Path(__file__).parent.parent / "probe.php"
PROBE_PATH = "/howdah-bench-probe.php"
PREPARE_SECONDS = 120


@dataclass(frozen=True)
class Check:
    """What every peer has to answer, byte for byte, before its time counts."""

    status: int
    content_type: str
    body_sha256: str


@dataclass(frozen=True)
class Case:
    """One workload; `root` is the document root inside `folder`."""

    name: str
    title: str
    about: str
    folder: Path
    root: str
    path: str
    check: Check
    prepare: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    hint: str = ""
    headers: dict[str, str] = field(default_factory=dict)

    def install(self, target: Path) -> Path:
        """Copies the case to `target`, warms it up there, and returns its document root.

        The repository itself is never written to, and every run starts from the same files.
        """
        for needed in self.needs:
            if not Path(needed).exists():
                raise BenchError(f"case {self.name}: {needed} is missing; try: {self.hint}")
        shutil.copytree(self.folder, target, ignore=shutil.ignore_patterns("case.toml", "var"))
        if self.prepare:
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
                    f"case {self.name}: `{' '.join(self.prepare)}` failed:\n"
                    f"{done.stdout}{done.stderr}"
                )
        docroot = target / self.root
        shutil.copy(PROBE, docroot / PROBE_PATH.lstrip("/"))
        return docroot


def parse_case(name: str, folder: Path, table: dict[str, Any]) -> Case:
    """Makes a case of a parsed case.toml.

    Raises:
        BenchError: a key is missing or unknown.
    """
    known = {"title", "about", "root", "path", "check", "prepare", "headers"}
    unknown = set(table) - known
    if unknown:
        raise BenchError(f"case {name}: unknown key {', '.join(sorted(unknown))} in case.toml")
    prepare = table.get("prepare", {})
    try:
        return Case(
            name=name,
            title=table["title"],
            about=table["about"],
            folder=folder,
            root=table["root"],
            path=table["path"],
            check=Check(**table["check"]),
            prepare=tuple(prepare.get("command", ())),
            needs=tuple(prepare.get("needs", ())),
            hint=prepare.get("hint", ""),
            headers=dict(table.get("headers", {})),
        )
    except (KeyError, TypeError) as error:
        raise BenchError(f"case {name}: case.toml is not complete: {error}") from error


def load_cases(folder: Path = CASES) -> dict[str, Case]:
    """All cases, by name, in alphabetical order."""
    cases = {}
    for path in sorted(folder.glob("*/case.toml")):
        name = path.parent.name
        cases[name] = parse_case(name, path.parent, tomllib.loads(path.read_text()))
    return cases
