"""The page with the table."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from .kinds import UNKNOWN, WORDS

if TYPE_CHECKING:
    from .packages import Distribution
    from .trial import Result

# Why an extension does not work; what has no cause here is shown with what was got and expected.
CAUSES = {
    "ice": "with OPcache, `Ice.php` exhausts memory and the process exits; PHP-FPM too",
    "uopz": "it changes what `exit` does, so requests could not be ended one by one",
}
FAULTS = """
## What does not work

| extension | pools | cause |
|---|---|---|
"""
MISSING = """
## Not tried

| package | reason |
|---|---|
"""


def row(result: Result, exercise: str, kinds: dict[str, str]) -> str:
    """A line of the table."""
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
    """A line about an extension that does not work everywhere."""
    pools = ", ".join(mode for mode, outcome in result.modes.items() if outcome != "works")
    cause = CAUSES.get(result.name) or result.note.replace("|", "\\|")
    return f"| {result.name} | {pools} | {cause} |\n"


def page(
    php: Distribution,
    results: list[Result],
    exercises: dict[str, str],
    kinds: dict[str, str],
    missing: dict[str, str],
) -> str:
    """The whole page."""
    today = datetime.datetime.now(tz=datetime.UTC).date()
    packages = {result.package for result in results}
    text = (
        (Path(__file__).parent / "page.txt")
        .read_text()
        .format(
            distribution=php.name,
            date=today,
            php=php.php,
            count=len(results),
            packages=len(packages),
        )
    )
    for result in sorted(results, key=lambda result: result.name.lower()):
        text += row(result, exercises[result.exercise], kinds)
    faulty = [result for result in results if set(result.modes.values()) != {"works"}]
    if faulty:
        text += FAULTS + "".join(map(fault, sorted(faulty, key=lambda result: result.name)))
    if missing:
        text += MISSING + "".join(f"| {name} | {why} |\n" for name, why in sorted(missing.items()))
    return text
