#!/usr/bin/env bash
# Builds the release of the server. It is optimised by what was counted with the compiler of rust-toolchain.toml (pgo/);
# another one, as a distribution's, cannot read that, and builds without.
#   PROFILE=quick                          another profile of Cargo.toml than `release`
#   TARGET=aarch64-unknown-linux-gnu       another processor, with its gcc
# Builds of one commit in different folders are the same: paths are those below /howdah and /cargo.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$HOME/.cargo/bin:$PATH"
cargo_home=${CARGO_HOME:-$HOME/.cargo}

HOWDAH_COMMIT=$(git rev-parse HEAD 2>/dev/null || true)
export HOWDAH_COMMIT
# For C in dependencies.
export CFLAGS="-ffile-prefix-map=$cargo_home=/cargo -ffile-prefix-map=$PWD=/howdah ${CFLAGS:-}"

flags=("--remap-path-prefix=$cargo_home=/cargo" "--remap-path-prefix=$PWD=/howdah")
channel=$(sed -n 's/^channel = "\(.*\)"/\1/p' rust-toolchain.toml)
if [[ ${PROFILE:-release} = release && $(rustc --version) == *" $channel "* ]]; then
	counts=$PWD/pgo/howdah.profdata
	export RUSTC_WRAPPER=$PWD/pgo/rustc
	# The sum is for cargo, which builds again when a flag changes, but not when the file that it names does. That functions
	# have changed since they were counted does not concern the user who builds.
	flags+=("-Cprofile-use=$counts" "-Cllvm-args=-no-pgo-warn-mismatch"
		"--cfg=counts=\"$(sha256sum "$counts" | cut -c-16)\"")
fi
CARGO_ENCODED_RUSTFLAGS=$(IFS=$'\x1f'; printf '%s' "${flags[*]}")
export CARGO_ENCODED_RUSTFLAGS
exec "${CARGO:-cargo}" build --profile "${PROFILE:-release}" ${TARGET:+--target "$TARGET"} --locked -p howdah
