"""The run: every case, every peer, in alternating rounds."""

from __future__ import annotations

import datetime
import time
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from bench.harness import conditions, machine, proc
from bench.harness.errors import BenchError
from bench.harness.http_check import probe, verify
from bench.harness.load import LoadRun, Wrk
from bench.harness.results import Recorder, Sample, Start
from bench.harness.server import Server, Setup, serve

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bench.harness.cases import Case
    from bench.harness.http_check import Answer
    from bench.harness.peers import Peer
    from bench.harness.progress import Progress

# Start, checks and stop of a server, and what wrk needs around its run; from experience.
OVERHEAD_START_SECONDS = 0.7
OVERHEAD_RUN_SECONDS = 0.3
# The part of the warm-up after which memory is looked at: every process has served by then.
MEMORY_AFTER = 0.7
# Answers may differ in a header's length (a date, a counter), not in their body.
SIZE_TOLERANCE = 0.02
QUIET_LOAD_AVERAGE = 0.5


@dataclass(frozen=True)
class Options:
    """What the command line can set; durations in seconds."""

    connections: list[int]
    duration: int
    warm_up: int
    rounds: int
    threads: int
    workers: int
    php_ini: dict[str, str] = field(default_factory=dict)


def estimate_seconds(options: Options, peers: int, cases: int) -> float:
    """How long a run takes."""
    loads = len(options.connections) * (options.duration + OVERHEAD_RUN_SECONDS)
    start = OVERHEAD_START_SECONDS + options.warm_up + OVERHEAD_RUN_SECONDS
    return options.rounds * peers * cases * (start + loads)


def rotated(peers: list[Peer], number: int) -> list[Peer]:
    """Another peer goes first in each round, so that no place in the order favours one."""
    shift = number % len(peers)
    return peers[shift:] + peers[:shift]


def size_problem(answer: Answer, requests: int, received: int, connections: int) -> str | None:
    """Whether the answers under load were as long as the one that was checked.

    Each connection may have received a part of an answer that does not count as a request.
    """
    if requests == 0:
        return "no request was answered"
    expected = answer.wire_bytes * requests
    slack = expected * SIZE_TOLERANCE + answer.wire_bytes * connections
    if abs(received - expected) > slack:
        return (
            f"{received / requests:.0f} bytes an answer under load, "
            f"{answer.wire_bytes} when it was checked"
        )
    return None


