"""The run: every case and every peer, in alternating rounds."""

from __future__ import annotations

import itertools
import time
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bench.harness import conditions, plan, proc, steal
from bench.harness.cores import Split, on
from bench.harness.errors import BenchError
from bench.harness.http_check import probe, verify
from bench.harness.load import LoadRun, Shape, Wrk, size_problem, without_closes
from bench.harness.open_loop import Oha
from bench.harness.reference import run_loop
from bench.harness.results import Sample, Start, load_text
from bench.harness.server import Server, Setup, serve
from bench.harness.services import Services

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bench.harness.cases import Case, Site
    from bench.harness.http_check import Answer
    from bench.harness.load import Generator
    from bench.harness.peers import Peer
    from bench.harness.plan import Options, Turn
    from bench.harness.progress import Progress
    from bench.harness.recorder import Recorder
    from bench.harness.reference import Reference

# The part of the warm-up after which memory is measured: every process has served by then.
MEMORY_AFTER = 0.7
# Servers that must be readable for others run as a user other than root.
READABLE = 0o755
CALIBRATION_SECONDS = 1


class Runner:
    """Measures a run; the entry point is `run`."""

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
        self._cpus: int = recorder.info["machine"]["cpus"]
        split = Split.recorded(recorder.info["machine"].get("cores"))
        self._load_cpus = None if split is None else split.load
        self._server_cpus = None if split is None else split.servers
        self._dropped: set[tuple[str, str]] = set()
        self._sites: dict[str, Site] = {}

    def run(self, temporary: Path) -> bool:
        """Runs all rounds with scratch files in `temporary`; returns False on any failure."""
        temporary.chmod(READABLE)
        self._services = Services(temporary / "services")
        try:
            return self._run_all(temporary)
        finally:
            self._services.stop()

    def _run_all(self, temporary: Path) -> bool:
        good = True
        for case in self.cases:
            try:
                self.progress.doing(f"{case.name}  preparing")
                # Databases are started here.
                with on(self._server_cpus):
                    site = case.install(temporary / "sites" / case.name, self._services)
                for one in case.both:
                    self._sites[one.name] = replace(site, case=one)
                    self._calibrate(one, temporary / "calibration" / one.name)
            except BenchError as error:
                self.recorder.failure(f"{case.name}: {error}")
                self.progress.note(str(error))
                self._dropped |= {(peer.name, case.name) for peer in self.peers}
                good = False
        for turn in plan.turns(self.options, self.peers, self.cases):
            if turn.key in self.recorder.done:
                text = f"round {turn.number + 1}  {turn.case.name}  {turn.peer.name}"
                self.progress.step(f"{text}  is there already", turn.steps(self.options))
            else:
                name = f"{turn.number}-{turn.case.name}-{turn.peer.name}"
                good &= self._turn(turn, temporary / "peers" / name)
        return good

    def _setup(self, peer: Peer) -> Setup:
        workers = peer.workers or self.options.workers
        return Setup(workers, self.options.php_ini, self._server_cpus)

    def _calibrate(self, case: Case, folder: Path) -> None:
        """Chooses the arrival rate of the open loop, one for all peers."""
        rates = self.recorder.info.setdefault("rates", {})
        peer = plan.baseline(self.peers, case)
        if not self.options.open_loop or case.slow_path or case.name in rates or peer is None:
            return
        if self.options.rate:
            rates[case.name] = self.options.rate
            return
        site = self._sites[case.name]
        with serve(peer, self._setup(peer), site=site.values(), folder=folder) as server:
            verify(server.port, case, site.body())
            for _ in range(2):
                with self._wrk(
                    server, site, max(self.options.connections), CALIBRATION_SECONDS
                ) as wrk:
                    found = wrk.finish().load.requests_per_second
        rates[case.name] = plan.two_digits(found * self.options.open_share)
        self.recorder.save()

    def _turn(self, turn: Turn, folder: Path) -> bool:
        steps = turn.steps(self.options)
        place = (turn.peer.name, turn.case.name)
        if place in self._dropped:
            self.progress.step(f"{turn.case.name}  {turn.peer.name}  left out", steps)
            return False
        before = self.progress.done
        try:
            if turn.peer.contract == "loop":
                good = self._measure_loop(turn, folder)
            else:
                good = self._measure_peer(turn, folder)
        except BenchError as error:
            # A peer that cannot serve a case is omitted from it, and the others continue.
            self._dropped.add(place)
            message = f"{turn.case.name}, {turn.peer.name}, round {turn.number + 1}: {error}"
            self.recorder.failure(message)
            self.progress.step(message, steps - (self.progress.done - before))
            return False
        for one in turn.each:
            self.recorder.turn(one.key)
        return good

    def _measure_loop(self, turn: Turn, folder: Path) -> bool:
        self.progress.doing(f"round {turn.number + 1}  {turn.case.name}  {turn.peer.name}")
        site = self._sites[turn.case.name]
        setup = self._setup(turn.peer)
        # A repeated sample starts from nothing too.
        folders = (folder / str(number) for number in itertools.count(1))
        found = steal.least_stolen(
            lambda: run_loop(turn, setup, site, next(folders), self.options.duration),
            lambda taken: taken.stolen(self._cpus),
            self._set_aside,
        )
        self.recorder.reference(found)
        self.progress.step(
            f"round {found.round}  {found.case:<10} {found.peer:<20} "
            f"{found.calls:,} calls  {found.cpu_us_per_call:>7.1f} us CPU"
        )
        return True

    def _measure_peer(self, turn: Turn, folder: Path) -> bool:
        peer, case, site = turn.peer, turn.case, self._sites[turn.case.name]
        keep = self.recorder.folder / "peers" / peer.name / case.name
        good = True
        begun = time.monotonic()
        server = None
        started: list[Start] = []
        self.progress.doing(f"round {turn.number + 1}  {case.name}  {peer.name}  starting")
        try:
            with serve(
                peer, self._setup(peer), site=site.values(), folder=folder, keep=keep
            ) as server:
                answers = {one.name: verify(server.port, one, site.body()) for one in case.both}
                seconds = time.monotonic() - begun
                facts = self._conditions(peer, server)
                for one in turn.each:
                    answer = answers[one.case.name]
                    started.append(self._warm_up(one, server, facts, answer, seconds))
                for connections, rate_of in self._loads(turn):
                    for one in turn.each:
                        answer, rate = answers[one.case.name], rate_of.get(one.case.name, 0)
                        sample, output = self._sample(one, server, answer, connections, rate)
                        self.recorder.sample(sample, output)
                        good &= sample.problem is None
                        self.progress.step(self._line(sample))
        finally:
            if server is not None:
                for start in started:
                    self.recorder.start(replace(start, forced_stops=server.group.forced_stops))
        return good

    def _loads(self, turn: Turn) -> list[tuple[int, dict[str, int]]]:
        """Returns the connections, and the arrival rate of each case in an open loop."""
        loads: list[tuple[int, dict[str, int]]] = [(one, {}) for one in self.options.connections]
        if turn.open_loop(self.options):
            loads.append((max(self.options.connections), self.recorder.info["rates"]))
        return loads

    def _conditions(self, peer: Peer, server: Server) -> dict[str, Any]:
        if peer.contract == "none":
            # It has no PHP whose conditions could be read.
            return {}
        facts = probe(server.port, self.options.php_ini)
        reason = conditions.unfair(peer.name, facts, self.options.php_ini)
        if reason is not None:
            raise BenchError(reason)
        # The first peer sets the norm, and a resumed run keeps it.
        norm = self.recorder.info.setdefault("norm", facts)
        notes = conditions.differences(peer.name, facts, self.options.php_ini, norm)
        known = self.recorder.info.setdefault("differences", [])
        for note in notes:
            if note not in known:
                known.append(note)
                self.progress.note(f"differs: {note}")
                self.recorder.save()
        return facts

    def _warm_up(
        self, turn: Turn, server: Server, facts: dict[str, Any], answer: Answer, seconds: float
    ) -> Start:
        site = self._sites[turn.case.name]
        if server.settling:
            server.settle()
            verify(server.port, turn.case, site.body())
        idle = server.group.pss_bytes()
        with self._wrk(server, site, max(self.options.connections), self.options.warm_up) as wrk:
            time.sleep(self.options.warm_up * MEMORY_AFTER)
            loaded = server.group.pss_bytes()
            processes = len(server.group.pids())
            database = self._services.connections(site.facts)
            wrk.finish()
        # Some servers still run requests of disconnected clients, and respond only after them.
        verify(server.port, turn.case, site.body())
        return Start(
            peer=turn.peer.name,
            case=turn.case.name,
            round=turn.number + 1,
            seconds=seconds,
            pss_idle=idle,
            pss_load=loaded,
            processes=processes,
            forced_stops=[],
            accounting=server.group.accounting,
            probe=facts,
            body_bytes=answer.body_bytes,
            encoding=answer.encoding,
            database_connections=database,
        )

    def _sample(
        self, turn: Turn, server: Server, answer: Answer, connections: int, rate: int
    ) -> tuple[Sample, str]:
        return steal.least_stolen(
            lambda: self._measure(turn, server, answer, connections, rate),
            lambda taken: taken[0].stolen(self._cpus),
            lambda taken: self._set_aside(taken[0]),
        )

    def _set_aside(self, taken: Sample | Reference) -> bool:
        return self.recorder.set_aside(taken) < self.progress.total * steal.PART_OF_RUN

    def _measure(
        self, turn: Turn, server: Server, answer: Answer, connections: int, rate: int
    ) -> tuple[Sample, str]:
        self.progress.doing(
            f"round {turn.number + 1}  {turn.case.name}  {turn.peer.name}  "
            f"{load_text(connections, rate)}"
        )
        machine_before = proc.machine_time()
        cpu_before = server.group.cpu_seconds()
        run = self._load(turn, server, connections, rate)
        cpu_after = server.group.cpu_seconds()
        machine_after = proc.machine_time()
        server.group.check_alive()
        load = run.load
        if turn.peer.closes_connections:
            load = without_closes(load)
        sample = Sample(
            peer=turn.peer.name,
            case=turn.case.name,
            connections=connections,
            round=turn.number + 1,
            load=load,
            server_cpu_seconds=cpu_after - cpu_before,
            machine_cpu_seconds=machine_after.busy - machine_before.busy,
            steal_seconds=machine_after.steal - machine_before.steal,
            rate=rate,
        )
        return replace(sample, problem=self._problem(sample, answer, server, turn)), run.output

    def _problem(self, sample: Sample, answer: Answer, server: Server, turn: Turn) -> str | None:
        load = sample.load
        if load.failed:
            return (
                f"{load.failed} of {load.requests} requests failed "
                f"({load.status} with a wrong status, {load.connect} connect, "
                f"{load.read} read, {load.write} write, {load.timeout} timeout)"
            )
        # oha counts only the bodies.
        expected = answer.body_bytes if sample.rate else answer.wire_bytes
        check = turn.case.check
        problem = size_problem(check, expected, load.requests, load.bytes, sample.connections)
        if problem is not None:
            return problem
        try:
            verify(server.port, turn.case, self._sites[turn.case.name].body())
        except BenchError as error:
            return f"after the load: {error}"
        return None

    def _shape(self, site: Site) -> Shape:
        case = site.case
        return Shape(
            headers=case.headers,
            method=case.method,
            body=site.folder / case.body if case.body else None,
            slow_path=case.slow_path,
            gzip=case.gzip,
            status=case.check.status,
        )

    @contextmanager
    def _wrk(self, server: Server, site: Site, connections: int, seconds: int) -> Iterator[Wrk]:
        with on(self._load_cpus):
            wrk = Wrk(
                server.url(site.case.path),
                connections=connections,
                seconds=seconds,
                threads=self.options.threads,
                shape=self._shape(site),
            )
        try:
            yield wrk
        finally:
            wrk.abort()

    def _load(self, turn: Turn, server: Server, connections: int, rate: int) -> LoadRun:
        site = self._sites[turn.case.name]
        seconds = self.options.duration
        if not rate:
            with self._wrk(server, site, connections, seconds) as wrk:
                return wrk.finish()
        with on(self._load_cpus):
            generator: Generator = Oha(
                server.url(turn.case.path),
                rate=rate,
                connections=connections,
                seconds=seconds,
                shape=self._shape(site),
            )
        try:
            return generator.finish()
        finally:
            generator.abort()

    @staticmethod
    def _line(sample: Sample) -> str:
        begin = (
            f"round {sample.round}  {sample.case:<10} {sample.peer:<20} "
            f"{load_text(sample.connections, sample.rate):>15}  "
        )
        if sample.problem is not None:
            return f"{begin}FAILED: {sample.problem}"
        return (
            f"{begin}{sample.load.requests_per_second:>9,.0f} req/s  "
            f"{sample.cpu_us_per_request:>7.1f} us CPU  p99 {sample.load.p99 / 1000:.2f} ms"
        )
