#!/usr/bin/env bash
# Formatting and lints of everything that is written here.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$HOME/.cargo/bin:$PATH"

cargo fmt --all --check
cargo clippy --locked --workspace --all-targets -- -D warnings
if command -v cargo-deny >/dev/null; then cargo deny check licenses bans sources; fi
clang-format --dry-run -Werror worker/src/*.c worker/src/*.h worker/tests/*.c
shellcheck .ci/run scripts/*.sh fuzz/*.sh tests/apps/*/*.sh
scripts/lint-php.sh
# The generated reference is that of this code.
cargo run -q --locked -p howdah-config --example reference | diff -u docs/reference/caddyfile.md -
