"""Selects the peers and cases of a command."""

from __future__ import annotations

import datetime
import os
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from bench.harness import cores, machine
from bench.harness.cases import load_cases
from bench.harness.errors import BenchError
from bench.harness.peers import absent_peers, load_peers

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from bench.harness.cases import Case
    from bench.harness.peers import Peer
    from bench.harness.plan import Options

DEFAULT_CASES = ("hello", "page-50k", "symfony")
QUIET_LOAD_AVERAGE = 0.5


def default_peers() -> list[Peer]:
    """Returns the installed peers of a run without `--peer`: ours first, then the others."""
    peers = [peer for peer in load_peers().values() if peer.share != "no" and not peer.missing()]
    return sorted(peers, key=lambda peer: (not peer.ours, peer.share != "all"))


def without(names: Iterable[str], missing: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Returns the available names; reports the missing ones."""
    kept = []
    for name in names:
        if name in missing:
            print(f"left out: {name}: {missing[name]['reason']}", file=sys.stderr)
        else:
            kept.append(name)
    return kept


def choose_peers(wanted: Iterable[str]) -> list[Peer]:
    """Selects peers by name; all of their programs must be installed."""
    known = load_peers()
    absent = absent_peers()
    chosen = []
    for name in wanted:
        if name in absent:
            raise BenchError(f"peer {name}: {absent[name]['reason']}")
        if name not in known:
            raise BenchError(f"no peer {name}; there are: {', '.join(known)}")
        chosen.append(known[name])
    if not chosen:
        raise BenchError("no peer was named")
    return chosen


def choose_cases(wanted: Iterable[str]) -> list[Case]:
    """Selects cases by name; their requirements must be installed."""
    known = load_cases()
    chosen = []
    for name in wanted:
        if name not in known:
            raise BenchError(f"no case {name}; there are: {', '.join(known)}")
        missing = known[name].missing()
        if missing:
            raise BenchError(f"case {name}: {missing}")
        chosen.append(known[name])
    if not chosen:
        raise BenchError("no case was named")
    return chosen


def absent_cases(wanted: Iterable[str]) -> dict[str, dict[str, str]]:
    """Returns title and reason of every selected case that cannot be measured here, by name."""
    known = load_cases()
    return {
        name: {"title": known[name].title, "reason": reason}
        for name in wanted
        if name in known and (reason := known[name].missing()) is not None
    }


def describe(options: Options, peers: list[Peer], cases: list[Case]) -> dict[str, Any]:
    """Returns the contents of run.json before the first figure."""
    facts = machine.facts()
    pinned = cores.split(os.sched_getaffinity(0))
    servers = [peer for peer in peers if not peer.is_reference]
    if not servers:
        raise BenchError("php-loop and hyper are references: name a server of PHP beside them")
    return {
        "started": datetime.datetime.now(tz=datetime.UTC).isoformat(timespec="seconds"),
        "options": asdict(options),
        "machine": {**facts, "cores": None if pinned is None else pinned.facts()},
        "quiet": facts["load_average"] <= QUIET_LOAD_AVERAGE,
        "peers": {peer.name: _peer(peer) for peer in servers},
        "references": {peer.name: _peer(peer) for peer in peers if peer.is_reference},
        "absent": absent_peers(),
        "cases": {
            case.name: {
                "title": case.title,
                "about": case.about,
                "method": case.method,
                "path": case.path,
                "gzip": case.gzip,
                "body_sha256": case.check.body_sha256,
                "beside": "" if case.beside is None else case.beside.name,
                "of": first.name,
            }
            for first in cases
            for case in first.both
        },
        "not_offered": {
            case.name: {
                peer.name: reason for peer in servers if (reason := case.refusal(peer)) is not None
            }
            for first in cases
            for case in first.both
        },
    }


def _peer(peer: Peer) -> dict[str, Any]:
    return {
        "title": peer.title,
        "about": peer.about,
        "ours": peer.ours,
        "workers": peer.workers,
        "base": peer.base,
        "before": peer.before,
        "share": peer.share,
        "versions": {name: binary.version_text() for name, binary in peer.binaries.items()},
    }
