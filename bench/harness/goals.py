"""Goals of any kind, the project's own and those of others: measured in every run of a report."""

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
    """One measurement of a target: where, the figure as text, and whether it is enough.

    `reached` is None for a load that the target is not about: shown, and not judged.
    """

    where: str
    text: str
    reached: bool | None


@dataclass(frozen=True)
class Target:
    """What is measured, what is wanted; `needs` says what a run must have for it."""

    work: str
    wanted: str
    needs: str
    measure: Callable[[Run], list[Finding]]


def runs_of(run: Run) -> list[Run]:
    """A run and those that its report takes along."""
    return [run, *run.more]


def labels(runs: list[Run]) -> list[str]:
    """A short name of each run, the report's own first; equal ones also have their time."""
    names = [
        one.info["options"].get("title") or ("Main run" if one is runs[0] else figures.heading(one))
        for one in runs
    ]
    return [
        f"{name} ({one.info['started'][:16].replace('T', ' ')})" if names.count(name) > 1 else name
        for name, one in zip(names, runs, strict=True)
    ]


def measured_text(found: list[tuple[str, list[Finding]]]) -> str:
    """The figures of each run that measured it, on a line of its own where there are several."""
    lines = []
    for label, findings in found:
        text = "; ".join(f"{one.text} at {one.where}" for one in findings)
        lines.append(f"{label}: {text}" if len(found) > 1 else text)
    return "\n".join(lines)


def goal_table(
    run: Run, heading: str, about: str, goals: Iterable[Target], words: tuple[str, str]
) -> Table:
    """Each goal with what was measured and one of two words on whether that reaches it.

    The worst figure of all runs decides: a run that says otherwise is not passed over.
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
    # What was measured comes first.
    rows.sort(key=lambda row: row[1] == NOT_MEASURED)
    return Table(heading, about, ("", "", "", "measured, or what it needs"), rows)


def any_measured(run: Run, goals: Iterable[Target]) -> bool:
    """Whether one of them at least was measured: a run about something else shows none."""
    return any(target.measure(one) for target in goals for one in runs_of(run))
