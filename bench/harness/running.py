"""Servers that run already: `run --url URL`, measured from outside and left unchanged."""

from __future__ import annotations

import datetime
import http.client
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from bench.harness import machine, proc
from bench.harness.application import LooseCheck
from bench.harness.choose import QUIET_LOAD_AVERAGE
from bench.harness.errors import BenchError
from bench.harness.http_check import TIMEOUT_SECONDS, Answer
from bench.harness.load import Wrk, without_closes
from bench.harness.results import Sample

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.harness.load import LoadRun
    from bench.harness.plan import Options
    from bench.harness.progress import Progress
    from bench.harness.recorder import Recorder

CASE = "url"


def ask(url: str) -> tuple[Answer, bool]:
    """Sends one request on a new connection; also returns whether the server closes it afterwards.

    Raises:
        BenchError: no response, or the address is invalid.
    """
    parts = urlsplit(url)
    kinds: dict[str, type[http.client.HTTPConnection]] = {
        "http": http.client.HTTPConnection,
        "https": http.client.HTTPSConnection,
    }
    if parts.scheme not in kinds or not parts.netloc:
        raise BenchError(f"--url {url}: give a whole address, such as http://127.0.0.1:8080/")
    connection = kinds[parts.scheme](parts.netloc, timeout=TIMEOUT_SECONDS)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    try:
        connection.putrequest("GET", path, skip_accept_encoding=True)
        connection.endheaders()
        response = connection.getresponse()
        closes = response.will_close
        body = response.read()
    except (OSError, http.client.HTTPException) as error:
        raise BenchError(f"{url}: no answer: {error!r}") from error
    finally:
        connection.close()
    kind = response.getheader("Content-Type", "")
    return Answer(response.status, kind, body, len(body), len(body)), closes


def describe_urls(options: Options, urls: list[str]) -> dict[str, Any]:
    """Returns the contents of run.json before the first figure."""
    facts = machine.facts()
    about = "Was running already; what it runs with is not known here."
    return {
        "started": datetime.datetime.now(tz=datetime.UTC).isoformat(timespec="seconds"),
        "options": asdict(options),
        "machine": facts,
        "quiet": facts["load_average"] <= QUIET_LOAD_AVERAGE,
        "running": True,
        "peers": {
            f"url-{number}": {"title": url, "about": about, "ours": number == 1, "versions": {}}
            for number, url in enumerate(urls, 1)
        },
        "cases": {CASE: {"title": "Running servers", "about": "As they are.", "path": ""}},
    }


class Outside:
    """Measures servers that were started by others."""

    def __init__(
        self, options: Options, urls: list[str], expect: str, recorder: Recorder, progress: Progress
    ) -> None:
        self.options = options
        self.urls = urls
        self.recorder = recorder
        self.progress = progress
        # Each has a separate length, because they may serve different content.
        self._checks = {url: LooseCheck(200, "", "", expect) for url in urls}
        self._closing: set[str] = set()

    def run(self) -> bool:
        """Runs all rounds; returns False if a sample does not count."""
        good = True
        for number in range(self.options.rounds):
            shift = number % len(self.urls)
            for url in self.urls[shift:] + self.urls[:shift]:
                self._verify(url)
                with self._wrk(url, max(self.options.connections), self.options.warm_up) as wrk:
                    wrk.finish()
                for connections in self.options.connections:
                    good &= self._measure(url, connections, number + 1)
        return good

    def _verify(self, url: str) -> None:
        answer, closes = ask(url)
        differences = self._checks[url].differences(answer)
        if differences:
            raise BenchError(f"{url}: {'; '.join(differences)}")
        if closes:
            self._closing.add(url)

    @contextmanager
    def _wrk(self, url: str, connections: int, seconds: int) -> Iterator[Wrk]:
        wrk = Wrk(url, connections=connections, seconds=seconds, threads=self.options.threads)
        try:
            yield wrk
        finally:
            wrk.abort()

    def _measure(self, url: str, connections: int, number: int) -> bool:
        before = proc.machine_time()
        with self._wrk(url, connections, self.options.duration) as wrk:
            run: LoadRun = wrk.finish()
        after = proc.machine_time()
        sample = Sample(
            peer=f"url-{self.urls.index(url) + 1}",
            case=CASE,
            connections=connections,
            round=number,
            load=without_closes(run.load) if url in self._closing else run.load,
            server_cpu_seconds=0.0,
            machine_cpu_seconds=after.busy - before.busy,
            steal_seconds=after.steal - before.steal,
        )
        sample = replace(sample, problem=self._problem(url, sample))
        self.recorder.sample(sample, run.output)
        load = sample.load
        words = f"{load.requests_per_second:,.0f} req/s  p99 {load.p99 / 1000:.2f} ms"
        self.progress.step(f"round {number}  {url}  {connections} connections  {words}")
        return sample.problem is None

    def _problem(self, url: str, sample: Sample) -> str | None:
        if sample.load.failed:
            return f"{sample.load.failed} of {sample.load.requests} requests failed"
        if sample.load.requests == 0:
            return "no request was answered"
        try:
            self._verify(url)
        except BenchError as error:
            return f"after the load: {error}"
        return None