class Runner:
    """Measures; `run` does it all."""

    def __init__(
        self,
        options: Options,
        peers: list[Peer],
        cases: list[Case],
        recorder: Recorder,
        progress: Progress,
    ) -> None:
        self.options = options
        self.peers = peers
        self.cases = cases
        self.recorder = recorder
        self.progress = progress
        self._setup = Setup(options.workers, options.php_ini)
        self._norm: dict[str, Any] | None = None
        self._dropped: set[tuple[str, str]] = set()

    def run(self, temporary: Path) -> bool:
        """Runs all rounds with scratch files in `temporary`; False when anything failed."""
        docroots = {case.name: case.install(temporary / "sites" / case.name) for case in self.cases}
        good = True
        for number in range(self.options.rounds):
            for case in self.cases:
                for peer in rotated(self.peers, number):
                    folder = temporary / "peers" / f"{number}-{case.name}-{peer.name}"
                    good &= self._turn(number, case, peer, docroots[case.name], folder)
        return good

    def _turn(self, number: int, case: Case, peer: Peer, docroot: Path, folder: Path) -> bool:
        steps = len(self.options.connections)
        if (peer.name, case.name) in self._dropped:
            self.progress.step(f"{case.name}  {peer.name}  left out", steps)
            return False
        before = self.progress.done
        try:
            return self._measure_peer(number, case, peer, docroot, folder)
        except BenchError as error:
            # A peer that cannot serve a case is left out of it; the others go on.
            self._dropped.add((peer.name, case.name))
            message = f"{case.name}, {peer.name}, round {number + 1}: {error}"
            self.recorder.failure(message)
            self.progress.step(message, steps - (self.progress.done - before))
            return False

    def _measure_peer(
        self, number: int, case: Case, peer: Peer, docroot: Path, folder: Path
    ) -> bool:
        keep = self.recorder.folder / "peers" / peer.name / case.name
        good = True
        begun = time.monotonic()
        server = None
        started: Start | None = None
        self.progress.doing(f"round {number + 1}  {case.name}  {peer.name}  starting")
        try:
            with serve(peer, self._setup, docroot=docroot, folder=folder, keep=keep) as server:
                answer = verify(server.port, case)
                seconds = time.monotonic() - begun
                facts = self._conditions(peer, server)
                started = self._warm_up(number, case, server, facts, seconds)
                for connections in self.options.connections:
                    sample, output = self._measure(number, case, server, answer, connections)
                    self.recorder.sample(sample, output)
                    good &= sample.problem is None
                    self.progress.step(self._line(sample))
        finally:
            if started is not None and server is not None:
                forced = server.group.forced_stops
                self.recorder.start(Start(**{**asdict(started), "forced_stops": forced}))
        return good

    def _conditions(self, peer: Peer, server: Server) -> dict[str, Any]:
        facts = probe(server.port, self.options.php_ini)
        reason = conditions.unfair(peer.name, facts, self.options.php_ini)
        if reason is not None:
            raise BenchError(reason)
        notes = conditions.differences(peer.name, facts, self.options.php_ini, self._norm)
        if self._norm is None:
            self._norm = facts
        known = self.recorder.info.setdefault("differences", [])
        for note in notes:
            if note not in known:
                known.append(note)
                self.progress.note(f"differs: {note}")
                self.recorder.save()
        return facts

    def _warm_up(
        self, number: int, case: Case, server: Server, facts: dict[str, Any], seconds: float
    ) -> Start:
        idle = server.group.pss_bytes()
        with self._load(server, case, max(self.options.connections), self.options.warm_up) as wrk:
            time.sleep(self.options.warm_up * MEMORY_AFTER)
            loaded = server.group.pss_bytes()
            processes = len(server.group.pids())
            wrk.finish()
        return Start(
            peer=server.peer.name,
            case=case.name,
            round=number + 1,
            seconds=seconds,
            pss_idle=idle,
            pss_load=loaded,
            processes=processes,
            forced_stops=[],
            accounting=server.group.accounting,
            probe=facts,
        )

    def _measure(
        self, number: int, case: Case, server: Server, answer: Answer, connections: int
    ) -> tuple[Sample, str]:
        self.progress.doing(
            f"round {number + 1}  {case.name}  {server.peer.name}  {connections} connections"
        )
        machine_before = proc.machine_time()
        cpu_before = server.group.cpu_seconds()
        run = self._run(server, case, connections)
        cpu_after = server.group.cpu_seconds()
        machine_after = proc.machine_time()
        server.group.check_alive()
        return (
            Sample(
                peer=server.peer.name,
                case=case.name,
                connections=connections,
                round=number + 1,
                load=run.load,
                server_cpu_seconds=cpu_after - cpu_before,
                machine_cpu_seconds=machine_after.busy - machine_before.busy,
                steal_seconds=machine_after.steal - machine_before.steal,
                problem=self._problem(run, answer, server, case, connections),
            ),
            run.output,
        )

    @staticmethod
    def _problem(
        run: LoadRun, answer: Answer, server: Server, case: Case, connections: int
    ) -> str | None:
        load = run.load
        if load.failed:
            return (
                f"{load.failed} of {load.requests} requests failed "
                f"({load.status} with status 400 and above, {load.connect} connect, "
                f"{load.read} read, {load.write} write, {load.timeout} timeout)"
            )
        problem = size_problem(answer, load.requests, load.bytes, connections)
        if problem is not None:
            return problem
        try:
            verify(server.port, case)
        except BenchError as error:
            return f"after the load: {error}"
        return None

    @contextmanager
    def _load(self, server: Server, case: Case, connections: int, seconds: int) -> Iterator[Wrk]:
        wrk = Wrk(
            server.url(case.path),
            connections=connections,
            seconds=seconds,
            threads=self.options.threads,
            headers=case.headers,
        )
        try:
            yield wrk
        finally:
            wrk.abort()

    def _run(self, server: Server, case: Case, connections: int) -> LoadRun:
        with self._load(server, case, connections, self.options.duration) as wrk:
            return wrk.finish()

    @staticmethod
    def _line(sample: Sample) -> str:
        begin = (
            f"round {sample.round}  {sample.case:<10} {sample.peer:<20} "
            f"{sample.connections:>4} connections  "
        )
        if sample.problem is not None:
            return f"{begin}FAILED: {sample.problem}"
        return (
            f"{begin}{sample.load.requests_per_second:>9,.0f} req/s  "
            f"{sample.cpu_us_per_request:>7.1f} us CPU  p99 {sample.load.p99 / 1000:.2f} ms"
        )


def describe(options: Options, peers: list[Peer], cases: list[Case]) -> dict[str, Any]:
    """The contents of run.json before the first figure."""
    facts = machine.facts()
    return {
        "started": datetime.datetime.now(tz=datetime.UTC).isoformat(timespec="seconds"),
        "options": asdict(options),
        "machine": facts,
        "quiet": facts["load_average"] <= QUIET_LOAD_AVERAGE,
        "peers": {
            peer.name: {
                "title": peer.title,
                "about": peer.about,
                "versions": {name: binary.version_text() for name, binary in peer.binaries.items()},
            }
            for peer in peers
        },
        "cases": {
            case.name: {
                "title": case.title,
                "about": case.about,
                "path": case.path,
                "body_sha256": case.check.body_sha256,
            }
            for case in cases
        },
    }
