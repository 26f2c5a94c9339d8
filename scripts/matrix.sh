#!/usr/bin/env bash
# Runs the tests that touch the PHP process on the PHP of other distributions, each in a root of its own:
#   scripts/matrix.sh [NAME ...]        debian12, debian13, ubuntu24.04; all without a name
#   MATRIX_STEPS="phpt e2e"             the steps to run of install, build, phpt and e2e (end to end and conformance)
#   MATRIX_FILTER=worker                only end-to-end programs of tests/e2e/tests with this name
# Needs root, Debian or Ubuntu, and an archive that can be reached. The roots stay in target/matrix for the next run
# (MATRIX_ROOTS names another folder), a log of each beside them. Exit status 1 if a step failed anywhere.
set -euo pipefail
export PATH="$HOME/.cargo/bin:$PATH"
cd "$(dirname "$0")/.."
roots=${MATRIX_ROOTS:-$PWD/target/matrix}
steps=${MATRIX_STEPS:-install build phpt e2e}

say() { printf 'matrix: %s\n' "$*" >&2; }
die() { say "$*"; exit 2; }

[ "$(id -u)" = 0 ] || die "root is needed to make and enter other roots; run it with sudo"
scripts/setup.sh matrix
mkdir -p "$roots"
# Rust and the crates are this machine's; nothing is downloaded inside.
scripts/setup.sh build
cargo fetch --locked --quiet

# Where the keys of Ubuntu's archive are. Debian packages them from 13 on; Debian 12 takes them from a root of 13.
ubuntu_keyring() {
	local keys=usr/share/keyrings/ubuntu-archive-keyring.gpg
	if [ -e "/$keys" ]; then
		echo "/$keys"
	else
		if [ ! -e "$roots/debian13/$keys" ] && [ -e "$roots/debian13/.bootstrapped" ]; then
			inside "$roots/debian13" host 'apt-get update -qq; apt-get install -y -qq ubuntu-keyring' >/dev/null 2>&1 || true
		fi
		echo "$roots/debian13/$keys"
	fi
}

# Sets suite, script and the options of debootstrap.
distribution() {
	options=()
	script=
	case $1 in
	debian12) suite=bookworm ;;
	debian13) suite=trixie ;;
	ubuntu24.04)
		suite=noble
		options=("--components=main,universe" "--keyring=$(ubuntu_keyring)")
		# All releases of Ubuntu share one script, under the name of an old one.
		script=/usr/share/debootstrap/scripts/gutsy
		;;
	*) die "unknown distribution $1; known are debian12, debian13 and ubuntu24.04" ;;
	esac
}

# Without a mirror's name debootstrap takes the distribution's own.
bootstrap() {
	local root=$1
	[ ! -e "$root/.bootstrapped" ] || return 0
	rm -rf --one-file-system "$root"
	local arguments=(--variant=minbase "${options[@]}" "$suite" "$root")
	[ -z "$script" ] || arguments+=("" "$script")
	debootstrap "${arguments[@]}" || return 1
	touch "$root/.bootstrapped"
}

# Tracked files and those that are not ignored, with their times, so that builds go on from the last run.
copy_sources() {
	local root=$1
	mkdir -p "$root/src"
	# What is gone here is gone there.
	(cd "$root/src" && find . -mindepth 1 -maxdepth 1 ! -name target -exec rm -rf {} +)
	git ls-files -z --cached --others --exclude-standard |
		tar --create --null --files-from=- --ignore-failed-read | tar --extract --directory "$root/src"
}

# inside ROOT NET COMMAND: in namespaces of its own, so that nothing that a test leaves behind outlives it. NET `own` has
# a loopback and nothing else.
inside() {
	local root=$1 net=() command=$3
	if [ "$2" = own ]; then net=(--net); fi
	# shellcheck disable=SC2016 # expanded by the inner shell
	unshare --mount --pid --fork --kill-child "${net[@]}" bash -euc '
		root=$1 cargo=$2 rustup=$3 command=$4
		if [ ! -e /proc/1/ns/net ] || ip link show lo >/dev/null 2>&1; then ip link set lo up; fi
		mount --make-rprivate /
		mount --bind "$root" "$root"
		mount -t proc proc "$root/proc"
		mount --rbind /sys "$root/sys"
		mount --rbind /dev "$root/dev"
		mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
		mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
		mount -t tmpfs tmpfs "$root/run"
		mkdir -p "$root/root/.cargo" "$root/root/.rustup"
		mount --bind "$cargo" "$root/root/.cargo"
		mount --bind "$rustup" "$root/root/.rustup"
		cp -L /etc/resolv.conf "$root/etc/resolv.conf"
		exec chroot "$root" /usr/bin/env -i HOME=/root TERM=dumb LANG=C.UTF-8 \
			PATH=/root/.cargo/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
			CARGO_NET_OFFLINE=true MATRIX_FILTER="${MATRIX_FILTER:-}" \
			bash -euo pipefail -c "mkdir -p /src; cd /src; $command"
	' matrix "$root" "${CARGO_HOME:-$HOME/.cargo}" "${RUSTUP_HOME:-$HOME/.rustup}" "$command"
}

step() {
	local root=$1 name=$2
	# shellcheck disable=SC2016 # expanded inside
	case $name in
	install) inside "$root" host 'apt-get update -qq; scripts/setup.sh test' ;;
	build) inside "$root" own 'make -s debug' ;;
	phpt) inside "$root" own 'tests/databases.sh make -s -j2 -C worker OUT=/src/target/debug check' ;;
	e2e) inside "$root" own 'make -s -C worker OUT=/src/target/debug faults driver
		export HOWDAH_FAULTY_PHP=/src/target/debug/faults/howdah-php
		only=(); for program in $MATRIX_FILTER; do only+=(--test "$program"); done
		tests/databases.sh env --default-signal=HUP cargo test --locked --no-fail-fast -p howdah-tests "${only[@]}"' ;;
	*) die "unknown step $name; known are install, build, phpt and e2e" ;;
	esac
}

failed=0
names=("$@")
[ ${#names[@]} -gt 0 ] || names=(debian12 debian13 ubuntu24.04)
for name in "${names[@]}"; do
	distribution "$name"
	root=$roots/$name log=$roots/$name.log
	: >"$log"
	if ! bootstrap "$root" >>"$log" 2>&1; then
		say "$name: skipped, its archive cannot be reached ($log)"
		continue
	fi
	copy_sources "$root"
	for one in $steps; do
		began=$SECONDS
		if step "$root" "$one" >>"$log" 2>&1; then
			say "$name: $one passed in $((SECONDS - began)) s"
		else
			say "$name: $one FAILED after $((SECONDS - began)) s ($log)"
			failed=1
			break
		fi
	done
done
exit $failed
