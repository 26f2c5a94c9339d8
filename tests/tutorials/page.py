"""A tutorial as a reader follows it: files, and commands with their output."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(r"^```(?P<language>\w*)$")
CODE = re.compile(r"`([^`]+)`")
NEED = re.compile(r"^<!-- tests/tutorials: (?P<names>[\w ]+) -->$")
SERVER = re.compile(r"(\w+=\S+ )*(howdah( (run|php-server)\b.*)?|php artisan octane:start\b.*)")
ANY = "…"


class PageError(Exception):
    """A page that violates the rules of README.md."""


@dataclass(frozen=True)
class Need:
    """Requirements of the rest of a page: names of preparations.py."""

    line: int
    names: tuple[str, ...]


@dataclass(frozen=True)
class Log:
    """Lines that the server's terminal shows."""

    line: int
    output: tuple[str, ...]


@dataclass(frozen=True)
class File:
    """A file to save."""

    line: int
    name: str
    text: str


@dataclass(frozen=True)
class Command:
    """A command to type, and its output; empty if the page does not show it."""

    line: int
    text: str
    output: tuple[str, ...]

    @property
    def serves(self) -> bool:
        """Whether it is a server, which runs until it is stopped."""
        return (
            re.fullmatch(r"(\w+=\S+ )*(howdah( (run|php-server)\b.*)?|php artisan octane:start\b.*)", self.text)
            is not None
        )


Step = Need | File | Log | Command


def steps(page: Path) -> list[Step]:
    """Returns the steps of a page in order."""
    found: list[Step] = []
    lead = language = ""
    block: list[str] | None = None
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if block is not None and line == "```":
            found += _block(page, number - len(block), language, lead, block)
            block = None
        elif block is not None:
            block.append(line)
        elif fence := FENCE.match(line):
            language, block = fence["language"], []
        elif need := NEED.match(line):
            found.append(Need(number, tuple(need["names"].split())))
        elif line.strip():
            lead = line.strip()
    if not any(isinstance(step, Command) for step in found):
        raise PageError(f"{page.name}: there are no commands")
    return found


def _block(page: Path, start: int, language: str, lead: str, lines: list[str]) -> Iterator[Step]:
    """Returns the steps of a fenced block, whose first line is number `start`."""
    if language == "console":
        yield from _commands(page, start, lines)
    elif language == "log":
        yield Log(start, tuple(lines))
    elif lead.endswith(":") and (names := CODE.findall(lead)):
        yield File(start, names[-1], "\n".join([*lines, ""]))
    else:
        raise PageError(f"{page.name}:{start}: the line above lacks a file's name, or a colon at its end")


def _commands(page: Path, start: int, lines: list[str]) -> Iterator[Command]:
    at, typed, output = start, "", list[str]()
    for number, line in enumerate(lines, start):
        if line.startswith("$ "):
            if typed:
                yield Command(at, typed, tuple(output))
            at, typed, output = number, line[2:], []
        elif not typed:
            raise PageError(f"{page.name}:{number}: a block of the terminal begins with a command after “$ ”")
        elif line.startswith("> ") and not output:
            typed += "\n" + line[2:]
        else:
            output.append(line)
    yield Command(at, typed, tuple(output))


def shows(expected: Sequence[str], printed: str, *, anywhere: bool = False) -> bool:
    """Whether a terminal shows the text of the page: “…” is any text, alone on its line any lines.

    `anywhere`: more text may precede and follow it.
    """
    parts = []
    for line in expected:
        if line.strip() == ANY:
            parts.append(r"(?:.*\n)*?")
        else:
            parts.append(".*".join(re.escape(part) for part in line.rstrip().split(ANY)) + r"[ \t]*\n")
    lines = "\n".join(printed.rstrip().splitlines()) + "\n"
    pattern = re.compile("".join(parts))
    if anywhere:
        return any(pattern.match(lines, at.end()) for at in re.finditer(r"^", lines, re.MULTILINE))
    return pattern.fullmatch(lines) is not None
