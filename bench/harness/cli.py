"""The command line."""

from __future__ import annotations

import datetime
import re
import shutil
import signal
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from bench.harness import phpini, plan, whole
from bench.harness.application import application
from bench.harness.arguments import DEFAULT_CONNECTIONS, DEFAULT_OPEN_SHARE, numbers, parser
from bench.harness.before import with_before
from bench.harness.cases import load_cases
from bench.harness.choose import (
    DEFAULT_CASES,
    absent_cases,
    choose_cases,
    choose_peers,
    default_peers,
    describe,
    without,
)
from bench.harness.compare import compare
from bench.harness.errors import BenchError
from bench.harness.machine import commit
from bench.harness.open_loop import HINT, find_oha
from bench.harness.pages import write_pages
from bench.harness.peers import absent_peers, load_peers, with_workers
from bench.harness.plan import Options
from bench.harness.progress import Progress, clock
from bench.harness.publish import publish
from bench.harness.recorder import Recorder
from bench.harness.report_html import html_report
from bench.harness.report_markdown import markdown_report
from bench.harness.results import MORE, load_run
from bench.harness.runner import Runner

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from bench.harness.cases import Case
    from bench.harness.peers import Peer

OUT = Path(__file__).parent.parent / "out"
# Full and quick: seconds of a sample, rounds, rounds of peers with the share `few`.
FULL = (2, 3, 2)
QUICK = (2, 3, 1)
INTERRUPTED = 130


def new_folder(wanted: Path | None, begin: str = "") -> Path:
    """Returns a result folder that does not exist yet."""
    now = datetime.datetime.now(tz=datetime.UTC)
    folder = wanted or OUT / f"{begin}{now:%Y%m%d-%H%M%S}"
    if folder.exists():
        raise BenchError(f"{folder} exists; an old run is never overwritten: choose another --out")
    return folder


def place_of(more: Path, name: str) -> Path:
    """Returns the place for an added run: after earlier ones, and only once."""
    kept = list(more.iterdir()) if more.exists() else []
    same = (place for place in kept if place.name.partition("-")[2] == name)
    return next(same, more / f"{len(kept) + 1}-{name}")


def write_reports(folder: Path, faults: Path | None = None, more: Sequence[Path] = ()) -> None:
    """Writes report.md and report.html to the folder of a run."""
    if faults is not None:
        shutil.copytree(faults, folder / "faults", dirs_exist_ok=True)
    for other in more:
        # Read first, so that a folder without a run is not copied.
        load_run(other)
        shutil.copytree(
            other,
            place_of(folder / MORE, other.name),
            # The report of the whole run contains all of it.
            ignore=shutil.ignore_patterns("report.*"),
            dirs_exist_ok=True,
        )
    run = load_run(folder)
    (folder / "report.md").write_text(markdown_report(run))
    (folder / "report.html").write_text(html_report(run))


def options_of(arguments: argparse.Namespace) -> Options:
    """Returns the options of a new run."""
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
        workers=arguments.workers[0],
        php_ini=phpini.shared_ini(arguments.php_ini),
        open_share=DEFAULT_OPEN_SHARE if wanted else 0.0,
        rate=arguments.rate or 0 if wanted else 0,
        title=arguments.title,
    )


def resume(arguments: argparse.Namespace) -> tuple[Recorder, Options, list[Peer], list[Case]]:
    """Resumes an interrupted run with its original options.

    Raises:
        BenchError: it is complete, or another commit is checked out.
    """
    folder = arguments.resume
    recorder = Recorder.resumed(folder)
    begun, now = recorder.info["machine"]["commit"], commit()
    if begun["id"] != now["id"]:
        raise BenchError(f"{folder} was begun with commit {begun['id'][:12]}; check that out")
    options = Options(**recorder.info["options"])
    if recorder.info.get("running"):
        raise BenchError(f"{folder} measured servers that were running: begin it again")
    found = {
        name: facts
        for name, facts in {**recorder.info["peers"], **recorder.info["references"]}.items()
        if not facts.get("before")
    }
    peers = choose_peers(dict.fromkeys(facts.get("base") or name for name, facts in found.items()))
    earlier = recorder.info.get("against")
    peers = with_before(peers, None if earlier is None else Path(earlier))
    counts = dict.fromkeys(facts.get("workers", 0) for facts in recorder.info["peers"].values())
    if len(counts) > 1:
        peers = with_workers(peers, list(counts))
    return recorder, options, peers, cases_again(arguments, recorder)


