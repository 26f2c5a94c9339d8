"""Writes a run while it is measured, and resumes an interrupted one."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from bench.harness.errors import BenchError
from bench.harness.results import FORMAT, SAMPLES, STOLEN, load_run, read_lines

if TYPE_CHECKING:
    from pathlib import Path

    from bench.harness.reference import Reference
    from bench.harness.results import Sample, Start

FILES = (SAMPLES, "starts.jsonl", "references.jsonl", "turns.jsonl", STOLEN)
# Round, case, peer.
Turn = tuple[int, str, str]


class Recorder:
    """Writes a run step by step, so that an interrupted run keeps its samples."""

    def __init__(self, folder: Path, info: dict[str, Any]) -> None:
        self.folder = folder
        self.info = {"format": FORMAT, "complete": False, "failures": [], **info}
        self.done: set[Turn] = set()
        folder.mkdir(parents=True)
        (folder / "wrk").mkdir()
        for name in FILES:
            (folder / name).touch()
        self.save()

    @classmethod
    def resumed(cls, folder: Path) -> Recorder:
        """Resumes an interrupted run; incomplete turns are discarded.

        Raises:
            BenchError: the folder contains no run, or a complete one.
        """
        run = load_run(folder)
        if run.info["complete"]:
            raise BenchError(f"{folder} is whole: there is nothing to resume")
        recorder = cls.__new__(cls)
        recorder.folder = folder
        recorder.info = {**run.info, "failures": []}
        recorder.done = {
            (line["round"], line["case"], line["peer"])
            for line in read_lines(folder / "turns.jsonl")
        }
        for name in FILES:
            kept = [
                line
                for line in read_lines(folder / name)
                if (line["round"], line["case"], line["peer"]) in recorder.done
            ]
            # First written to a separate file: an interruption here must not cost the run.
            new = folder / f"{name}.new"
            new.write_text("".join(json.dumps(line) + "\n" for line in kept))
            new.rename(folder / name)
        return recorder

    def save(self) -> None:
        """Rewrites run.json."""
        (self.folder / "run.json").write_text(json.dumps(self.info, indent=2) + "\n")

    def sample(self, sample: Sample, output: str) -> None:
        """Adds a sample and the load generator's output."""
        self._append(SAMPLES, asdict(sample))
        load = f"open{sample.rate}" if sample.rate else f"c{sample.connections}"
        name = f"{sample.case}-{sample.peer}-{load}-r{sample.round}.txt"
        (self.folder / "wrk" / name).write_text(output)

    def start(self, start: Start) -> None:
        """Adds a start."""
        self._append("starts.jsonl", asdict(start))

    def reference(self, reference: Reference) -> None:
        """Adds a run of the bare loop."""
        self._append("references.jsonl", asdict(reference))

    def set_aside(self, taken: Sample | Reference) -> int:
        """Stores a repeated sample that does not count; returns their number."""
        self._append(STOLEN, asdict(taken))
        return len(read_lines(self.folder / STOLEN))

    def turn(self, turn: Turn) -> None:
        """Records that all samples of a peer in a case and round exist."""
        number, case, peer = turn
        self.done.add(turn)
        self._append("turns.jsonl", {"round": number, "case": case, "peer": peer})

    def failure(self, message: str) -> None:
        """Records that a peer could not be measured."""
        self.info["failures"].append(message)
        self.save()

    def complete(self, *, whole: bool) -> None:
        """Marks the end; `whole` is false after an interruption."""
        self.info["complete"] = whole
        self.save()

    def _append(self, name: str, values: dict[str, Any]) -> None:
        with (self.folder / name).open("a") as file:
            file.write(json.dumps(values) + "\n")
