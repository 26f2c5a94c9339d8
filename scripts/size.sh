#!/usr/bin/env bash
# Fails if the server of `make build` has more than 25 MiB without symbols, as packages and archive have it.
set -euo pipefail
cd "$(dirname "$0")/.."
stripped=$(mktemp)
trap 'rm -f "$stripped"' EXIT
strip --strip-all -o "$stripped" target/release/howdah
size=$(stat -c %s "$stripped")
if [ "$size" -gt $((25 << 20)) ]; then
	echo "size: the server has $size bytes, more than 25 MiB: see which dependency grew it, or optimise what no request runs for size (Cargo.toml)" >&2
	exit 1
fi
echo "size: the server has $size bytes"
