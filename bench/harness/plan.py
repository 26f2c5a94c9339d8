"""The plan of a run: its options, its turns, and their duration."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bench.harness.cases import Case
    from bench.harness.peers import Peer

# Time for start, checks and stop of a server, and around a load generator; measured.
OVERHEAD_START_SECONDS = 0.7
OVERHEAD_RUN_SECONDS = 0.3
OVERHEAD_CALIBRATION_SECONDS = 3.0


@dataclass(frozen=True)
class Options:
    """Options of the command line; durations in seconds.

    `few_rounds` applies to peers with the share `few` in a run without `--peer`, which have no open
    loop there. `open_share` is the arrival rate of the open loop as a part of the calibrated rate,
    0 for none. `rate` sets it in requests per second instead. `title` is the heading of the report.
    """

    connections: list[int]
    duration: int
    warm_up: int
    rounds: int
    threads: int
    workers: int
    php_ini: dict[str, str] = field(default_factory=dict)
    few_rounds: int | None = None
    open_share: float = 0.0
    rate: int = 0
    title: str = ""

    @property
    def open_loop(self) -> bool:
        """Whether there is an open loop too."""
        return self.open_share > 0 or self.rate > 0


@dataclass(frozen=True)
class Turn:
    """One start of a peer for a case and the one to compare with; `number` counts rounds from 0."""

    number: int
    case: Case
    peer: Peer

    @property
    def key(self) -> tuple[int, str, str]:
        """Returns the key under which it is recorded."""
        return (self.number + 1, self.case.name, self.peer.name)

    @property
    def each(self) -> list[Turn]:
        """Returns a turn for each of both; the other one goes first in the next round."""
        found = [Turn(self.number, case, self.peer) for case in self.case.both]
        return found if self.number % 2 == 0 else found[::-1]

    def open_loop(self, options: Options) -> bool:
        """Whether the open loop is run as well."""
        if options.few_rounds is not None and self.peer.share == "few":
            return False
        return options.open_loop and not self.peer.is_reference and not self.case.slow_path

    def steps(self, options: Options) -> int:
        """Returns the number of samples."""
        if self.peer.contract == "loop":
            return 1
        loads = len(options.connections) + self.open_loop(options)
        return loads * len(self.case.both)

    def seconds(self, options: Options) -> float:
        """Returns the approximate duration in seconds."""
        if self.peer.contract == "loop":
            return options.duration
        warm_up = len(self.case.both) * (options.warm_up + OVERHEAD_RUN_SECONDS)
        return (
            OVERHEAD_START_SECONDS
            + warm_up
            + self.steps(options) * (options.duration + OVERHEAD_RUN_SECONDS)
        )


def rotated(peers: list[Peer], number: int) -> list[Peer]:
    """Rotates the peers in each round, so that no position in the order is favoured."""
    shift = number % len(peers)
    return peers[shift:] + peers[:shift]


def rounds_of(peer: Peer, options: Options) -> int:
    """Returns how often a peer is measured."""
    if options.few_rounds is not None and peer.share == "few":
        return options.few_rounds
    return options.rounds


def turns(options: Options, peers: list[Peer], cases: list[Case]) -> list[Turn]:
    """Returns all turns in order, without unsupported ones."""
    return [
        Turn(number, case, peer)
        for number in range(options.rounds)
        for case in cases
        for peer in rotated(peers, number)
        if number < rounds_of(peer, options) and case.refusal(peer) is None
    ]


def estimate_seconds(options: Options, plan: Iterable[Turn], cases: int) -> float:
    """Returns the duration of a run."""
    calibrates = options.open_loop and not options.rate
    calibration = cases * OVERHEAD_CALIBRATION_SECONDS if calibrates else 0.0
    return calibration + sum(turn.seconds(options) for turn in plan)


def two_digits(rate: float) -> int:
    """Rounds a rate to two digits, because it is not exact; at least one request per second."""
    whole = int(rate)
    unit = 1
    while whole // unit >= 100:  # noqa: PLR2004  two digits
        unit *= 10
    return max(1, whole // unit * unit)


def baseline(peers: list[Peer], case: Case) -> Peer | None:
    """Returns the peer whose speed sets the open loop's rate: the first that is not Howdah."""
    fit = [peer for peer in peers if not peer.is_reference and case.refusal(peer) is None]
    rivals = (peer for peer in fit if not peer.ours and not peer.before)
    return next(rivals, fit[0] if fit else None)
