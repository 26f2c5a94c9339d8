#!/usr/bin/env python3
"""Runs all Rust tests, and each failed one again, alone.

A test that passes alone but not beside the others is a defect, mostly of the test; that does not permit to discard a
change that did not touch it. It is named at the end as flaky. A test that fails both times fails the run, and so do
more failures than TOLERATED.

    scripts/run-tests.py [ARGUMENTS OF CARGO TEST]
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys

TOLERATED = 5
FAILED = re.compile(r"^test (?P<name>\S+)(?: - should panic)? \.\.\. FAILED$", re.MULTILINE)
# Cargo lists the failed programs at the end, as arguments.
PROGRAM = re.compile(r"^    `-p \S+ (?P<arguments>[^`]+)`$", re.MULTILINE)
PASSED = re.compile(r"^test result: ok\. [1-9]", re.MULTILINE)


def cargo_test(arguments: list[str]) -> tuple[int, str]:
    """Runs cargo, shows its output, and returns its exit status and output."""
    command = ["cargo", "test", "--locked", *arguments]
    output = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace") as process:
        assert process.stdout is not None
        for line in process.stdout:
            sys.stdout.write(line)
            sys.stdout.flush()
            output.append(line)
    return process.returncode, "".join(output)


def main() -> int:
    status, output = cargo_test(["--no-fail-fast", *sys.argv[1:]])
    if status == 0:
        return 0
    names = sorted({match["name"] for match in FAILED.finditer(output)})
    programs = [shlex.split(match["arguments"]) for match in PROGRAM.finditer(output)]
    if not names or not programs or len(names) > TOLERATED:
        print(f"\nrun-tests: {len(names)} tests failed")
        return status
    print(f"\nrun-tests: run again, alone: {', '.join(names)}", flush=True)
    for program in programs:
        # With the packages of the first run, because cargo rebuilds dependencies for a different selection.
        status, output = cargo_test([*sys.argv[1:], *program, "--", "--exact", "--test-threads=1", *names])
        if status != 0:
            return status
        # A program that crashed has reported no failed test.
        if not PASSED.search(output):
            print(f"\nrun-tests: {shlex.join(program)} failed, and none of the failed tests is in it")
            return 1
    print(f"\nrun-tests: flaky, mend them: {', '.join(names)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
