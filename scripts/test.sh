#!/usr/bin/env bash
# Runs every test. Each step prints its name and its time; the first failure ends the run.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$HOME/.cargo/bin:$PATH"
export CARGO_TERM_COLOR=${CARGO_TERM_COLOR:-never}

began=$SECONDS
step() {
	local name=$1 start=$SECONDS
	shift
	printf '\n=== %s\n' "$name"
	"$@"
	printf '=== %s: %d s\n' "$name" $((SECONDS - start))
}

# Optimised, since it tries every order of steps, but not linked as a release is: that takes as long as the checks.
loom() {
	RUSTFLAGS="--cfg loom" CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
		cargo test --locked -q -p howdah-shm --release --lib --target-dir target/loom
}

# Before the lints, which analyze the packages for these frameworks.
frameworks=$(scripts/frameworks.sh)
eval "$frameworks"

# Built while tests wait for processes: it gets the time of the processors that nothing else needs.
begin_release() {
	mkdir -p target
	set -m
	chrt --idle 0 make -s build >target/release.log 2>&1 &
	release=$!
	set +m
	trap 'kill -- -"$release" 2>/dev/null || true' EXIT
}

end_release() {
	wait "$release" || {
		cat target/release.log
		return 1
	}
	trap - EXIT
}

step "lint" scripts/lint.sh
step "build" make -s debug
begin_release
step "build the PHP process with sanitizers and with faults" \
	make -s -j"$(nproc)" -C worker OUT="$PWD/target/debug" asan faults driver
step "the PHP process, plain and with sanitizers" tests/databases.sh make -s -C worker OUT="$PWD/target/debug" check
export HOWDAH_FAULTY_PHP=$PWD/target/debug/faults/howdah-php
# Most tests wait for processes rather than for a processor.
export RUST_TEST_THREADS=${RUST_TEST_THREADS:-$(($(nproc) + 2))}
# In one, since dependencies are built again for another choice of packages. nohup and some supervisors have SIGHUP
# ignored, by which the tests reload.
step "unit tests, end to end, conformance" tests/databases.sh env --default-signal=HUP scripts/run-tests.py --workspace
step "Composer packages" scripts/test-php-packages.sh
step "image" sh -c 'python3 -m unittest discover -q tests/image && python3 tests/image/compose.py'
step "tutorials" sh -c 'python3 -m unittest discover -q tests/tutorials && python3 tests/tutorials/run.py'
step "model checks of the queue" loom
step "bench harness" make -s -C bench test
# As many inputs on each machine, and mostly the same ones.
step "fuzz, 50,000 inputs each" fuzz/run.sh all 30 -seed=1 -runs=50000
step "rest of the release build" end_release
step "size of the release" scripts/size.sh
step "profile of the release" pgo/fits.sh
step "real applications" sh -c 'python3 -m unittest discover -q tests/apps && python3 tests/apps/run.py'
printf '\nall tests passed in %d s\n' $((SECONDS - began))
