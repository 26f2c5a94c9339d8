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

from bench.harness import phpini
from bench.harness.cases import load_cases
from bench.harness.compare import compare
from bench.harness.errors import BenchError
from bench.harness.peers import load_peers
from bench.harness.progress import Progress, clock
from bench.harness.publish import publish
from bench.harness.report_html import html_report
from bench.harness.report_markdown import markdown_report
from bench.harness.results import Recorder, load_run
from bench.harness.runner import Options, Runner, describe, estimate_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bench.harness.cases import Case
    from bench.harness.peers import Peer

OUT = Path(__file__).parent.parent / "out"
DEFAULT_PEERS = ("howdah", "nginx-fpm", "nginx-fpm-keepalive")
DEFAULT_CASES = ("hello", "page-50k", "symfony")
DEFAULT_CONNECTIONS = "8,32,64,100"
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
    run.add_argument("--peer", type=names, default=list(DEFAULT_PEERS), help="comma-separated")
    run.add_argument("--case", type=names, default=list(DEFAULT_CASES), help="comma-separated")
    run.add_argument(
        "--connections",
        type=numbers,
        help=f"connections of the load generator, comma-separated (default {DEFAULT_CONNECTIONS})",
    )
    run.add_argument("--duration", type=positive, help="seconds of one sample (default 4)")
    run.add_argument("--rounds", type=positive, default=3, help="samples of each cell (default 3)")
    run.add_argument("--warm-up", type=positive, default=1, help="seconds (default 1)")
    run.add_argument("--threads", type=positive, default=2, help="threads of wrk (default 2)")
    run.add_argument(
        "--quick", action="store_true", help="32 connections and 2 s, unless given otherwise"
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

    commands.add_parser("list", help="peers and cases, and what is missing to run them")
    return top


def new_folder(wanted: Path | None, begin: str = "") -> Path:
    """A result folder that does not exist yet."""
    now = datetime.datetime.now(tz=datetime.UTC)
    folder = wanted or OUT / f"{begin}{now:%Y%m%d-%H%M%S}"
    if folder.exists():
        raise BenchError(f"{folder} exists; an old run is never overwritten: choose another --out")
    return folder


def choose_peers(wanted: Iterable[str]) -> list[Peer]:
    """Peers by name; all of their programs have to be there."""
    known = load_peers()
    chosen = []
    for name in wanted:
        if name not in known:
            raise BenchError(f"no peer {name}; there are: {', '.join(known)}")
        missing = known[name].missing()
        if missing:
            raise BenchError(f"peer {name}: {missing[0]}")
        chosen.append(known[name])
    return chosen


def choose_cases(wanted: Iterable[str]) -> list[Case]:
    """Cases by name."""
    known = load_cases()
    chosen = []
    for name in wanted:
        if name not in known:
            raise BenchError(f"no case {name}; there are: {', '.join(known)}")
        chosen.append(known[name])
    return chosen


def write_reports(folder: Path, faults: Path | None = None) -> None:
    """Writes report.md and report.html into the folder of a run."""
    run = load_run(folder)
    if faults is not None:
        shutil.copytree(faults, folder / "faults", dirs_exist_ok=True)
    (folder / "report.md").write_text(markdown_report(run))
    (folder / "report.html").write_text(html_report(run))


def run_command(arguments: argparse.Namespace) -> int:
    """`run`."""
    default = "32" if arguments.quick else DEFAULT_CONNECTIONS
    options = Options(
        connections=arguments.connections or numbers(default),
        duration=arguments.duration or (2 if arguments.quick else 4),
        warm_up=arguments.warm_up,
        rounds=arguments.rounds,
        threads=arguments.threads,
        workers=arguments.workers,
        php_ini=phpini.shared_ini(arguments.php_ini),
    )
    peers = choose_peers(arguments.peer)
    cases = choose_cases(arguments.case)
    folder = new_folder(arguments.out)
    info = describe(options, peers, cases)
    progress = Progress(options.rounds * len(peers) * len(cases) * len(options.connections))
    progress.note(
        f"{len(peers)} peers, {len(cases)} cases, {options.rounds} rounds: "
        f"about {clock(estimate_seconds(options, len(peers), len(cases)))} minutes"
    )
    if not info["quiet"]:
        load_average = info["machine"]["load_average"]
        progress.note(
            f"warning: load average {load_average:.1f}: others use this machine; "
            f"the figures will be poor. Wait until it is quiet."
        )
    recorder = Recorder(folder, info)
    interrupted = False
    good = False
    with tempfile.TemporaryDirectory(prefix="howdah-bench-") as temporary:
        try:
            good = Runner(options, peers, cases, recorder, progress).run(Path(temporary))
        except KeyboardInterrupt:
            interrupted = True
            progress.note("interrupted: the report shows what was measured so far")
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


def list_command(_arguments: argparse.Namespace) -> int:
    """`list`."""
    print("Peers:")
    for peer in load_peers().values():
        missing = peer.missing()
        print(f"  {peer.name:<22} {peer.title}{''.join(f'; {text}' for text in missing)}")
    print("Cases:")
    for case in load_cases().values():
        print(f"  {case.name:<22} {case.title}: {case.about}")
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
