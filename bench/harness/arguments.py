"""The commands and options of the command line."""

from __future__ import annotations

import argparse
from pathlib import Path

from bench.harness.choose import DEFAULT_CASES
from bench.harness.whole import PARTS

DEFAULT_CONNECTIONS = "8,32,100,200"
DEFAULT_OPEN_SHARE = 0.6


def positive(text: str) -> int:
    """Parses a whole number above zero."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number above 0")
    return value


def numbers(text: str) -> list[int]:
    """Parses a comma-separated list of such numbers."""
    return [positive(part) for part in text.split(",")]


def rate(text: str) -> int:
    """Parses a whole number, including 0."""
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text} is below 0")
    return value


def names(text: str) -> list[str]:
    """Parses a comma-separated list of names."""
    return [part for part in text.split(",") if part]


def part_names(text: str) -> list[str]:
    """Parses a comma-separated list of parts of `all`."""
    found = names(text)
    for name in found:
        if name not in PARTS:
            raise argparse.ArgumentTypeError(f"no part {name}; there are: {', '.join(PARTS)}")
    return found


def common(
    parser: argparse.ArgumentParser,
    out: str = "folder for the results (default bench/out/TIME)",
) -> None:
    """Adds the common options of `run`, `all`, `faults` and `profiler`."""
    parser.add_argument(
        "--php-ini",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a php.ini value for every peer, on top of bench/php.ini; repeatable",
    )
    parser.add_argument("--out", type=Path, help=out)


def skip_missing(parser: argparse.ArgumentParser, what: str) -> None:
    """Adds the option of `run` and `profiler` for what is not installed."""
    parser.add_argument(
        "--skip-missing",
        action="store_true",
        help=f"skip {what} that this machine lacks; the report gives the reasons",
    )


def against(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `run` and `all` for an earlier build."""
    parser.add_argument(
        "--against",
        type=Path,
        metavar="PATH",
        help="another howdah, with its howdah-php in the same folder, measured in turns",
    )