def cases_again(arguments: argparse.Namespace, recorder: Recorder) -> list[Case]:
    """Returns the cases of an interrupted run."""
    begun = recorder.info.get("application")
    if begun is None:
        cases = recorder.info["cases"].items()
        # A case to compare with is added with its case.
        return choose_cases(name for name, facts in cases if facts.get("of", name) == name)
    if arguments.app is None:
        raise BenchError("the run was about an application; name its folder again: --app DIR")
    first = next(iter(load_run(recorder.folder).starts), None)
    length = None if first is None else first.body_bytes
    return [application(arguments.app, **begun, length=length)]


def begin(arguments: argparse.Namespace) -> tuple[Recorder, Options, list[Peer], list[Case]]:
    """Starts a new run."""
    options = options_of(arguments)
    names = arguments.peer
    if names is not None and arguments.skip_missing:
        names = without(names, absent_peers())
    peers = default_peers() if names is None else choose_peers(names)
    peers = with_workers(with_before(peers, arguments.against), arguments.workers)
    earlier = {} if arguments.against is None else {"against": str(arguments.against.resolve())}
    if arguments.app is None:
        names = arguments.case or DEFAULT_CASES
        missing = absent_cases(names) if arguments.skip_missing else {}
        cases = choose_cases(without(names, missing))
        info = {**describe(options, peers, cases), "absent_cases": missing, **earlier}
        return Recorder(new_folder(arguments.out), info), options, peers, cases
    if arguments.case:
        raise BenchError("--app is a case of its own: leave --case out")
    own = {
        "path": arguments.path,
        "root": arguments.root,
        "expect": arguments.expect,
        "worker": arguments.worker_script,
    }
    cases = [application(arguments.app, **own)]
    info = {**describe(options, peers, cases), "application": own, **earlier}
    return Recorder(new_folder(arguments.out), info), options, peers, cases


def url_command(arguments: argparse.Namespace) -> int:
    """Runs `run --url`."""
    # Imported here, because only this command needs it.
    from bench.harness.running import Outside, describe_urls  # noqa: PLC0415

    others = ("against", "app", "case", "peer", "resume")
    unused = [name for name in others if getattr(arguments, name)]
    if unused:
        raise BenchError(f"--url measures what is running: leave --{unused[0]} out")
    options = replace(options_of(arguments), rate=0, open_share=0.0, php_ini={})
    recorder = Recorder(new_folder(arguments.out), describe_urls(options, arguments.url))
    steps = len(arguments.url) * options.rounds * len(options.connections)
    outside = Outside(options, arguments.url, arguments.expect, recorder, Progress(steps))
    whole = good = False
    try:
        good = outside.run()
        whole = True
    except KeyboardInterrupt:
        outside.progress.note("interrupted")
    recorder.complete(whole=whole)
    write_reports(recorder.folder)
    print(f"{recorder.folder}/report.md\n{recorder.folder}/report.html")
    if not whole:
        return INTERRUPTED
    return 0 if good else 1


def run_command(arguments: argparse.Namespace) -> int:
    """Runs `run`."""
    if arguments.url:
        return url_command(arguments)
    if arguments.resume is not None:
        recorder, options, peers, cases = resume(arguments)
    else:
        recorder, options, peers, cases = begin(arguments)
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


