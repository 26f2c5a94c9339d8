"""Compares an earlier build of Howdah with this one: `run --against PATH`, and its targets."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bench.harness import figures
from bench.harness.errors import BenchError
from bench.harness.goals import Finding, Target

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from bench.harness.peers import Peer
    from bench.harness.results import Run

PROGRAM = "howdah"
SUBJECT = "howdah-worker"
# Below this ratio it is slower even if the rounds disagree.
LEAST = 0.95
CASES = {"hello": "Hello world", "symfony": "Symfony", "codeigniter": "CodeIgniter"}


def with_before(peers: list[Peer], program: Path | None) -> list[Peer]:
    """Adds a peer with the other program after each Howdah; without a program, nothing changes.

    Raises:
        BenchError: the program does not exist, or Howdah is not among the peers.
    """
    if program is None:
        return peers
    path = program.expanduser().resolve()
    if not path.is_file():
        raise BenchError(f"--against {program}: there is no such file; name the other howdah")
    found = []
    for peer in peers:
        found.append(peer)
        if peer.ours and PROGRAM in peer.binaries:
            binary = replace(peer.binaries[PROGRAM], names=(str(path),))
            found.append(
                replace(
                    peer,
                    name=f"{peer.name}-before",
                    title=f"{peer.title}, before",
                    about=f"{peer.about} An earlier build, that of `--against`.",
                    binaries={**peer.binaries, PROGRAM: binary},
                    ours=False,
                    before=peer.name,
                )
            )
    if len(found) == len(peers):
        raise BenchError("--against compares builds of Howdah: name one with --peer")
    return found


def not_slower(case: str, kind: str) -> Callable[[Run], list[Finding]]:
    """Evaluates a ratio to the earlier build; `kind` is `ratio` or `cpu_ratio`.

    If the rounds disagree on which build is ahead, there is no difference, unless the median is far
    below.
    """

    def measure(run: Run) -> list[Finding]:
        before = next(
            (name for name, facts in run.info["peers"].items() if facts.get("before") == SUBJECT),
            None,
        )
        if before is None or case not in run.cases:
            return []
        compare = run.ratio if kind == "ratio" else run.cpu_ratio
        return [
            Finding(
                f"{connections} connections",
                figures.ratio(ratio),
                ratio.high >= 1 and ratio.median >= LEAST,
            )
            for connections in run.connections
            if (ratio := compare(SUBJECT, before, case, connections)) is not None
        ]

    return measure


def targets() -> Iterator[Target]:
    """Returns all targets."""
    for case, words in CASES.items():
        for kind, what in (("ratio", "req/s"), ("cpu_ratio", "CPU per request, times less")):
            yield Target(
                f"{words}, worker, against the build before: {what}",
                f"1x, {LEAST:g}x where the rounds do not agree",
                f"{SUBJECT} in the case {case}: make -C bench before AGAINST=PATH",
                not_slower(case, kind),
            )
