#!/usr/bin/env bash
# The checks for every day, in two minutes on two cores once all is built: formats, lints, unit tests, and the tests of the
# PHP process without sanitizers and without databases. scripts/test.sh is the whole.
#
# Three parts run at the same time, since each of them alone leaves a core idle: Rust, whose output is shown as it comes;
# the formats, and the PHP process, whose outputs follow as a whole.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$HOME/.cargo/bin:$PATH"

began=$SECONDS
folder=$(mktemp -d)
declare -A groups=()
set -m # each part in the background is a process group, which can be ended as a whole
end() {
	for group in "${groups[@]}"; do kill -- "-$group" 2>/dev/null || true; done
	rm -rf "$folder"
}
trap end EXIT

formats() {
	cargo fmt --all --check
	scripts/lint-docs.py
	scripts/lint-circles.py
}

php() {
	local out=$PWD/target/debug
	"$out/howdah-php" cli -n "$PWD/worker/tests/run.php" --jobs="$(nproc)" "$out/driver" "$out/howdah-php" \
		"$PWD/worker/tests/phpt" "$PWD/worker/tests/phpt/coroutine"
}

rust() {
	cargo clippy --locked -q --workspace --all-targets -- -D warnings &&
		make -s debug &&
		# In one with all programs, since another choice of packages has other features of dependencies.
		cargo test --locked -q --workspace --lib --bins
}

make -s -j"$(nproc)" -C worker OUT="$PWD/target/debug" all driver
for part in formats php; do
	(set -e; "$part") >"$folder/$part" 2>&1 &
	groups[$part]=$!
done
failed=()
rust || failed+=(rust)
for part in formats php; do
	wait "${groups[$part]}" || failed+=("$part")
	unset "groups[$part]"
	echo "check: $part"
	cat "$folder/$part"
done
if [ ${#failed[@]} -gt 0 ]; then
	echo "check: failed: ${failed[*]}" >&2
	exit 1
fi
echo "check: passed in $((SECONDS - began)) s"
