#!/usr/bin/env bash
# Builds the release of the server. It is optimised by what was counted with the compiler of rust-toolchain.toml (pgo/);
# another one, as a distribution's, cannot read that, and builds without.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$HOME/.cargo/bin:$PATH"

channel=$(sed -n 's/^channel = "\(.*\)"/\1/p' rust-toolchain.toml)
profile=()
if [[ $(rustc --version) == *" $channel "* ]]; then
	# That functions have changed since is no matter of whoever builds.
	profile=(--config "build.rustflags=[\"-Cprofile-use=$PWD/pgo/howdah.profdata\", \"-Cllvm-args=-no-pgo-warn-mismatch\"]")
fi
exec "${CARGO:-cargo}" build --release --locked -p howdah "${profile[@]}"