def everything(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `all`."""
    parser.add_argument(
        "--part",
        type=part_names,
        help=f"comma-separated: {', '.join(PARTS)} (default: all, `before` with --against)",
    )
    against(parser)
    common(parser)


def own_application(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `run` for something that is not in bench/cases."""
    parser.add_argument(
        "--app",
        type=Path,
        metavar="DIR",
        help="measure this application: a copy of it is served by every peer, index.php in it or "
        "in its public folder serves every path that is not a file",
    )
    parser.add_argument("--path", default="/", help="path of the requests to --app (default /)")
    parser.add_argument("--root", metavar="FOLDER", help="document root below --app's folder")
    parser.add_argument(
        "--expect", default="", metavar="TEXT", help="text of a correct response of --app or --url"
    )
    parser.add_argument(
        "--worker-script", default="", metavar="FILE", help="FrankenPHP's worker script in --app"
    )
    parser.add_argument(
        "--url",
        action="append",
        default=[],
        help="measure a server that is running, without its CPU time and memory; repeatable",
    )


def reports(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the options of commands that report on existing runs."""
    report = commands.add_parser("report", help="write the report of a run again, or publish it")
    report.add_argument("run", type=Path, nargs="?", help="folder of a run (default: the newest)")
    report.add_argument(
        "--publish",
        metavar="NAME",
        help="keep the run in bench/results/DATE-NAME and write docs/benchmarks.md from it",
    )
    report.add_argument("--faults", type=Path, help="folder of a `faults` run that is added")
    report.add_argument(
        "--with",
        dest="more",
        type=Path,
        nargs="+",
        default=[],
        metavar="RUN",
        help="folders of other runs whose tables are added",
    )

    commands.add_parser(
        "pages", help="write the tables and charts of README.md and docs from the published runs"
    )


def profiler(command: argparse.ArgumentParser) -> None:
    """Adds the options of `profiler`."""
    command.add_argument(
        "--case",
        type=names,
        default=["deep", "symfony", "codeigniter"],
        help="comma-separated; `deep` has a stack of 200 frames (default deep,symfony,codeigniter)",
    )
    command.add_argument("--duration", type=positive, default=5, help="seconds (default 5)")
    command.add_argument("--rounds", type=positive, default=6, help="default 6")
    command.add_argument("--connections", type=positive, default=16, help="default 16")
    command.add_argument("--workers", type=positive, default=8, help="PHP processes (default 8)")
    skip_missing(command, "cases")
    common(command, out="folder for a table, which shows what is missed (default: status 1 does)")


def measurement(command: argparse.ArgumentParser) -> None:
    """Adds the options of `run`."""
    command.add_argument(
        "--peer", type=names, help="comma-separated (default: those of `list` that are installed)"
    )
    command.add_argument(
        "--case", type=names, help=f"comma-separated (default {','.join(DEFAULT_CASES)})"
    )
    skip_missing(command, "peers and cases")
    command.add_argument(
        "--connections",
        type=numbers,
        help=f"connections of the load generator, comma-separated (default {DEFAULT_CONNECTIONS})",
    )
    command.add_argument("--duration", type=positive, help="seconds of one sample (default 3)")
    command.add_argument("--rounds", type=positive, help="samples of each cell (default 3)")
    command.add_argument("--warm-up", type=positive, default=1, help="seconds (default 1)")
    command.add_argument("--threads", type=positive, default=2, help="threads of wrk (default 2)")
    command.add_argument(
        "--rate",
        type=rate,
        help="requests per second of the open loop, 0 for none (default: "
        f"{DEFAULT_OPEN_SHARE * 100:.0f} %% of the rate of the first peer that is not Howdah)",
    )
    command.add_argument(
        "--quick", action="store_true", help="32 connections and 2 s, unless given otherwise"
    )
    command.add_argument(
        "--resume", type=Path, metavar="RUN", help="continue an interrupted run with its options"
    )
    command.add_argument(
        "--workers",
        type=numbers,
        default=[4],
        help="PHP processes of each peer (default 4); several, comma-separated, are compared",
    )
    command.add_argument("--title", default="", help="heading of the report")
    against(command)
    own_application(command)
    common(command)


def comparison(command: argparse.ArgumentParser) -> None:
    """Adds the arguments of `compare`."""
    command.add_argument("before", type=Path)
    command.add_argument("after", type=Path)


def faults(command: argparse.ArgumentParser) -> None:
    """Adds the options of `faults`."""
    command.add_argument(
        "--peer",
        type=names,
        help="comma-separated (default: of howdah, nginx-fpm, caddy-fpm and frankenphp what is "
        "installed; for the fault `replace` all with a worker mode)",
    )
    command.add_argument("--fault", type=names, help="comma-separated (default: all)")
    command.add_argument("--duration", type=positive, default=5, help="seconds (default 5)")
    command.add_argument("--connections", type=positive, default=8, help="default 8")
    command.add_argument(
        "--losses", type=positive, default=50, help="of a worker, for `replace` (default 50)"
    )
    command.add_argument("--idle-connections", type=positive, default=10_000, help="default 10000")
    command.add_argument(
        "--flood-clients", type=positive, default=2_000, help="clients of the full queue"
    )
    command.add_argument(
        "--workers", type=positive, default=4, help="PHP processes of each peer (default 4)"
    )
    common(command)


def tls(command: argparse.ArgumentParser) -> None:
    """Adds the options of `tls`."""
    command.add_argument("--peer", type=names, default=["howdah", "nginx"], help="default both")
    command.add_argument("--idle", type=positive, default=10_000, help="default 10000")
    command.add_argument("--active", type=positive, default=1_000, help="default 1000")
    command.add_argument("--duration", type=positive, default=60, help="seconds (default 60)")
    command.add_argument("--out", type=Path, help="folder for the results (default: a new one)")


def soak(command: argparse.ArgumentParser) -> None:
    """Adds the options of `soak`."""
    command.add_argument("--requests", type=positive, default=100_000, help="default 100000")
    command.add_argument(
        "--only", default="", metavar="RUN", help="runs with RUN in their name, such as with_jit"
    )
    command.add_argument(
        "--php",
        type=Path,
        help="PHP executable, as of `make -C worker asan` (default: beside howdah)",
    )
    command.add_argument(
        "--cost",
        action="store_true",
        help="instead: CPU of an empty request beside worker mode's, memory of one that waits",
    )


def parser() -> argparse.ArgumentParser:
    """Returns the parser of the whole command line."""
    top = argparse.ArgumentParser(
        prog="python3 -m bench",
        description="Measures Howdah and its peers side by side on this machine.",
    )
    commands = top.add_subparsers(dest="command", required=True)
    measurement(commands.add_parser("run", help="measure, then write a report"))
    everything(commands.add_parser("all", help="all measurements of `make bench` in one report"))
    reports(commands)
    comparison(commands.add_parser("compare", help="differences between two runs"))
    faults(commands.add_parser("faults", help="cost of faults for concurrent requests"))
    tls(commands.add_parser("tls", help="cost of idle and active TLS connections"))
    soak(
        commands.add_parser(
            "soak",
            help="requests of every kind in one process, with databases, checked for mixed-up data",
        )
    )
    profiler(commands.add_parser("profiler", help="cost of a profile at 100 Hz and 1 kHz"))
    commands.add_parser("list", help="peers and cases, and missing programs")
    return top
