#!/usr/bin/env python3
"""Circles of files that depend on each other, against the budget in scripts/circles.toml.

A folder can be read from the bottom up only if its files do not reach each other in circles. For each crate and for
the C of the PHP process this finds the largest circle, and the circle that spreads over most folders. A figure above
its budget fails. One below it prints the budget to lower: budgets only go down.

Rust: a file depends on those whose modules its paths name (`crate::`, `self::`, `super::`), tests left out. What a
path names through a re-export in lib.rs counts as the module behind it. C: a header and the source of the same name
are one unit, which depends on the units of the headers that it includes.
"""

from __future__ import annotations

import re
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUDGET = ROOT / "scripts" / "circles.toml"

Graph = dict[Path, set[Path]]

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
TEST_MODULE = re.compile(
    r"#\[cfg\((?:test|all\(test\b[^\]]*)\)\]\s*(?:#\[path[^\]]*\]\s*)?mod \w+\s*(?:\{.*|;)", re.DOTALL
)
RUST_USE = re.compile(r"^\s*(?P<visible>pub(?:\([^)]*\))?\s+)?use\s+(?P<tree>[\w:{}*,\s]+);", re.MULTILINE)
RUST_PATH = re.compile(r"\b(?:crate|self|super)(?:::\w+)+")
C_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


@dataclass(frozen=True)
class Figures:
    """The largest circle in files, and the most folders that one circle spreads over; 1 without circles."""

    largest: int
    folders: int


def is_test(path: Path) -> bool:
    """Whether a Rust file is built for tests alone."""
    return "tests" in path.parts or path.stem == "tests" or path.stem.endswith("_tests")


def use_paths(tree: str) -> list[str]:
    """Returns the paths of a `use`, with its braces expanded."""
    tree = tree.strip()
    if "{" not in tree:
        return [tree.split(" as ")[0].strip()] if tree else []
    prefix, rest = tree.split("{", 1)
    inner = rest[: rest.rindex("}")]
    parts, depth, start = [], 0, 0
    for index, char in enumerate(inner):
        depth += (char == "{") - (char == "}")
        if char == "," and depth == 0:
            parts.append(inner[start:index])
            start = index + 1
    parts.append(inner[start:])
    return [prefix + path for part in parts for path in use_paths(part)]


class Crate:
    """The modules of a crate."""

    def __init__(self, source: Path) -> None:
        self.files: dict[tuple[str, ...], Path] = {}
        self.texts: dict[Path, str] = {}
        for path in sorted(source.rglob("*.rs")):
            relative = path.relative_to(source)
            if is_test(relative):
                continue
            parts = relative.with_suffix("").parts
            module = parts[:-1] if parts[-1] in ("mod", "lib", "main") else parts
            if module or parts[-1] == "lib" or () not in self.files:
                self.files[module] = relative
            text = COMMENT.sub("", path.read_text(encoding="utf-8"))
            self.texts[relative] = TEST_MODULE.sub("", text)
        self.roots = {path for path in self.texts if len(path.parts) == 1 and path.stem in ("lib", "main")}
        self.exported = self._exports()

    def _exports(self) -> dict[str, tuple[str, ...]]:
        """Returns the names that lib.rs re-exports, with their modules."""
        names: dict[str, tuple[str, ...]] = {}
        for use in RUST_USE.finditer(self.texts.get(Path("lib.rs"), "")):
            if use["visible"]:
                for path in use_paths(use["tree"]):
                    segments = [part for part in path.split("::") if part not in ("crate", "self")]
                    names[segments[-1]] = tuple(segments)
        return names

    def absolute(self, module: tuple[str, ...], path: str) -> tuple[str, ...]:
        """Returns the path relative to the root."""
        segments = path.split("::")
        if segments[0] == "crate":
            base: tuple[str, ...] = ()
            segments = segments[1:]
        else:
            base = module
            while segments and segments[0] in ("self", "super"):
                base = base[:-1] if segments[0] == "super" else base
                segments = segments[1:]
        absolute = (*base, *(part for part in segments if part != "self"))
        if absolute and absolute[0] in self.exported and (absolute[0],) not in self.files:
            absolute = (*self.exported[absolute[0]], *absolute[1:])
        return absolute

    def target(self, path: tuple[str, ...]) -> Path | None:
        """Returns the file of the innermost module that a path names."""
        for length in range(len(path), -1, -1):
            if path[:length] in self.files:
                return self.files[path[:length]]
        return None

    def graph(self) -> Graph:
        """Returns the dependencies of each file. The roots are omitted: they name all files."""
        graph: Graph = {path: set() for path in self.texts if path not in self.roots}
        for module, path in self.files.items():
            if path in self.roots:
                continue
            text = self.texts[path]
            paths = [one for use in RUST_USE.finditer(text) for one in use_paths(use["tree"])]
            paths = [one for one in paths if one.split("::")[0] in ("crate", "self", "super")]
            paths += RUST_PATH.findall(RUST_USE.sub("", text))
            for one in paths:
                target = self.target(self.absolute(module, one))
                if target is not None and target != path and target in graph:
                    graph[path].add(target)
        return graph


