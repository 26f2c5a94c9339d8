#!/usr/bin/env bash
# The checks for every day, in two minutes on two cores once all is built: formats, lints, unit tests, and the tests of the
# PHP process without sanitizers and without databases. scripts/test.sh is the whole.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$HOME/.cargo/bin:$PATH"

began=$SECONDS
cargo fmt --all --check
scripts/lint-docs.py
scripts/lint-circles.py
cargo clippy --locked -q --workspace --all-targets -- -D warnings
make -s debug
# In one with all programs, since another choice of packages has other features of dependencies.
cargo test --locked -q --workspace --lib --bins
make -s -j"$(nproc)" -C worker OUT="$PWD/target/debug" driver
out=$PWD/target/debug
"$out/howdah-php" cli -n "$PWD/worker/tests/run.php" "$out/driver" "$out/howdah-php" "$PWD/worker/tests/phpt" \
	"$PWD/worker/tests/phpt/coroutine"
echo "check: passed in $((SECONDS - began)) s"
