"""What a run leaves on disk: run.json, samples.jsonl, starts.jsonl, and how to read it again."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from bench.harness.errors import BenchError
from bench.harness.load import Load
from bench.harness.stats import Spread, paired_ratio, spread

if TYPE_CHECKING:
    from pathlib import Path

FORMAT = 1


@dataclass(frozen=True)
class Sample:
    """One timed run of the load generator against one peer.

    CPU times are seconds within the run; `problem` says why the sample does not count.
    """

    peer: str
    case: str
    connections: int
    round: int
    load: Load
    server_cpu_seconds: float
    machine_cpu_seconds: float
    steal_seconds: float
    problem: str | None = None

    @property
    def cpu_us_per_request(self) -> float:
        """User and system time of all server processes for one request."""
        if self.load.requests == 0:
            return 0.0
        return self.server_cpu_seconds * 1e6 / self.load.requests

    @property
    def other_cpu_seconds(self) -> float:
        """What neither server nor load generator used: the disturbance by others."""
        used = self.server_cpu_seconds + self.load.client_cpu_seconds
        return max(0.0, self.machine_cpu_seconds - used)


@dataclass(frozen=True)
class Start:
    """One start of a peer: its memory in bytes before and under load, and PHP's own words."""

    peer: str
    case: str
    round: int
    seconds: float
    pss_idle: int
    pss_load: int
    processes: int
    forced_stops: list[str]
    accounting: str
    probe: dict[str, Any]


def figure(sample: Sample, name: str) -> float:
    """A figure of a sample by its short name; latencies and CPU time in microseconds."""
    if name == "rps":
        return sample.load.requests_per_second
    if name == "cpu":
        return sample.cpu_us_per_request
    return float(getattr(sample.load, name))


@dataclass(frozen=True)
class Run:
    """A whole run as read from its folder."""

    folder: Path
    info: dict[str, Any]
    samples: list[Sample]
    starts: list[Start]

    @property
    def peers(self) -> list[str]:
        """In the order of the command line."""
        return list(self.info["peers"])

    @property
    def cases(self) -> list[str]:
        """In the order of the command line."""
        return list(self.info["cases"])

    @property
    def connections(self) -> list[int]:
        """As given."""
        return list(self.info["options"]["connections"])

    def select(self, peer: str, case: str, connections: int) -> list[Sample]:
        """All samples of a cell, the bad ones included."""
        return [
            sample
            for sample in self.samples
            if (sample.peer, sample.case, sample.connections) == (peer, case, connections)
        ]

    def by_round(self, peer: str, case: str, connections: int, name: str) -> dict[int, float]:
        """A figure of each round, good samples only."""
        return {
            sample.round: figure(sample, name)
            for sample in self.select(peer, case, connections)
            if sample.problem is None
        }

    def cell(self, peer: str, case: str, connections: int, name: str) -> Spread | None:
        """A figure over the rounds."""
        return spread(list(self.by_round(peer, case, connections, name).values()))

    def failed(self, peer: str, case: str, connections: int) -> int:
        """Failed requests of a cell over all rounds."""
        return sum(sample.load.failed for sample in self.select(peer, case, connections))

    def ratio(self, subject: str, other: str, case: str, connections: int) -> Spread | None:
        """How many times as many requests per second the subject answers."""
        return paired_ratio(
            self.by_round(subject, case, connections, "rps"),
            self.by_round(other, case, connections, "rps"),
        )

    def cpu_ratio(self, subject: str, other: str, case: str, connections: int) -> Spread | None:
        """How many times as much CPU time the other spends on a request."""
        return paired_ratio(
            self.by_round(other, case, connections, "cpu"),
            self.by_round(subject, case, connections, "cpu"),
        )

    def memory(self, peer: str, case: str, *, under_load: bool) -> Spread | None:
        """Proportional set size in bytes over the starts of a peer."""
        return spread(
            [
                float(start.pss_load if under_load else start.pss_idle)
                for start in self.starts
                if (start.peer, start.case) == (peer, case)
            ]
        )

    def problems(self) -> list[str]:
        """One line for each thing that went wrong."""
        lines = [
            f"{sample.case}, {sample.peer}, {sample.connections} connections, "
            f"round {sample.round}: {sample.problem}"
            for sample in self.samples
            if sample.problem is not None
        ]
        lines += [
            f"{start.case}, {start.peer}, round {start.round}: "
            f"{', '.join(start.forced_stops)} did not stop on SIGTERM"
            for start in self.starts
            if start.forced_stops
        ]
        return lines + list(self.info.get("failures", []))


class Recorder:
    """Writes a run as it goes, so that an interrupted one keeps what it has."""

    def __init__(self, folder: Path, info: dict[str, Any]) -> None:
        self.folder = folder
        self.info = {"format": FORMAT, "complete": False, "failures": [], **info}
        folder.mkdir(parents=True)
        (folder / "wrk").mkdir()
        (folder / "samples.jsonl").touch()
        (folder / "starts.jsonl").touch()
        self.save()

    def save(self) -> None:
        """Writes run.json anew."""
        (self.folder / "run.json").write_text(json.dumps(self.info, indent=2) + "\n")

    def sample(self, sample: Sample, output: str) -> None:
        """Adds a sample and the load generator's own text."""
        self._append("samples.jsonl", asdict(sample))
        name = f"{sample.case}-{sample.peer}-c{sample.connections}-r{sample.round}.txt"
        (self.folder / "wrk" / name).write_text(output)

    def start(self, start: Start) -> None:
        """Adds a start."""
        self._append("starts.jsonl", asdict(start))

    def failure(self, message: str) -> None:
        """Notes that a peer could not be measured."""
        self.info["failures"].append(message)
        self.save()

    def complete(self, *, whole: bool) -> None:
        """Marks the end; `whole` is false after an interruption."""
        self.info["complete"] = whole
        self.save()

    def _append(self, name: str, values: dict[str, Any]) -> None:
        with (self.folder / name).open("a") as file:
            file.write(json.dumps(values) + "\n")


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def load_run(folder: Path) -> Run:
    """Reads a run.

    Raises:
        BenchError: the folder holds none, or one of another format.
    """
    path = folder / "run.json"
    if not path.is_file():
        raise BenchError(f"{folder} holds no run: run.json is missing")
    try:
        info = json.loads(path.read_text())
        if info.get("format") != FORMAT:
            raise BenchError(f"{path}: format {info.get('format')}, this harness reads {FORMAT}")
        samples = [
            Sample(**{**line, "load": Load.from_dict(line["load"])})
            for line in _lines(folder / "samples.jsonl")
        ]
        starts = [Start(**line) for line in _lines(folder / "starts.jsonl")]
    except (json.JSONDecodeError, KeyError, TypeError, FileNotFoundError) as error:
        raise BenchError(f"{folder}: damaged run: {error!r}") from error
    return Run(folder, info, samples, starts)
