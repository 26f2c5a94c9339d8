#!/usr/bin/env bash
# Runs the tests that touch the PHP process on the PHP of other distributions, each in a separate root:
#   scripts/matrix.sh [NAME ...]        debian12, debian13, ubuntu24.04; all without a name
#   MATRIX_STEPS="phpt e2e"             the steps to run of install, build, phpt and e2e (end to end and conformance), and
#                                       extensions, which tries all that the distribution packages (scripts/extensions)
#   MATRIX_FILTER=worker                only end-to-end programs of tests/e2e/tests with this name
# Needs root, Debian or Ubuntu, and an archive that can be reached. The roots stay in target/matrix as NAME.tests for the
# next run (MATRIX_ROOTS names another folder), a log of each beside them. Exit status 1 if a step failed anywhere.
set -euo pipefail
export PATH="$HOME/.cargo/bin:$PATH"
cd "$(dirname "$0")/.."
roots=${MATRIX_ROOTS:-$PWD/target/matrix}
steps=${MATRIX_STEPS:-install build phpt e2e}

say() { printf 'matrix: %s\n' "$*" >&2; }
die() { say "$*"; exit 2; }
# shellcheck source=scripts/roots.sh
source scripts/roots.sh

[ "$(id -u)" = 0 ] || die "root is needed to make and enter other roots; run it with sudo"
scripts/setup.sh matrix
mkdir -p "$roots"
# Rust and the crates are this machine's; nothing is downloaded inside.
scripts/setup.sh build
cargo fetch --locked --quiet

step() {
	local root=$1 name=$2
	# shellcheck disable=SC2016 # expanded inside
	case $name in
	install) inside "$root" host 'apt-get update -qq; scripts/setup.sh test' ;;
	build) inside "$root" own 'make -s debug' ;;
	phpt) inside "$root" own 'tests/databases.sh make -s -j2 -C worker OUT=/src/target/debug check' ;;
	e2e) inside "$root" own 'make -s -C worker OUT=/src/target/debug faults driver
		export HOWDAH_FAULTY_PHP=/src/target/debug/faults/howdah-php
		only=(); for program in $MATRIX_FILTER; do only+=(--test "$program"); done
		tests/databases.sh env --default-signal=HUP cargo test --locked --no-fail-fast -p howdah-tests "${only[@]}"' ;;
	# Another root within this one, so that packages which exclude each other leave no trace.
	extensions)
		local code=0
		inside "$root" host 'scripts/setup.sh matrix
			code=0; python3 -m scripts.extensions --howdah target/debug/howdah || code=$?
			cp docs/reference/extensions.md target/extensions/extensions.md; exit $code' || code=$?
		cp "$root/src/target/extensions/extensions.md" docs/reference/extensions.md
		return "$code" ;;
	*) die "unknown step $name; known are install, build, phpt, e2e and extensions" ;;
	esac
}

failed=0
names=("$@")
[ ${#names[@]} -gt 0 ] || names=(debian12 debian13 ubuntu24.04)
for name in "${names[@]}"; do
	distribution "$name"
	root=$roots/$name.tests log=$roots/$name.log
	: >"$log"
	if ! bootstrap "$roots/$name" >>"$log" 2>&1; then
		say "$name: skipped, its archive cannot be reached ($log)"
		continue
	fi
	# What the tests need is installed in a copy: scripts/packages.sh needs a root without it.
	if [ ! -e "$root" ]; then
		rm -rf --one-file-system "$root.part"
		cp -a "$roots/$name" "$root.part"
		mv "$root.part" "$root"
	fi
	copy_sources "$root"
	for one in $steps; do
		began=$SECONDS
		if step "$root" "$one" >>"$log" 2>&1; then
			say "$name: $one passed in $((SECONDS - began)) s"
		else
			say "$name: $one FAILED after $((SECONDS - began)) s ($log)"
			failed=1
			break
		fi
	done
done
exit $failed
