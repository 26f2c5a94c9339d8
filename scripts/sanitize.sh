#!/usr/bin/env bash
# Runs the end-to-end tests with the PHP process that ASan and UBSan check; `make debug` first.
#   scripts/sanitize.sh [PROGRAM ...]     programs of tests/e2e/tests; all without a name
# What PHP allocates comes from malloc(), so that ASan sees each allocation. Left out: tests of memory that PHP's own
# allocator counts and limits; of crashes, which ASan reports in its own way; and loads, which take an hour.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$HOME/.cargo/bin:$PATH"
out=$PWD/target/debug
skipped=(
	accounting::access_logs_have_what_requests_cost
	accounting::headers_and_log_fields_have_what_requests_cost_as_placeholders
	codeigniter::memory_exhausted_is_answered
	crash_reports::a_core_dump_is_written_and_reported
	crash_reports::a_process_that_the_kernel_kills_for_lack_of_memory_is_reported_so
	crash_reports::a_report_has_the_crash_its_place_and_its_request
	endings::fatal_errors
	errors::are_answered_500_with_the_reason_in_the_log
	faults::memory
	limits::a_worker_that
	live_requests::a_sleep_is_seen
	load::boots_that_fail
	load::changed_files
	load::clients_that_disconnect
	load::isolated_requests
	load::no_process_has
	load::reloads_lose
	load::warm_paths
	load_memory
	memory::a_request_that_exceeds
	soak::one_process_serves_them_all_and_does_not_grow
	spare::the_spare_takes_the_place_of_a_lost_worker
	state::memory_limit
	takes_little_memory
	tracing::a_trace_goes_from_the_caller_to_php_and_to_the_collector
)

make -s -j"$(nproc)" -C worker OUT="$out" asan faults driver
# `howdah` starts the howdah-php beside it.
ln -f "$out/howdah" "$out/asan/howdah"
programs=()
for program in "$@"; do programs+=(--test "$program"); done
skip=()
for name in "${skipped[@]}"; do skip+=(--skip "$name"); done
export HOWDAH_BIN=$out/asan/howdah HOWDAH_FAULTY_PHP=$out/faults/howdah-php
export USE_ZEND_ALLOC=0 ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0:handle_segv=0:quarantine_size_mb=32
tests/databases.sh env --default-signal=HUP cargo test --locked --no-fail-fast -p howdah-tests "${programs[@]}" -- "${skip[@]}"
