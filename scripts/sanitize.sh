#!/usr/bin/env bash
# Runs the end-to-end tests with the PHP process that ASan and UBSan check; `make debug` first.
#   scripts/sanitize.sh [PROGRAM ...]     programs of tests/e2e/tests; all without a name
# What PHP allocates comes from malloc(), so that ASan sees each allocation. Left out: tests of memory_limit, which PHP
# enforces in its own allocator, and loads, which take an hour.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$HOME/.cargo/bin:$PATH"
out=$PWD/target/debug
skipped=(
	errors::are_answered_500_with_the_reason_in_the_log
	half_way
	load
	memory
)

make -s -j"$(nproc)" -C worker OUT="$out" asan faults driver
# `howdah` starts the howdah-php beside it.
ln -f "$out/howdah" "$out/asan/howdah"
programs=()
for program in "$@"; do programs+=(--test "$program"); done
skip=()
for name in "${skipped[@]}"; do skip+=(--skip "$name"); done
export HOWDAH_BIN=$out/asan/howdah HOWDAH_FAULTY_PHP=$out/faults/howdah-php
export USE_ZEND_ALLOC=0 ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0:handle_segv=0
tests/databases.sh env --default-signal=HUP cargo test --locked --no-fail-fast -p howdah-tests "${programs[@]}" -- "${skip[@]}"