def c_graph(source: Path) -> Graph:
    """Returns the units of a folder of C, and their dependencies."""
    files = sorted([*source.rglob("*.c"), *source.rglob("*.h")])
    units = {path.relative_to(source).with_suffix("") for path in files}
    graph: Graph = {unit: set() for unit in units}
    for path in files:
        unit = path.relative_to(source).with_suffix("")
        for name in C_INCLUDE.findall(path.read_text(encoding="utf-8")):
            for folder in (path.parent, source):
                header = (folder / name).resolve()
                if header.is_file() and header.is_relative_to(source):
                    other = header.relative_to(source).with_suffix("")
                    if other != unit:
                        graph[unit].add(other)
                    break
    return graph


def circles(graph: Graph) -> list[list[Path]]:
    """Returns the sets of files that reach each other, the largest first (Tarjan, without recursion)."""
    index: dict[Path, int] = {}
    low: dict[Path, int] = {}
    stack: list[Path] = []
    found: list[list[Path]] = []
    for start in sorted(graph):
        if start in index:
            continue
        index[start] = low[start] = len(index)
        stack.append(start)
        work = [(start, iter(sorted(graph[start])))]
        while work:
            node, targets = work[-1]
            following = next(targets, None)
            if following is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    cut = stack.index(node)
                    found.append(sorted(stack[cut:]))
                    del stack[cut:]
            elif following not in index:
                index[following] = low[following] = len(index)
                stack.append(following)
                work.append((following, iter(sorted(graph[following]))))
            elif following in stack:
                low[node] = min(low[node], index[following])
    return sorted((circle for circle in found if len(circle) > 1), key=len, reverse=True)


def folders(circle: list[Path]) -> int:
    """Returns the number of folders of a circle's files."""
    return len({path.parent for path in circle})


def check(name: str, graph: Graph, budget: dict[str, dict[str, int]]) -> list[str]:
    """Returns the problems of a crate's circles, or of the C. Prints budgets that can be lowered."""
    found = circles(graph)
    figures = Figures(
        largest=max(map(len, found), default=1),
        folders=max(map(folders, found), default=1),
    )
    row = budget.pop(name, None)
    if row is None:
        return [f"{name}: add `largest = {figures.largest}, folders = {figures.folders}` to {BUDGET.name}"]
    wrong = []
    for what, figure, allowed, members in (
        ("largest", figures.largest, row["largest"], max(found, key=len, default=[])),
        ("folders", figures.folders, row["folders"], max(found, key=folders, default=[])),
    ):
        if figure > allowed:
            files = " ".join(str(path) for path in members)
            wrong.append(f"{name}: {what} is {figure}, the budget {allowed}; cut an import among: {files}")
        elif figure < allowed:
            print(f"circles: {name}: lower `{what}` from {allowed} to {figure} in {BUDGET.name}")
    return wrong


def main() -> int:
    budget: dict[str, dict[str, int]] = tomllib.loads(BUDGET.read_text(encoding="utf-8"))
    wrong = []
    for source in sorted((ROOT / "crates").glob("*/src")):
        wrong += check(source.parent.name, Crate(source).graph(), budget)
    wrong += check("worker", c_graph(ROOT / "worker" / "src"), budget)
    wrong += [f"{name}: remove it from {BUDGET.name}, it does not exist" for name in budget]
    for line in wrong:
        print(f"circles: {line}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
