"""Files of a run on disk: run.json, samples.jsonl, starts.jsonl, and how to read them.

A published run has fewer files: its run.json contains the others under the key PUBLISHED.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bench.harness.errors import BenchError
from bench.harness.load import Load
from bench.harness.reference import Reference
from bench.harness.stats import Spread, paired_ratio, spread
from bench.harness.steal import share

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

FORMAT = 1
SAMPLES = "samples.jsonl"
# Samples that were repeated because the host of the machine had used too much of it.
STOLEN = "stolen.jsonl"
# The peer that is only the HTTP library.
LIBRARY = "hyper"
# Folder in a run for other runs that its report includes.
MORE = "more"
PUBLISHED = "published"
# Folder of the results of `profiler`.
PROFILE = "profile.json"
# Reason why a peer could not be measured, as recorded by the runner: case, peer, round, reason.
FAILED_TURN = re.compile(r"[^,]+, (?P<peer>[^,]+), round \d+: ")


@dataclass(frozen=True)
class Sample:
    """One timed run of the load generator against one peer.

    CPU times are seconds within the run. `problem` is the reason why the sample does not count.
    `rate` is the arrival rate of an open loop, 0 in a closed one.
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
    rate: int = 0

    @property
    def cpu_us_per_request(self) -> float:
        """Returns user and system time of all server processes for one request."""
        if self.load.requests == 0:
            return 0.0
        return self.server_cpu_seconds * 1e6 / self.load.requests

    @property
    def other_cpu_seconds(self) -> float:
        """Returns CPU time of neither server nor load generator: the disturbance by others."""
        used = self.server_cpu_seconds + self.load.client_cpu_seconds
        return max(0.0, self.machine_cpu_seconds - used)

    def stolen(self, cpus: int) -> float:
        """Returns the share of all CPUs that the host used; 0 for a failed sample."""
        if self.problem is not None:
            return 0.0
        return share(self.steal_seconds, cpus, self.load.duration_us / 1e6)


@dataclass(frozen=True)
class Start:
    """One start of a peer: memory in bytes before and under load, and PHP's conditions.

    `database_connections` are open under load; None without a database.
    """

    peer: str
    case: str
    round: int
    seconds: float
    pss_idle: int
    pss_load: int
    processes: int
    forced_stops: list[str]
    accounting: str
    # A published run does not have it: the relevant part is in `differences` of run.json.
    probe: dict[str, Any] = field(default_factory=dict)
    body_bytes: int = 0
    encoding: str = ""
    database_connections: int | None = None


def load_text(connections: int, rate: int) -> str:
    """Describes the kind of load in words."""
    return f"{rate:,} req/s" if rate else f"{connections} connections"


def figure(sample: Sample, name: str) -> float:
    """Returns a figure of a sample by its short name; latencies and CPU time in microseconds."""
    if name == "rps":
        return sample.load.requests_per_second
    if name == "cpu":
        return sample.cpu_us_per_request
    return float(getattr(sample.load, name))


def known(sample: Sample, name: str) -> bool:
    """Whether the figure exists: a server that was not started here has no CPU time."""
    if name == "cpu":
        return sample.server_cpu_seconds > 0
    return name != "p95" or sample.load.p95 > 0


