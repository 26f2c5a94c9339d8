"""The command line."""

from __future__ import annotations

import argparse
import datetime
import re
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from bench.harness import phpini, plan
from bench.harness.cases import load_cases
from bench.harness.choose import (
    DEFAULT_CASES,
    choose_cases,
    choose_peers,
    default_peers,
    describe,
)
from bench.harness.compare import compare
from bench.harness.errors import BenchError
from bench.harness.machine import commit
from bench.harness.open_loop import HINT, find_oha
from bench.harness.peers import absent_peers, load_peers
from bench.harness.plan import Options
from bench.harness.progress import Progress, clock
from bench.harness.publish import publish
from bench.harness.recorder import Recorder
from bench.harness.report_html import html_report
from bench.harness.report_markdown import markdown_report
from bench.harness.results import load_run
from bench.harness.runner import Runner

if TYPE_CHECKING:
    from bench.harness.cases import Case
    from bench.harness.peers import Peer

OUT = Path(__file__).parent.parent / "out"
DEFAULT_CONNECTIONS = "8,32,100"
DEFAULT_OPEN_SHARE = 0.6
# Full and quick: seconds of a sample, rounds, rounds of the peers with the share `few`.
FULL = (3, 3, 2)
QUICK = (2, 3, 1)
INTERRUPTED = 130


