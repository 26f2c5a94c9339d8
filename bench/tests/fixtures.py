"""Synthetic runs for the tests."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.harness.load import Load
from bench.harness.recorder import Recorder
from bench.harness.results import Run, Sample, Start, load_run

if TYPE_CHECKING:
    import http.server
    import unittest

PROBE = {"php": "8.2.35", "sapi": "fpm-fcgi", "extensions": ["Core", "json"], "ini": {}}


def serve_until_done(test: unittest.TestCase, server: http.server.HTTPServer) -> None:
    """Runs a server in a thread until the test ends."""
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    test.addCleanup(thread.join)
    test.addCleanup(server.server_close)
    test.addCleanup(server.shutdown)


def load(requests: int = 1000, *, status: int = 0, p99: int = 900) -> Load:
    """Returns one second of load."""
    return Load(
        requests=requests,
        duration_us=1_000_000,
        bytes=requests * 200,
        connect=0,
        read=0,
        write=0,
        status=status,
        timeout=0,
        mean=500.0,
        stdev=50.0,
        min=100,
        p50=450,
        p75=600,
        p90=800,
        p99=p99,
        max=12_000,
        client_cpu_seconds=0.5,
    )


def sample(
    peer: str,
    number: int,
    requests: int,
    cpu: float = 0.1,
    problem: str | None = None,
) -> Sample:
    """Returns a sample of the case `hello` with 8 connections."""
    return Sample(
        peer=peer,
        case="hello",
        connections=8,
        round=number,
        load=load(requests),
        server_cpu_seconds=cpu,
        machine_cpu_seconds=0.8,
        steal_seconds=0.0,
        problem=problem,
    )


def info(peers: dict[str, str]) -> dict[str, Any]:
    """Returns the content of run.json."""
    return {
        "started": "2026-01-02T03:04:05+00:00",
        "options": {
            "connections": [8],
            "duration": 1,
            "warm_up": 1,
            "rounds": 3,
            "threads": 2,
            "workers": 4,
            "php_ini": {"opcache.enable": "1"},
        },
        "machine": {
            "cpu": "Test <CPU>",
            "cpus": 2,
            "memory": "1 kB",
            "hypervisor": "no",
            "kernel": "6.0",
            "distribution": "Debian",
            "php": "PHP 8.2.35",
            "wrk": "wrk 4.1.0 Copyright (C) somebody",
            "load_average": 0.1,
            "commit": {"id": "0123456789abcdef", "modified": False},
        },
        "quiet": True,
        "peers": {
            name: {
                "title": title,
                "about": "For tests.",
                "ours": name == "howdah",
                "versions": {"x": "x 1.0"},
            }
            for name, title in peers.items()
        },
        "cases": {"hello": {"title": "Hello <world>", "about": "About.", "path": "/index.php"}},
    }


def recorded(folder: Path, samples: list[Sample], *, complete: bool = True, **more: object) -> Run:
    """Writes a run to `folder` and reads it back; `more` is added to run.json."""
    names = {"howdah": "Howdah", "nginx-fpm": "nginx + php-fpm"}
    recorder = Recorder(folder, {**info(names), **more})
    for one in samples:
        recorder.sample(one, "text of wrk")
    for peer in names:
        recorder.start(
            Start(
                peer=peer,
                case="hello",
                round=1,
                seconds=0.5,
                pss_idle=20 * 1024 * 1024,
                pss_load=30 * 1024 * 1024,
                processes=6,
                forced_stops=[],
                accounting="cgroup v2",
                probe=PROBE,
            )
        )
    recorder.complete(whole=complete)
    return load_run(folder)


def three_rounds() -> list[Sample]:
    """Returns Howdah at 4x, 3x and 5x; the machine is half as fast in the second round."""
    return [
        sample("howdah", 1, 4000, cpu=0.1),
        sample("nginx-fpm", 1, 1000, cpu=0.1),
        sample("howdah", 2, 1500, cpu=0.1),
        sample("nginx-fpm", 2, 500, cpu=0.1),
        sample("howdah", 3, 5000, cpu=0.1),
        sample("nginx-fpm", 3, 1000, cpu=0.1),
    ]


def of_processes() -> Run:
    """Returns two servers with 4 and 8 processes, also at a constant rate; never on disk.

    With 4 processes, Howdah drops 15 of 100 and nginx 40. With 8, none are dropped.
    """
    names = {"howdah": "Howdah", "nginx-fpm": "nginx + php-fpm"}
    peers = info(
        {
            f"{name}-w{count}": f"{title}, {count} processes"
            for name, title in names.items()
            for count in (4, 8)
        }
    )["peers"]
    samples, starts = [], []
    for peer, facts in peers.items():
        base, _, count = peer.rpartition("-w")
        facts.update(workers=int(count), base=base, ours=base == "howdah")
        speed = 1000 * int(count)
        dropped = 0 if count == "8" else {"howdah": 15, "nginx-fpm": 40}[base]
        closed = replace(sample(peer, 1, speed), load=replace(load(speed), p95=850))
        slow = {"p50": 23, "p95": 40, "p99": 50, "max": 60}
        times = {name: ms * 1000 * (1 + dropped) for name, ms in slow.items()}
        opened = replace(load(100 - dropped), **times)
        samples += [closed, replace(sample(peer, 1, 100), rate=100, load=opened)]
        size = 10 * int(count) * 1024 * 1024
        starts.append(Start(peer, "hello", 1, 0.5, size, 2 * size, 6, [], "cgroup v2", PROBE))
    facts = {**info({}), "complete": True, "peers": peers, "rates": {"hello": 100}}
    return Run(Path("nowhere"), facts, samples, starts)
