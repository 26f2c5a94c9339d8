#!/usr/bin/env bash
# Builds the release of the server. It is optimised by what was counted with the compiler of rust-toolchain.toml (pgo/);
# another one, as a distribution's, cannot read that, and builds without.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$HOME/.cargo/bin:$PATH"

HOWDAH_COMMIT=$(git rev-parse HEAD 2>/dev/null || true)
export HOWDAH_COMMIT

channel=$(sed -n 's/^channel = "\(.*\)"/\1/p' rust-toolchain.toml)
profile=()
if [[ $(rustc --version) == *" $channel "* ]]; then
	counts=$PWD/pgo/howdah.profdata
	export RUSTC_WRAPPER=$PWD/pgo/rustc
	# The sum is for cargo, which builds again when a flag changes, but not when the file that it names does. That functions
	# have changed since they were counted is no matter of whoever builds.
	profile=(--config "build.rustflags=[\"-Cprofile-use=$counts\", \"-Cllvm-args=-no-pgo-warn-mismatch\",
		'--cfg=counts=\"$(sha256sum "$counts" | cut -c-16)\"']")
fi
exec "${CARGO:-cargo}" build --release --locked -p howdah "${profile[@]}"