@dataclass(frozen=True)
class Run:
    """A whole run as read from its folder."""

    folder: Path
    info: dict[str, Any]
    samples: list[Sample]
    starts: list[Start]
    references: list[Reference] = field(default_factory=list)
    # Runs about something else that the report includes.
    more: list[Run] = field(default_factory=list)
    # Samples that were repeated and do not count.
    set_aside: int = 0

    @property
    def peers(self) -> list[str]:
        """Returns the peers in the order of the command line."""
        return list(self.info["peers"])

    @property
    def cases(self) -> list[str]:
        """Returns the cases in the order of the command line."""
        return list(self.info["cases"])

    @property
    def connections(self) -> list[int]:
        """Returns the connections as given."""
        return list(self.info["options"]["connections"])

    @property
    def ours(self) -> list[str]:
        """Returns the peers that others are compared with: Howdah's, or by default the first."""
        return [peer for peer in self.peers if self.info["peers"][peer].get("ours")] or [
            self.peers[0]
        ]

    @property
    def others(self) -> list[str]:
        """Returns the peers that Howdah is compared with."""
        return [peer for peer in self.peers if peer not in self.ours]

    def workers(self, peer: str) -> int:
        """Returns the peer's number of PHP processes."""
        return int(self.info["peers"][peer].get("workers") or self.info["options"]["workers"])

    def base(self, peer: str) -> str:
        """Returns the peer's name without its number of PHP processes."""
        return str(self.info["peers"][peer].get("base") or peer)

    def rivals(self, subject: str) -> list[str]:
        """Returns those that one of ours is compared with: as many PHP processes, and not ours."""
        return [peer for peer in self.others if self.workers(peer) == self.workers(subject)]

    @property
    def baseline(self) -> str | None:
        """Returns the baseline of improvements: nginx with php-fpm, or the first not ours."""
        return "nginx-fpm" if "nginx-fpm" in self.others else next(iter(self.others), None)

    def offered(self, peer: str, case: str) -> bool:
        """Whether this peer was planned in this case at all."""
        return peer not in self.info.get("not_offered", {}).get(case, {})

    def shown(self, case: str, connections: int) -> list[str]:
        """Returns the peers of a table; not all of them need to have run the open loop."""
        return [
            peer
            for peer in self.peers
            if self.offered(peer, case) and (connections or self.select(peer, case, 0))
        ]

    def start(self, peer: str, case: str) -> Start | None:
        """Returns the first start of a peer in a case."""
        return next((one for one in self.starts if (one.peer, one.case) == (peer, case)), None)

    def encoding(self, peer: str, case: str) -> str | None:
        """Returns the encoding of the peer's body, None if it was never started."""
        start = self.start(peer, case)
        return None if start is None else start.encoding

    def select(self, peer: str, case: str, connections: int) -> list[Sample]:
        """Returns all samples of a cell, including bad ones; 0 connections mean the open loop."""
        return [
            sample
            for sample in self.samples
            if (sample.peer, sample.case) == (peer, case)
            and (0 if sample.rate else sample.connections) == connections
        ]

    def loop_us(self, case: str) -> dict[int, float]:
        """Returns CPU time of one call of the handler without a server, by round."""
        return {one.round: one.cpu_us_per_call for one in self.references if one.case == case}

    def over_loop(self, peer: str, case: str, connections: int) -> Spread | None:
        """Returns CPU time of a request as a multiple of the bare handler's."""
        return paired_ratio(self.by_round(peer, case, connections, "cpu"), self.loop_us(case))

    def over_alone(self, peer: str, case: str, connections: int) -> Spread | None:
        """Returns CPU time as a multiple of the sum for the HTTP library and the bare handler."""
        loop = self.loop_us(case)
        library = self.by_round(LIBRARY, case, connections, "cpu")
        alone = {number: us + loop[number] for number, us in library.items() if number in loop}
        return paired_ratio(self.by_round(peer, case, connections, "cpu"), alone)

    def by_round(self, peer: str, case: str, connections: int, name: str) -> dict[int, float]:
        """Returns a figure of each round, good samples only."""
        return {
            sample.round: figure(sample, name)
            for sample in self.select(peer, case, connections)
            if sample.problem is None and known(sample, name)
        }

    def cell(self, peer: str, case: str, connections: int, name: str) -> Spread | None:
        """Returns a figure over the rounds."""
        return spread(list(self.by_round(peer, case, connections, name).values()))

    def failed(self, peer: str, case: str, connections: int) -> int:
        """Returns failed requests of a cell over all rounds."""
        return sum(sample.load.failed for sample in self.select(peer, case, connections))

    def ratio(self, subject: str, other: str, case: str, connections: int) -> Spread | None:
        """Returns how many times as many requests per second the subject serves."""
        return paired_ratio(
            self.by_round(subject, case, connections, "rps"),
            self.by_round(other, case, connections, "rps"),
        )

    def cpu_ratio(self, subject: str, other: str, case: str, connections: int) -> Spread | None:
        """Returns how many times as much CPU time the other needs for a request."""
        return paired_ratio(
            self.by_round(other, case, connections, "cpu"),
            self.by_round(subject, case, connections, "cpu"),
        )

    def memory(self, peer: str, case: str, *, under_load: bool) -> Spread | None:
        """Returns the proportional set size in bytes over the starts of a peer."""
        return spread(
            [
                float(start.pss_load if under_load else start.pss_idle)
                for start in self.starts
                if (start.peer, start.case) == (peer, case)
            ]
        )

    def database_connections(self, peer: str, case: str) -> Spread | None:
        """Returns the open database connections under load; None without a database."""
        return spread(
            [
                float(start.database_connections)
                for start in self.starts
                if (start.peer, start.case) == (peer, case)
                and start.database_connections is not None
            ]
        )

    def problems(self, peers: Sequence[str] | None = None) -> list[str]:
        """Lists each problem in one line, with all peers or some of them.

        A problem of no known peer counts for all.
        """
        lines = [
            f"{sample.case}, {sample.peer}, {load_text(sample.connections, sample.rate)}, "
            f"round {sample.round}: {sample.problem}"
            for sample in self.samples
            if sample.problem is not None and (peers is None or sample.peer in peers)
        ]
        lines += [
            f"{start.case}, {start.peer}, round {start.round}: "
            f"{', '.join(start.forced_stops)} did not stop on SIGTERM"
            for start in self.starts
            if start.forced_stops and (peers is None or start.peer in peers)
        ]
        lines += [
            failure
            for failure in self.info.get("failures", [])
            if peers is None
            or (turn := FAILED_TURN.match(failure)) is None
            or turn["peer"] in peers
        ]
        return lines


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Reads the objects of a file with one per line."""
    # Runs of earlier versions of the harness lack some of the files.
    if not path.exists() and path.name != SAMPLES:
        return []
    return [json.loads(line) for line in path.read_text().splitlines()]


def faults_of(run: Run) -> dict[str, Any] | None:
    """Returns the results of a `faults` run that was added to this one."""
    if PUBLISHED in run.info:
        found: dict[str, Any] | None = run.info[PUBLISHED]["faults"]
        return found
    path = run.folder / "faults" / "faults.json"
    return json.loads(path.read_text()) if path.is_file() else None


def profile_of(run: Run) -> dict[str, Any] | None:
    """Returns the results of a `profiler` run that was added to this one."""
    if PUBLISHED in run.info:
        # A run from before this measurement existed has none.
        found: dict[str, Any] | None = run.info[PUBLISHED].get("profile")
        return found
    path = run.folder / "profile" / PROFILE
    return json.loads(path.read_text()) if path.is_file() else None


def load_run(folder: Path) -> Run:
    """Reads a run.

    Raises:
        BenchError: the folder contains none, or one of another format.
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
            for line in read_lines(folder / SAMPLES)
        ]
        kept = info.get(PUBLISHED) or {
            "starts": read_lines(folder / "starts.jsonl"),
            "references": read_lines(folder / "references.jsonl"),
            "set_aside": len(read_lines(folder / STOLEN)),
        }
        starts = [Start(**line) for line in kept["starts"]]
        references = [Reference(**line) for line in kept["references"]]
    except (json.JSONDecodeError, KeyError, TypeError, FileNotFoundError) as error:
        raise BenchError(f"{folder}: damaged run: {error!r}") from error
    more = [load_run(one) for one in sorted((folder / MORE).glob("*")) if one.is_dir()]
    return Run(folder, info, samples, starts, references, more, kept["set_aside"])
