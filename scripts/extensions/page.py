"""The page with a table for each distribution."""

from __future__ import annotations

import datetime
import re
from pathlib import Path
from typing import TYPE_CHECKING

from .kinds import UNKNOWN, WORDS

if TYPE_CHECKING:
    from .packages import Distribution
    from .trial import Result

# Reasons why an extension is refused or wrong. Without a reason here, both results are shown.
CAUSES = {
    ("ds", "not loaded"): (
        "PHP cannot load the package's file: it needs `fast_add_function`, which this PHP lacks"
    ),
    ("mailparse", "not loaded"): (
        "PHP cannot load the package's file: it needs `mbfl_name2no_encoding`, which this PHP lacks"
    ),
    ("ice", "wrong"): "with OPcache, `Ice.php` exhausts memory and the process exits; PHP-FPM too",
    ("uopz", "refused"): "it changes what `exit` does, so requests could not be ended one by one",
    ("uopz", "wrong"): "what one request replaces is replaced for all; doctor reports an error",
}
SECTION = """
## {distribution}, PHP {php}

Tried on {date}: {count} extensions of {packages} packages.

| extension | version | exercise | classic | worker | coroutines |
|---|---|---|---|---|---|
"""
FAULTS = """
### What does not work on {distribution}

| extension | pools | cause |
|---|---|---|
"""
MISSING = """
### Not tried on {distribution}

| package | reason |
|---|---|
"""


def row(result: Result, exercise: str, kinds: dict[str, str]) -> str:
    """Returns a row of the table."""
    coroutines = result.modes.get("coroutines", "")
    if coroutines == "works":
        kind = kinds.get(result.name.lower())
        coroutines = WORDS[kind] if kind else UNKNOWN
    cells = [
        result.name,
        result.version,
        exercise,
        result.modes.get("classic", ""),
        result.modes.get("worker", ""),
    ]
    return "| " + " | ".join([*cells, coroutines]) + " |\n"


def fault(result: Result) -> str:
    """Returns a row about an extension that does not work everywhere."""
    pools = ", ".join(mode for mode, outcome in result.modes.items() if outcome != "works")
    cause = CAUSES.get((result.name, result.modes.get("coroutines", "")))
    cause = cause or result.note.replace("|", "\\|")
    return f"| {result.name} | {pools} | {cause} |\n"


def section(
    php: Distribution,
    results: list[Result],
    exercises: dict[str, str],
    kinds: dict[str, str],
    missing: dict[str, str],
) -> str:
    """Returns the section of a distribution."""
    text = SECTION.format(
        distribution=php.name,
        date=datetime.datetime.now(tz=datetime.UTC).date(),
        php=php.php,
        count=len(results),
        packages=len({result.package for result in results}),
    )
    for result in sorted(results, key=lambda result: result.name.lower()):
        text += row(result, exercises[result.exercise], kinds)
    faulty = [result for result in results if set(result.modes.values()) != {"works"}]
    if faulty:
        text += FAULTS.format(distribution=php.name)
        text += "".join(map(fault, sorted(faulty, key=lambda result: result.name)))
    if missing:
        text += MISSING.format(distribution=php.name)
        text += "".join(f"| {name} | {why} |\n" for name, why in sorted(missing.items()))
    return text


def page(old: str, distribution: str, new: str) -> str:
    """Returns the whole page: the distribution's section is replaced, others are unchanged."""
    sections = {}
    for text in re.findall(r"^## .*?(?=^## |\Z)", old, re.DOTALL | re.MULTILINE):
        name = text.removeprefix("## ").partition(", PHP ")[0]
        sections[name] = "\n" + text.strip("\n") + "\n"
    sections[distribution] = new
    introduction = (Path(__file__).parent / "page.txt").read_text()
    return introduction + "".join(text for _, text in sorted(sections.items()))
