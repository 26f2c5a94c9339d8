#!/usr/bin/env bash
# Fails unless a release was optimised by most of pgo/howdah.profdata: counts are kept by symbol, and those whose symbols
# have changed are left out without a word.
#   pgo/fits.sh [BINARY]      default target/release/howdah
set -euo pipefail
cd "$(dirname "$0")/.."

binary=${1:-target/release/howdah}
channel=$(sed -n 's/^channel = "\(.*\)"/\1/p' rust-toolchain.toml)
if ! rustc --version | grep -qF " $channel "; then
	echo "profile: not looked at, it is of Rust $channel"
	exit
fi
# Some of the functions are in others by now, and have no symbol.
all=$(wc -l <pgo/busiest.txt)
found=$(strings -n 8 "$binary" | LC_ALL=C sort -u | LC_ALL=C comm -12 pgo/busiest.txt - | wc -l)
echo "profile: $found of the $all busiest functions are in $binary"
if ((2 * found < all)); then
	echo "profile: too few, so it is of another program by now: run make pgo, then make build" >&2
	exit 1
fi
