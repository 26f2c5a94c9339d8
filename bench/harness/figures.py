"""Formats figures in the same way for every report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.harness import cores, steal

if TYPE_CHECKING:
    from bench.harness.results import Run
    from bench.harness.stats import Spread

NONE = "–"
MIB = 1024 * 1024
KEEP_DECIMALS_BELOW = 10.0
# Ratios below the first number have this many decimal places.
RATIO_DIGITS = ((0.1, 4), (10.0, 2), (100.0, 1))


def rate(value: Spread | None) -> str:
    """Formats requests per second with the spread."""
    if value is None:
        return NONE
    return f"{value.median:,.0f} ({value.low:,.0f}–{value.high:,.0f})"


def microseconds(value: Spread | None) -> str:
    """Formats microseconds of CPU time with the spread."""
    if value is None:
        return NONE
    return f"{value.median:,.1f} ({value.low:,.1f}–{value.high:,.1f})"


def milliseconds(value: Spread | None) -> str:
    """Formats a latency in microseconds as milliseconds."""
    if value is None:
        return NONE
    in_ms = value.median / 1000
    return f"{in_ms:.2f}" if in_ms < KEEP_DECIMALS_BELOW else f"{in_ms:,.0f}"


def mebibytes(value: Spread | None) -> str:
    """Formats bytes as MiB."""
    return NONE if value is None else f"{value.median / MIB:,.1f}"


def ratio(value: Spread | None) -> str:
    """Formats a ratio with the spread over the rounds."""
    if value is None:
        return NONE
    digits = next((count for below, count in RATIO_DIGITS if value.median < below), 0)
    return f"**{value.median:,.{digits}f}x** ({value.low:,.{digits}f}–{value.high:,.{digits}f})"


def subject(run: Run) -> str:
    """Returns the peer in the heading: the first of ours."""
    return run.ours[0]


def disturbance(run: Run) -> tuple[float, float]:
    """Returns the largest share of all CPUs that others and the hypervisor used in any sample."""
    cpus = run.info["machine"]["cpus"]
    others = stolen = 0.0
    for sample in run.samples:
        available = cpus * sample.load.duration_us / 1e6
        if available > 0:
            others = max(others, sample.other_cpu_seconds / available)
            stolen = max(stolen, sample.stolen(cpus))
    return others, stolen


def taken_again(run: Run) -> str:
    """Describes samples that were repeated because of the host; empty without any."""
    if not run.set_aside:
        return ""
    return (
        f" Samples of which it took more than {steal.TOO_MUCH:.0%} were taken again, "
        f"{steal.TRIES} times at most and whatever they showed, and the one from which it took "
        f"least counts: {run.set_aside:,} were set aside."
    )


def heading(run: Run) -> str:
    """Returns the title of a run."""
    given = run.info["options"].get("title", "")
    first = run.info["peers"][subject(run)]["title"]
    return given or (f"{first} side by side with its peers" if run.others else first)


def processes(run: Run) -> str:
    """Returns how many PHP processes every peer has."""
    counts = {facts.get("workers", 0) for facts in run.info["peers"].values()}
    if counts - {0}:
        return "the number of PHP processes that its name says"
    return f"{run.info['options']['workers']} PHP processes"


def cpus_text(run: Run) -> str:
    """Describes the CPUs of load generators and servers, and the effect on the figures."""
    cpus = run.info["machine"]["cpus"]
    pinned = run.info["machine"].get("cores")
    if pinned is None:
        return (
            f"Nothing is pinned to a CPU. The load generators run on the same {cpus} CPUs and take "
            f"their share of them, the more of it the faster the server is: a lead in requests per "
            f"second is larger than it looks here."
        )
    load, servers = pinned["load"], pinned["servers"]
    return (
        f"Processes are pinned: of {cpus} CPUs the load generators have {len(load)} to themselves "
        f"({cores.ranges(load)}), servers, databases and PHP alone have {len(servers)} "
        f"({cores.ranges(servers)}), so that neither side takes CPU time from the other. A server "
        f"that is configured with a number of CPUs gets this one."
    )


def other_method(run: Run, other: Run) -> str:
    """Describes how an added run differs."""
    options = other.info["options"]
    pinned = ""
    if other.info["machine"].get("cores") != run.info["machine"].get("cores"):
        pinned = f" {cpus_text(other)}"
    commit = "the same commit"
    if other.info["machine"]["commit"] != run.info["machine"]["commit"]:
        commit = f"commit {commit_line(other)}"
    return (
        f"{heading(other)}: a run of its own on {other.info['started'][:10]}, {commit}, "
        f"{options['rounds']} rounds of {options['duration']} s after {options['warm_up']} s of "
        f"warm-up, every peer with {processes(other)}.{pinned}"
    )


def method(run: Run) -> list[str]:
    """Describes the method and the limits of the figures; one paragraph each."""
    options = run.info["options"]
    if run.info.get("running"):
        return [
            (
                f"The servers were running already; what they run with is not known, and neither "
                f"their CPU time nor their memory. They take turns in {options['rounds']} rounds. "
                f"wrk keeps the given number of connections busy for {options['duration']} s "
                f"({options['threads']} threads, after {options['warm_up']} s of warm-up). It is "
                f"not pinned to a CPU."
            ),
            (
                "Figures are medians over the rounds with the smallest and largest in "
                "parentheses. Before and after each timing an answer is looked at; one failed "
                "request spoils the sample."
            ),
        ]
    others, stolen = disturbance(run)
    accounting = sorted({start.accounting for start in run.starts}) or ["nothing"]
    few = options.get("few_rounds")
    fewer = f" ({few} for the peers that are measured less often)" if few else ""
    paragraphs = [
        (
            f"Every peer runs {processes(run)} with the same php.ini values and "
            f"extensions, OPcache as below, no access log, unless its description below says "
            f"otherwise. Peers take turns: {options['rounds']} rounds{fewer}, in each of which "
            f"every peer is restarted and a different one goes first. Servers listen on loopback."
        ),
        (
            f"wrk keeps the given number of connections busy for {options['duration']} s "
            f"({options['threads']} threads, after {options['warm_up']} s of warm-up): a closed "
            f"loop, in which a slow server is asked less often. wrk corrects its latencies for "
            f"the requests that it could not send meanwhile, by an estimate. A connection that "
            f"never gets an answer within the run appears in no figure of wrk."
        ),
    ]
    if any(sample.rate for sample in run.samples):
        paragraphs.append(
            f"In the open loop oha sends requests at a constant rate, the same for every peer, "
            f"over at most {max(run.connections)} connections. A latency counts from the moment "
            f"when the request was due. A peer whose requests per second stay below the rate does "
            f"not keep up; its latencies grow with the length of the run and compare with nothing. "
            f"Dropped is what was due within the time and was not answered well. oha tells no "
            f"standard deviation: that column has a “{NONE}”."
        )
    paragraphs += [
        (
            f"{cpus_text(run)} CPU per request counts user and system time of all processes of a "
            f"server (from {', '.join(accounting)}) and not of the load generator, nor of "
            f"databases; it is the steadier figure."
        ),
        (
            "Figures are medians over the rounds with the smallest and largest in parentheses. A "
            "ratio is made within each round, then the median of these is shown. Before and after "
            "each timing status, type and body of an answer are compared with what the case "
            "wants, and the bytes received have to fit; one failed request spoils the sample."
        ),
        "Memory is the proportional set size (PSS) of all processes: shared pages count once.",
        (
            f"At most {others:.0%} of the CPUs went to processes that belong to neither side, and "
            f"{stolen:.0%} were taken by the hypervisor, in the worst sample."
            f"{taken_again(run)}"
        ),
    ]
    return paragraphs


def machine_line(run: Run) -> str:
    """Describes the machine in a sentence."""
    facts = run.info["machine"]
    return (
        f"{facts['cpus']} CPUs ({facts['cpu']}), {facts['memory']} memory, "
        f"virtual machine: {facts['hypervisor']}, kernel {facts['kernel']}, "
        f"{facts['distribution']}, {facts['php']}, {facts['wrk'].split(' Copyright')[0]}"
    )


def commit_line(run: Run) -> str:
    """Returns the measured commit."""
    commit = run.info["machine"]["commit"]
    changed = " with uncommitted changes" if commit["modified"] else ""
    return f"{commit['id'][:12]}{changed}"
