#!/usr/bin/env python3
"""Checks the Markdown of this repository: relative links, words of docs/STYLE.md, commands and options that do not
exist, and that the site has each page.

Published reports below bench/results are data, and so is docs/benchmarks.md, made from one.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATA = ("bench/results/", "docs/benchmarks.md")
# Each page below these must be a page of the site.
SITE = ("docs/", "examples/", "php/")
# Text that quotes another source, or that is generated from the code, keeps its words.
QUOTING = ("docs/STYLE.md", "docs/reference/", "CHANGELOG.md")

FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"!?\[[^\]]*\]\((?P<target>[^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} +(?P<text>.+?)\s*$", re.MULTILINE)
# `howdah NAME OPTIONS` at the start of a command, perhaps with variables before it, up to its end.
USE = re.compile(r"(?:^|[;&|(] *)(?:\w+=\S+ )*howdah (?P<name>[a-z][a-z-]*)(?P<rest>[^|;&#]*)")
OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")
TARGET = re.compile(r"(?:^|\s)make (?P<name>[a-z][a-z0-9-]*)$")
# Pages with instructions. Others may mention other programs or earlier versions.
FOLLOWED = ("README.md", "docs/guides/", "docs/tutorials/", "docs/README.md", "examples/", "php/")
# docs/STYLE.md has the replacements. Only words that are wrong everywhere are listed.
WORDS = {
    r"\banew\b": "again",
    r"\bwhom\b": "a noun of the field",
    r"\bis no (?:file|host|method|number|name|path|port|page|script)\b": "is not a …, or invalid",
    r"\bthat (?:is|are) none\b": "invalid",
    r"\bhas it not\b": "lacks it",
    r"\bfor want of\b": "because there is no …",
    r"\bin vain\b": "without success",
    r"(?<!would )\b(?:has|have) to be\b": "must be",
    r"\bleads? to (?:a|an|no) (?:\w+ )?(?:file|folder|directory)\b": "points to",
    r"\bsays so\b": "reports it",
    r"\bunder way\b": "in flight",
}


def blank(match: re.Match[str]) -> str:
    """Returns as many spaces on as many lines, so that positions stay."""
    return re.sub(r"[^\n]", " ", match[0])


def without_code(text: str) -> str:
    """Returns the text with code replaced by spaces, so that line numbers stay."""
    return CODE.sub("``", FENCE.sub(blank, text))


def anchors(text: str) -> set[str]:
    """Returns the anchors of a page's headings, as GitHub creates them."""
    found: set[str] = set()
    for match in HEADING.finditer(FENCE.sub("", text)):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", match["text"]).lower()
        slug = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        number = 0
        while (slug if not number else f"{slug}-{number}") in found:
            number += 1
        found.add(slug if not number else f"{slug}-{number}")
    return found


def line_of(text: str, at: int) -> int:
    """Returns the number of the line that contains a position."""
    return text.count("\n", 0, at) + 1


def links(page: Path, text: str, pages: dict[Path, set[str]]) -> list[str]:
    """Returns the broken links of a page."""
    problems = []
    for match in LINK.finditer(text):
        target, _, anchor = match["target"].partition("#")
        if ":" in target:
            continue
        place = (page.parent / target).resolve() if target else page
        where = f"{page.relative_to(ROOT)}:{line_of(text, match.start())}"
        if not place.exists():
            problems.append(f"{where}: {match['target']} does not exist")
        elif anchor and place in pages and anchor not in pages[place]:
            problems.append(f"{where}: {match['target']} has no such heading")
    return problems


def words(page: Path, text: str) -> list[str]:
    """Returns the words of a page that have a better one."""
    return [
        f"{page.relative_to(ROOT)}:{line_of(text, match.start())}: “{match[0]}”: write {better}"
        for pattern, better in WORDS.items()
        for match in re.finditer(pattern, text, re.IGNORECASE)
    ]


def commands() -> dict[str, set[str]]:
    """Returns the options of each command, from the generated page."""
    found: dict[str, set[str]] = {}
    page = (ROOT / "docs/reference/commands.md").read_text()
    for section in re.split(r"^## howdah ", page, flags=re.MULTILINE)[1:]:
        name, _, text = section.partition("\n")
        lines = re.findall(r"^ +(?:-\w, +)?(--[a-z][\w-]*)", text, re.MULTILINE)
        aliases = re.findall(r"alias(?:es)?:\s+(--[a-z][\w-]*)", text)
        found[name] = {*lines, *aliases, "--help"}
    return found


def uses(page: Path, whole: str, known: dict[str, set[str]], targets: set[str]) -> list[str]:
    """Returns the commands, options and make targets in a page's code that do not exist."""
    problems = []
    code = [(match.start(1), match[1]) for match in re.finditer(r"`([^`\n]+)`", FENCE.sub(blank, whole))]
    for fence in FENCE.finditer(whole):
        # Output of a terminal is not a command.
        prompt = r"\$ " if fence[0].startswith("```console") else ""
        for typed in re.finditer(rf"^{prompt}(.+)$", fence[0], re.MULTILINE):
            code.append((fence.start() + typed.start(1), typed[1]))
    for at, text in code:
        where = f"{page.relative_to(ROOT)}:{line_of(whole, at)}"
        for use in USE.finditer(text):
            name = use["name"]
            if name not in known:
                problems.append(f"{where}: `howdah {name}` does not exist")
                continue
            problems += [
                f"{where}: `howdah {name}` has no option {option}"
                for option in OPTION.findall(use["rest"])
                if option not in known[name]
            ]
        target = TARGET.match(text)
        if target and target["name"] not in targets:
            problems.append(f"{where}: `make {target['name']}` does not exist")
        option = OPTION.match(text)
        if option and not any(option[0] in options for options in known.values()):
            problems.append(f"{where}: no command has the option {option[0]}")
    return problems


def contents(names: Iterable[str]) -> list[str]:
    """Returns the pages that the table of contents of the site lacks, or has twice."""
    summary = ROOT / "docs/SUMMARY.md"
    listed = Counter(
        str((summary.parent / match["target"]).resolve().relative_to(ROOT))
        for match in LINK.finditer(summary.read_text())
    )
    wanted = {name for name in names if name.startswith(SITE) and ROOT / name != summary}
    return [f"{name}: docs/SUMMARY.md does not list it" for name in sorted(wanted - listed.keys())] + [
        f"docs/SUMMARY.md: {name} is listed {number} times" for name, number in listed.items() if number > 1
    ]


def main() -> int:
    """Prints the problems; returns 1 if there are any."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    texts = {ROOT / name: (ROOT / name).read_text() for name in listed if (ROOT / name).is_file()}
    pages = {page: anchors(text) for page, text in texts.items()}
    problems = contents(str(page.relative_to(ROOT)) for page in texts)
    known = commands()
    targets = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page, whole in texts.items():
        name = str(page.relative_to(ROOT))
        if name.startswith(DATA):
            continue
        text = without_code(whole)
        problems += links(page, text, pages)
        if not name.startswith(QUOTING):
            problems += words(page, text)
        if name.startswith(FOLLOWED):
            problems += uses(page, whole, known, targets)
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
