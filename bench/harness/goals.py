"""Goals of the project and claims of others, measured in every run of a report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.harness import figures
from bench.harness.sections import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bench.harness.results import Run

NOT_MEASURED = "not measured"


@dataclass(frozen=True)
class Finding:
    """One measurement of a target: place, figure as text, and whether it is reached.

    `reached` is None for a load that the target does not apply to: shown, but not judged.
    """

    where: str
    text: str
    reached: bool | None


@dataclass(frozen=True)
class Target:
    """The measured value and the goal; `needs` lists requirements of a run."""

    work: str
    wanted: str
    needs: str
    measure: Callable[[Run], list[Finding]]


def runs_of(run: Run) -> list[Run]:
    """Returns a run and those that its report includes."""
    return [run, *run.more]


def labels(runs: list[Run]) -> list[str]:
    """Returns a short name of each run, the report's own first; equal ones also have their time."""
    names = [
        one.info["options"].get("title") or ("Main run" if one is runs[0] else figures.heading(one))
        for one in runs
    ]
    return [
        f"{name} ({one.info['started'][:16].replace('T', ' ')})" if names.count(name) > 1 else name
        for name, one in zip(names, runs, strict=True)
    ]


def measured_text(found: list[tuple[str, list[Finding]]]) -> str:
    """Formats the figures of each run that measured it, one line per run if there are several."""
    lines = []
    for label, findings in found:
        text = "; ".join(f"{one.text} at {one.where}" for one in findings)
        lines.append(f"{label}: {text}" if len(found) > 1 else text)
    return "\n".join(lines)


def goal_table(
    run: Run, heading: str, about: str, goals: Iterable[Target], words: tuple[str, str]
) -> Table:
    """Lists each goal with the figures and a word on whether they reach it.

    The worst figure of all runs decides, so that no failing run is ignored.
    """
    runs = runs_of(run)
    named = list(zip(labels(runs), runs, strict=True))
    rows = []
    for target in goals:
        found = [(label, each) for label, one in named if (each := target.measure(one))]
        reached = [one.reached for _, findings in found for one in findings]
        judged = [one for one in reached if one is not None]
        verdict = words[not all(judged)] if judged else NOT_MEASURED
        measured = measured_text(found) if found else f"needs {target.needs}"
        rows.append((target.work, verdict, f"wanted {target.wanted}", measured))
    # Measured goals come first.
    rows.sort(key=lambda row: row[1] == NOT_MEASURED)
    return Table(heading, about, ("", "", "", "measured, or what it needs"), rows)


def any_measured(run: Run, goals: Iterable[Target]) -> bool:
    """Whether at least one was measured: a run about something else shows none."""
    return any(target.measure(one) for target in goals for one in runs_of(run))
