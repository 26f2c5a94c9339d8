#!/bin/sh
# Runs one fuzz target, or all, as many at a time as there are processors:
#   fuzz/run.sh TARGET|all SECONDS [LIBFUZZER OPTION...]
# Stable Rust is enough: the instrumentation is LLVM's own pass.
set -eu

if [ $# -lt 2 ]; then
	echo "usage: $0 TARGET|all SECONDS [LIBFUZZER OPTION...]" >&2
	exit 2
fi
target=$1
seconds=$2
shift 2

cd "$(dirname "$0")"
targets=$(cd targets && printf '%s\n' *.rs | sed 's|\.rs$||')
if [ "$target" != all ] && [ ! -f "targets/$target.rs" ]; then
	echo "there is no target '$target'; known: $(echo "$targets" | xargs)" >&2
	exit 2
fi

# --target keeps the flags away from build scripts and procedural macros.
host=$(rustc -vV | sed -n 's/^host: //p')
build() {
	RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
-Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1" \
		cargo build --release --target "$host" --target-dir target "$@"
}

if [ "$target" = all ]; then
	build --bins
	# What a target says is kept until it ends, so that no two are mixed.
	# shellcheck disable=SC2016 # the inner shell is to expand them
	echo "$targets" | xargs -P "$(nproc)" -I NAME sh -c \
		'said=$(./run.sh "$@" 2>&1) && code=0 || code=$?; printf "== fuzz %s\n%s\n" "$1" "$said"; exit "$code"' \
		run NAME "$seconds" "$@"
	exit
fi
build --bin "$target"

# New inputs go to the first directory, which is not committed; the seeds are only read. A run whose seed
# is given is to be repeatable, so it takes nothing over from runs before it and knows no chance.
corpus=target/corpus/$target
same=
case " $*" in
*" -seed="*)
	corpus=target/repeatable/$target
	rm -rf "$corpus"
	random=./target/same_random_$target.so
	cc -Wall -Wextra -Werror -shared -fPIC -o "$random" same_random.c
	same="env LD_PRELOAD=$random"
	# Addresses are compared too, and libFuzzer tries what was compared. Some containers forbid it.
	if setarch -R true 2>/dev/null; then
		same="setarch -R $same"
	fi
	# It would look each second for inputs that other processes found.
	set -- -reload=0 "$@"
	;;
esac
mkdir -p "artifacts/$target" "$corpus"
set -- -max_total_time="$seconds" -artifact_prefix="artifacts/$target/" -timeout=10 \
	-rss_limit_mb=2048 -print_final_stats=1 "$@"
if [ -f "dictionaries/$target.txt" ]; then
	set -- -dict="dictionaries/$target.txt" "$@"
fi
# shellcheck disable=SC2086 # several words, or none
exec $same "target/$host/release/$target" "$@" "$corpus" "corpus/$target"