def positive(text: str) -> int:
    """An argument that has to be a whole number above zero."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number above 0")
    return value


def numbers(text: str) -> list[int]:
    """A comma-separated list of such numbers."""
    return [positive(part) for part in text.split(",")]


def rate(text: str) -> int:
    """A whole number, 0 included."""
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text} is below 0")
    return value


def names(text: str) -> list[str]:
    """A comma-separated list of names."""
    return [part for part in text.split(",") if part]


def common(parser: argparse.ArgumentParser) -> None:
    """What `run` and `faults` share."""
    parser.add_argument(
        "--workers", type=positive, default=4, help="PHP processes of each peer (default 4)"
    )
    parser.add_argument(
        "--php-ini",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a php.ini value for every peer, on top of bench/php.ini; repeatable",
    )
    parser.add_argument("--out", type=Path, help="folder for the results (default bench/out/TIME)")


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    top = argparse.ArgumentParser(
        prog="python3 -m bench",
        description="Measures Howdah and its peers side by side on this machine.",
    )
    commands = top.add_subparsers(dest="command", required=True)

    run = commands.add_parser("run", help="measure, then write a report")
    run.add_argument(
        "--peer", type=names, help="comma-separated (default: those of `list` that are installed)"
    )
    run.add_argument("--case", type=names, default=list(DEFAULT_CASES), help="comma-separated")
    run.add_argument(
        "--connections",
        type=numbers,
        help=f"connections of the load generator, comma-separated (default {DEFAULT_CONNECTIONS})",
    )
    run.add_argument("--duration", type=positive, help="seconds of one sample (default 3)")
    run.add_argument("--rounds", type=positive, help="samples of each cell (default 3)")
    run.add_argument("--warm-up", type=positive, default=1, help="seconds (default 1)")
    run.add_argument("--threads", type=positive, default=2, help="threads of wrk (default 2)")
    run.add_argument(
        "--rate",
        type=rate,
        help="requests per second of the open loop, 0 for none (default: "
        f"{DEFAULT_OPEN_SHARE * 100:.0f} %% of what the first peer that is not Howdah answers)",
    )
    run.add_argument(
        "--quick", action="store_true", help="32 connections and 2 s, unless given otherwise"
    )
    run.add_argument(
        "--resume", type=Path, metavar="RUN", help="goes on with an interrupted run, as it began"
    )
    common(run)

    report = commands.add_parser("report", help="write the report of a run again, or publish it")
    report.add_argument("run", type=Path, nargs="?", help="folder of a run (default: the newest)")
    report.add_argument(
        "--publish",
        metavar="NAME",
        help="copy the run to bench/results/DATE-NAME and write docs/benchmarks.md from it",
    )
    report.add_argument("--faults", type=Path, help="folder of a `faults` run, to be added")

    versus = commands.add_parser("compare", help="what changed between two runs")
    versus.add_argument("before", type=Path)
    versus.add_argument("after", type=Path)

    faults = commands.add_parser("faults", help="what faults cost the requests beside them")
    faults.add_argument("--peer", type=names, default=["howdah", "nginx-fpm"])
    faults.add_argument("--fault", type=names, help="comma-separated (default: all)")
    faults.add_argument("--duration", type=positive, default=5, help="seconds (default 5)")
    faults.add_argument("--connections", type=positive, default=8, help="default 8")
    faults.add_argument("--idle-connections", type=positive, default=10_000, help="default 10000")
    faults.add_argument(
        "--flood-clients", type=positive, default=2_000, help="clients of the full queue"
    )
    common(faults)

    soak = commands.add_parser(
        "soak", help="requests of every kind in one process, with databases, looked at for mixing"
    )
    soak.add_argument("--requests", type=positive, default=100_000, help="default 100000")

    commands.add_parser("list", help="peers and cases, and what is missing to run them")
    return top


def new_folder(wanted: Path | None, begin: str = "") -> Path:
    """A result folder that does not exist yet."""
    now = datetime.datetime.now(tz=datetime.UTC)
    folder = wanted or OUT / f"{begin}{now:%Y%m%d-%H%M%S}"
    if folder.exists():
        raise BenchError(f"{folder} exists; an old run is never overwritten: choose another --out")
    return folder


def write_reports(folder: Path, faults: Path | None = None) -> None:
    """Writes report.md and report.html into the folder of a run."""
    run = load_run(folder)
    if faults is not None:
        shutil.copytree(faults, folder / "faults", dirs_exist_ok=True)
    (folder / "report.md").write_text(markdown_report(run))
    (folder / "report.html").write_text(html_report(run))


def options_of(arguments: argparse.Namespace) -> Options:
    """The options of a new run."""
    duration, rounds, few_rounds = QUICK if arguments.quick else FULL
    default = "32" if arguments.quick else DEFAULT_CONNECTIONS
    whole = arguments.peer is None and arguments.rounds is None
    wanted = arguments.rate is None or arguments.rate > 0
    if wanted and find_oha() is None:
        print(f"oha is not installed: no open loop; try: {HINT}", file=sys.stderr)
        wanted = False
    return Options(
        connections=arguments.connections or numbers(default),
        duration=arguments.duration or duration,
        warm_up=arguments.warm_up,
        rounds=arguments.rounds or rounds,
        few_rounds=few_rounds if whole else None,
        threads=arguments.threads,
        workers=arguments.workers,
        php_ini=phpini.shared_ini(arguments.php_ini),
        open_share=DEFAULT_OPEN_SHARE if wanted else 0.0,
        rate=arguments.rate or 0 if wanted else 0,
    )


def resume(folder: Path) -> tuple[Recorder, Options, list[Peer], list[Case]]:
    """An interrupted run with what it was begun with.

    Raises:
        BenchError: it is whole, or another commit is checked out.
    """
    recorder = Recorder.resumed(folder)
    begun, now = recorder.info["machine"]["commit"], commit()
    if begun["id"] != now["id"]:
        raise BenchError(f"{folder} was begun with commit {begun['id'][:12]}; check that out")
    options = Options(**recorder.info["options"])
    peers = [*recorder.info["peers"], *recorder.info["references"]]
    return recorder, options, choose_peers(peers), choose_cases(recorder.info["cases"])


def run_command(arguments: argparse.Namespace) -> int:
    """`run`."""
    if arguments.resume is not None:
        recorder, options, peers, cases = resume(arguments.resume)
    else:
        options = options_of(arguments)
        peers = default_peers() if arguments.peer is None else choose_peers(arguments.peer)
        cases = choose_cases(arguments.case)
        recorder = Recorder(new_folder(arguments.out), describe(options, peers, cases))
    turns = plan.turns(options, peers, cases)
    seconds = plan.estimate_seconds(
        options, [turn for turn in turns if turn.key not in recorder.done], len(cases)
    )
    progress = Progress(sum(turn.steps(options) for turn in turns))
    progress.note(
        f"{len(peers)} peers, {len(cases)} cases, {options.rounds} rounds: "
        f"about {clock(seconds)} minutes"
    )
    if not recorder.info["quiet"]:
        load_average = recorder.info["machine"]["load_average"]
        progress.note(
            f"warning: load average {load_average:.1f}: others use this machine; "
            f"the figures will be poor. Wait until it is quiet."
        )
    folder = recorder.folder
    interrupted = False
    good = False
    with tempfile.TemporaryDirectory(prefix="howdah-bench-") as temporary:
        try:
            good = Runner(options, peers, cases, recorder, progress).run(Path(temporary))
        except KeyboardInterrupt:
            interrupted = True
            progress.note(f"interrupted; to go on: python3 -m bench run --resume {folder}")
    recorder.complete(whole=not interrupted)
    write_reports(folder)
    print(f"{folder}/report.md\n{folder}/report.html")
    if interrupted:
        return INTERRUPTED
    return 0 if good else 1


def newest_run() -> Path:
    """The run that began last."""
    runs = sorted(path.parent for path in OUT.glob("*/run.json"))
    if not runs:
        raise BenchError("there is no run yet; try: python3 -m bench run")
    return runs[-1]


def report_command(arguments: argparse.Namespace) -> int:
    """`report`."""
    folder = arguments.run or newest_run()
    write_reports(folder, arguments.faults)
    if arguments.publish is not None:
        if not re.fullmatch(r"[a-z0-9][a-z0-9-]*", arguments.publish):
            raise BenchError("--publish NAME: lower-case letters, digits and hyphens only")
        for path in publish(folder, arguments.publish):
            print(path)
    else:
        print(f"{folder}/report.md\n{folder}/report.html")
    return 0


def compare_command(arguments: argparse.Namespace) -> int:
    """`compare`."""
    print(compare(load_run(arguments.before), load_run(arguments.after)), end="")
    return 0


def faults_command(arguments: argparse.Namespace) -> int:
    """`faults`."""
    # Imported here: `run` and `report` do not need any of it.
    from bench.faults.command import measure_faults  # noqa: PLC0415

    peers = choose_peers(arguments.peer)
    return measure_faults(arguments, peers, new_folder(arguments.out, "faults-"))


def soak_command(arguments: argparse.Namespace) -> int:
    """`soak`."""
    # Imported here: the others do not need it.
    from bench.soak.command import soak  # noqa: PLC0415

    return soak(arguments)


def list_command(_arguments: argparse.Namespace) -> int:
    """`list`."""
    absent = absent_peers()
    print("Peers (* in a run without --peer):")
    for peer in load_peers().values():
        if peer.name not in absent:
            mark = " " if peer.share == "no" else "*"
            print(f"{mark} {peer.name:<24} {peer.title}")
    print("Absent:")
    for name, facts in absent.items():
        print(f"  {name:<24} {facts['title']}: {facts['reason']}")
    print("Cases (* in a run without --case):")
    for case in load_cases().values():
        missing = case.missing()
        mark = "*" if case.name in DEFAULT_CASES else " "
        print(f"{mark} {case.name:<24} {case.title}{f'; {missing}' if missing else ''}")
    return 0


def _interrupt(_number: int, _frame: object) -> NoReturn:
    # A second signal must not break off the stopping of the servers, which ends in any case.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt


def main(argv: list[str] | None = None) -> int:
    """Runs a command; 0 when all is well, 1 after failures, 2 for wrong arguments."""
    arguments = parser().parse_args(argv)
    # Ended from outside, the servers have to be stopped just as after Ctrl-C.
    signal.signal(signal.SIGINT, _interrupt)
    signal.signal(signal.SIGTERM, _interrupt)
    commands = {
        "run": run_command,
        "report": report_command,
        "compare": compare_command,
        "faults": faults_command,
        "soak": soak_command,
        "list": list_command,
    }
    try:
        return commands[arguments.command](arguments)
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
