"""The parts of `make bench`, each a separate command, whose results form one report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.harness.results import MORE

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

# Long enough that a sample has 1,000 consecutive requests with any framework.
EXIT = (
    "--title=What exit costs",
    "--skip-missing",
    "--peer=howdah-worker,howdah-coroutines,nginx-fpm,frankenphp-worker-tuned",
    "--case=exit,codeigniter-exit",
    "--connections=8,100",
    "--duration=2",
    "--rounds=3",
    "--rate=0",
)
# More rounds than elsewhere: the differences are smaller than those between rounds.
BEFORE = (
    "--title=Before and after",
    "--skip-missing",
    "--peer=howdah-worker",
    "--case=hello,symfony,codeigniter",
    "--connections=8,100",
    "--duration=2",
    "--rounds=6",
    "--rate=0",
)
# The same server with and without observation of requests; also a small difference.
OBSERVE = (
    "--title=What observation costs",
    "--skip-missing",
    "--peer=howdah-worker,howdah-leaks,howdah-accounting,howdah-tracing,howdah-slow-log",
    "--case=hello,symfony,codeigniter",
    "--connections=16",
    "--duration=2",
    "--rounds=6",
    "--rate=0",
)
PROFILING = (
    "profiler",
    "--skip-missing",
    "--case=deep,symfony,codeigniter",
    "--rounds=6",
    "--duration=4",
)
MAIN = "main"
PARTS = {
    MAIN: ("run",),
    "exit": ("run", *EXIT),
    "before": ("run", *BEFORE),
    "observe": ("run", *OBSERVE),
    "profile": PROFILING,
    "replace": ("faults", "--fault=replace"),
}
# Folders of parts that are not runs, by their command.
FOLDERS = {"faults": "faults", "profiler": "profile"}


@dataclass(frozen=True)
class Part:
    """A part by its name, and the command line that measures it, without `--out`."""

    name: str
    argv: tuple[str, ...]

    def place(self, folder: Path) -> Path:
        """Returns its place: the folder itself if it is the first, otherwise below that."""
        if not (folder / "run.json").is_file():
            return folder
        if self.argv[0] in FOLDERS:
            return folder / FOLDERS[self.argv[0]]
        more = folder / MORE
        return more / f"{len(list(more.glob('*'))) + 1}-{self.name}"


def parts(arguments: argparse.Namespace) -> list[Part]:
    """Returns the selected parts in order; all by default, `before` only with another build."""
    wanted = arguments.part or [name for name in PARTS if name != "before" or arguments.against]
    found = []
    for name, argv in PARTS.items():
        if name in wanted:
            more = [f"--php-ini={value}" for value in arguments.php_ini]
            if name == "before" and arguments.against is not None:
                more.append(f"--against={arguments.against}")
            found.append(Part(name, (*argv, *more)))
    return found