def all_command(arguments: argparse.Namespace) -> int:
    """Runs `all`: each part, even if earlier ones failed."""
    parts = whole.parts(arguments)
    if arguments.against is None and any(part.name == "before" for part in parts):
        raise BenchError("name the other build: --against PATH")
    folder = new_folder(arguments.out)
    worst = 0
    for part in parts:
        print(f"part {part.name}", file=sys.stderr)
        place = part.place(folder)
        measured = parser().parse_args([*part.argv, "--out", str(place)])
        try:
            status = COMMANDS[measured.command](measured)
        except BenchError as error:
            print(f"error: {part.name}: {error}", file=sys.stderr)
            status = 1
        worst = max(worst, status)
        if status == INTERRUPTED:
            break
    if (folder / "run.json").is_file():
        write_reports(folder)
        print(f"{folder}/report.md\n{folder}/report.html")
    return worst


def newest_run() -> Path:
    """Returns the run that started last."""
    runs = sorted(path.parent for path in OUT.glob("*/run.json"))
    if not runs:
        raise BenchError("there is no run yet; try: python3 -m bench run")
    return runs[-1]


def report_command(arguments: argparse.Namespace) -> int:
    """Runs `report`."""
    folder = arguments.run or newest_run()
    write_reports(folder, arguments.faults, arguments.more)
    if arguments.publish is not None:
        if not re.fullmatch(r"[a-z0-9][a-z0-9-]*", arguments.publish):
            raise BenchError("--publish NAME: lower-case letters, digits and hyphens only")
        for path in publish(folder, arguments.publish):
            print(path)
    else:
        print(f"{folder}/report.md\n{folder}/report.html")
    return 0


def pages_command(_arguments: argparse.Namespace) -> int:
    """Runs `pages`."""
    for path in write_pages():
        print(path)
    return 0


def compare_command(arguments: argparse.Namespace) -> int:
    """Runs `compare`."""
    print(compare(load_run(arguments.before), load_run(arguments.after)), end="")
    return 0


def faults_command(arguments: argparse.Namespace) -> int:
    """Runs `faults`."""
    # Imported here, because `run` and `report` do not need it.
    from bench.faults.command import measure_faults  # noqa: PLC0415

    return measure_faults(arguments, new_folder(arguments.out, "faults-"))


def tls_command(arguments: argparse.Namespace) -> int:
    """Runs `tls`."""
    # Imported here, because only this command needs it.
    from bench.tls.command import measure_tls  # noqa: PLC0415

    return measure_tls(arguments, new_folder(arguments.out, "tls-"))


def soak_command(arguments: argparse.Namespace) -> int:
    """Runs `soak`."""
    # Imported here, because only this command needs it.
    from bench.soak.command import soak  # noqa: PLC0415

    return soak(arguments)


def profiler_command(arguments: argparse.Namespace) -> int:
    """Runs `profiler`."""
    # Imported here, because only this command needs it.
    from bench.profiler.command import profiler  # noqa: PLC0415

    return profiler(arguments)


def list_command(_arguments: argparse.Namespace) -> int:
    """Runs `list`."""
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


COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "run": run_command,
    "all": all_command,
    "report": report_command,
    "compare": compare_command,
    "pages": pages_command,
    "faults": faults_command,
    "tls": tls_command,
    "soak": soak_command,
    "profiler": profiler_command,
    "list": list_command,
}


def _interrupt(_number: int, _frame: object) -> NoReturn:
    # A second signal must not interrupt the shutdown of the servers, which always completes.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt


def main(argv: list[str] | None = None) -> int:
    """Runs a command; returns 0 on success, 1 after failures, 2 for invalid arguments."""
    arguments = parser().parse_args(argv)
    # If terminated from outside, the servers must be stopped as after Ctrl-C.
    signal.signal(signal.SIGINT, _interrupt)
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        return COMMANDS[arguments.command](arguments)
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
