# shellcheck shell=bash
# Roots of other distributions, for scripts that source this: `debootstrap` makes them below $roots, namespaces run commands
# in them. The names are debian12, debian13 and ubuntu24.04. Needs root.
: "${roots:?}"

# Where the keys of Ubuntu's archive are. Debian packages them from 13 on; Debian 12 takes them from a root of 13, which
# is made if it is missing.
ubuntu_keyring() {
	local keys=usr/share/keyrings/ubuntu-archive-keyring.gpg
	if [ -e "/$keys" ]; then
		echo "/$keys"
		return
	fi
	if [ ! -e "$roots/debian13/$keys" ]; then
		(
			distribution debian13
			bootstrap "$roots/debian13"
			inside "$roots/debian13" host 'apt-get update -qq; apt-get install -y -qq ubuntu-keyring'
		) >/dev/null 2>&1 || true
	fi
	echo "$roots/debian13/$keys"
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

# Tracked files and those that are not ignored, with their times, so that builds continue from the last run.
copy_sources() {
	local root=$1
	mkdir -p "$root/src"
	# Files that were removed here are removed there.
	(cd "$root/src" && find . -mindepth 1 -maxdepth 1 ! -name target -exec rm -rf {} +)
	git ls-files -z --cached --others --exclude-standard |
		tar --create --null --files-from=- --ignore-failed-read | tar --extract --directory "$root/src"
}

# beside ROOT NET COMMAND [ARGUMENT ...]: outside of the root, which has all that processes in it need, in namespaces of
# its own, so that nothing that is left behind outlives it. NET `own` has a loopback and nothing else.
beside() {
	local root=$1 net=()
	if [ "$2" = own ]; then net=(--net); fi
	shift 2
	# shellcheck disable=SC2016 # expanded by the inner shell
	unshare --mount --pid --fork --kill-child "${net[@]}" bash -euc '
		root=$1 cargo=$2 rustup=$3
		shift 3
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
		exec "$@"
	' beside "$root" "${CARGO_HOME:-$HOME/.cargo}" "${RUSTUP_HOME:-$HOME/.rustup}" "$@"
}

# inside ROOT NET COMMAND: the same in the root, in its folder /src.
inside() {
	beside "$1" "$2" chroot "$1" /usr/bin/env -i HOME=/root TERM=dumb LANG=C.UTF-8 \
		PATH=/root/.cargo/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
		CARGO_NET_OFFLINE=true MATRIX_FILTER="${MATRIX_FILTER:-}" \
		bash -euo pipefail -c "mkdir -p /src; cd /src; $3"
}
