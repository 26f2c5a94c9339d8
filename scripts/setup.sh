#!/usr/bin/env bash
# Installs packages that a task needs and this machine lacks; lists them, without questions.
#   scripts/setup.sh build|test|bench|package|matrix|cross-arm64
# Needs Debian 12, Debian 13 or Ubuntu 24.04, and root or sudo where something is missing.
# PHP_CONFIG=php-config8.x picks a PHP; otherwise the distribution's default is taken.
set -euo pipefail
cd "$(dirname "$0")/.."
task=${1:?usage: scripts/setup.sh build|test|bench|package|matrix|cross-arm64}

say() { printf 'setup: %s\n' "$*" >&2; }
die() { say "$*"; exit 2; }

as_root() {
	if [ "$(id -u)" = 0 ]; then "$@"
	elif command -v sudo >/dev/null; then sudo "$@"
	else die "root or sudo is needed for: $*"
	fi
}

apt_updated=
apt_update() {
	[ -z "$apt_updated" ] || return 0
	say "updating the package lists"
	as_root apt-get update -qq
	apt_updated=1
}

installed() { dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null | grep -qx installed; }

install() {
	local missing=() package
	for package in "$@"; do installed "$package" || missing+=("$package"); done
	[ ${#missing[@]} -gt 0 ] || return 0
	apt_update
	say "installing ${missing[*]}"
	# Services that packages bring must not start: tests run their own on free ports.
	local policy=/usr/sbin/policy-rc.d
	if [ ! -e $policy ]; then
		as_root sh -c "printf '#!/bin/sh\nexit 101\n' >$policy && chmod +x $policy"
		trap 'as_root rm -f /usr/sbin/policy-rc.d' EXIT
	fi
	as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
		"${missing[@]}" >/dev/null
}

# Sets `packages` to those of the arguments that this distribution has, and lists the others.
packaged() {
	local package
	packages=()
	for package in "$@"; do
		if ! installed "$package"; then
			apt_update
			# Not `apt-cache show`: that succeeds for a name that other packages merely mention.
			if [[ ! $(apt-cache policy "$package") =~ Candidate:\ [^\(] ]]; then
				say "$package is not in this distribution; what needs it is skipped"
				continue
			fi
		fi
		packages+=("$package")
	done
}

php_version() {
	if [ -n "${PHP_CONFIG:-}" ]; then
		case $PHP_CONFIG in
		*php-config[0-9].[0-9]*) printf '%s\n' "${PHP_CONFIG##*php-config}" ;;
		*) "$PHP_CONFIG" --version | cut -d. -f1,2 ;;
		esac
		return
	fi
	# The newest, as worker/Makefile takes.
	local version
	for version in 8.5 8.4 8.3 8.2; do
		if [ -x "/usr/bin/php-config$version" ] && [ -x "/usr/bin/php$version" ]; then
			printf '%s\n' "$version"
			return
		fi
	done
	apt_update
	apt-cache policy php-cli | sed -n 's/^ *Candidate: [0-9]*:\([0-9]*\.[0-9]*\).*/\1/p'
}

rust() {
	export PATH="$HOME/.cargo/bin:$PATH"
	local wanted have pinned
	wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
	have=$(rustc --version 2>/dev/null | cut -d' ' -f2 || true)
	if [ -n "$have" ] && [ "$(printf '%s\n%s\n' "$wanted" "$have" | sort -V | head -1)" = "$wanted" ]; then return; fi
	pinned=$(sed -n 's/^channel = "\(.*\)"/\1/p' rust-toolchain.toml)
	if command -v rustup >/dev/null; then
		say "installing Rust $pinned with rustup"
		rustup toolchain install "$pinned" --profile minimal --component clippy --component rustfmt
		return
	fi
	say "installing Rust $pinned with rustup (into ~/.cargo)"
	install ca-certificates curl
	curl --proto '=https' --tlsv1.2 -sSf https://static.rust-lang.org/rustup/rustup-init.sh |
		sh -s -- -y --no-modify-path --profile minimal --component clippy --component rustfmt \
			--default-toolchain "$pinned"
}

# For pages as a person sees them: of the server, over each version of HTTP, and the benchmark's report.
browser() {
	if grep -qx 'ID=ubuntu' /etc/os-release; then
		say "chromium is a snap on Ubuntu, which does not run in containers; the tests in a browser are skipped"
		return
	fi
	packaged chromium
	install "${packages[@]}"
}

command -v apt-get >/dev/null || die "this needs Debian or Ubuntu (apt-get); elsewhere install a C compiler, make, Rust, and PHP with its headers, then run make build"

version=$(php_version)
[ -n "$version" ] || die "no PHP was found in the package lists"
build=(gcc make libc6-dev ca-certificates "php$version-dev" "php$version-cgi" "php$version-opcache"
	"php$version-sqlite3" "php$version-mbstring" "php$version-xml")
# OPcache is part of PHP itself from 8.5 on.
if [ "$(printf '8.5\n%s\n' "$version" | sort -V | head -1)" = 8.5 ]; then
	build=("${build[@]/php$version-opcache/}")
fi
mapfile -t build < <(printf '%s\n' "${build[@]}" | sed '/^$/d')

install "${build[@]}"
rust
case $task in
build) ;;
test)
	install clang clang-format curl gdb git haproxy nghttp2-client nginx-light openssl procps python3 python3-yaml shellcheck util-linux \
		"php$version-cgi" "php$version-cli" "php$version-curl" "php$version-fpm" "php$version-gd" \
		"php$version-intl" "php$version-zip" "php$version-pgsql" "php$version-mysql" php-apcu \
		postgresql mariadb-server redis-server memcached
	# Event loops: the third-party package of Icinga is where Debian has ReactPHP's.
	packaged php-codesniffer phpunit php-redis php-memcached php-amphp-amp icinga-php-thirdparty
	install "${packages[@]}"
	browser
	if [ -f tests/apps/packages.txt ]; then
		mapfile -t apps < <(sed 's/#.*//; s/[[:space:]]*$//; /^$/d' tests/apps/packages.txt)
		packaged "${apps[@]}"
		install "${packages[@]}"
	fi
	;;
bench)
	mapfile -t tools < <(sed 's/#.*//; s/[[:space:]]*$//; /^$/d' bench/packages.txt)
	packaged "${tools[@]}"
	install "${packages[@]}"
	make -s -C bench tools
	;;
package) install debhelper dpkg-dev lintian ;;
matrix) install debootstrap iproute2 systemd-container util-linux ;;
cross-arm64) install gcc-aarch64-linux-gnu libc6-dev-arm64-cross binutils-aarch64-linux-gnu ;;
*) die "unknown task $task; use build, test, bench, package, matrix or cross-arm64" ;;
esac
