#!/usr/bin/env bash
# Tests the packages on one distribution, in clean roots of it:
#   scripts/packages.sh debian12|debian13|ubuntu24.04 [STEP ...]
# Steps, all without one: build (twice, which has to give the same files), lintian, archive (of `make dist`: unpacked beside
# nothing but PHP, it serves), life (install, first page, upgrade under load, remove, purge), boot (the units under
# systemd), application (from the packages to the first page of a WordPress, timed). The server is the one of this machine, target/release/howdah (PROFILE=quick: target/quick/howdah); howdah-php is
# built for the PHP of the distribution. `life` has no systemd: scripts/packages/life.py does what it does for the units,
# when the packages' maintainer scripts call it. `boot` starts systemd in a container of systemd-nspawn.
# Needs root, and an archive that can be reached. Roots stay in target/packages (PACKAGES_ROOTS names another folder) with
# the packages and a log; PACKAGES_ROOTS may be that of scripts/matrix.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
roots=${PACKAGES_ROOTS:-$PWD/target/packages}
name=${1:?usage: scripts/packages.sh debian12|debian13|ubuntu24.04 [STEP ...]}
shift
steps=("$@")
[ ${#steps[@]} -gt 0 ] || steps=(build lintian archive life boot application)
profile=${PROFILE:-release}

say() { printf 'packages: %s: %s\n' "$name" "$*" >&2; }
die() { say "$*"; exit 2; }
# shellcheck source=scripts/roots.sh
source scripts/roots.sh

[ "$(id -u)" = 0 ] || die "root is needed to make and enter other roots; run it with sudo"
[ -x "target/$profile/howdah" ] || die "target/$profile/howdah is missing: run make build, or make quick with PROFILE=quick"
[ -f target/sbom.cdx.json ] || die "target/sbom.cdx.json is missing: run make sbom"
scripts/setup.sh matrix
mkdir -p "$roots"
log=$roots/$name.log
packages=$roots/$name.packages
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
time=$(git log -1 --format=%ct)

# A copy of the distribution's root that nothing was installed in.
fresh() {
	rm -rf --one-file-system "$1"
	cp -a "$roots/$name" "$1"
}

# The builds' root stays for the next run.
build_root() {
	local root=$roots/$name.build
	if [ ! -e "$root/.prepared" ]; then
		fresh "$root"
		inside "$root" host "apt-get update -qq
			DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
				debhelper dpkg-dev lintian gcc make libc6-dev php-dev php-cgi php-cli xz-utils"
		touch "$root/.prepared"
	fi
	copy_sources "$root"
	mkdir -p "$root/src/target/$profile"
	cp "target/$profile/howdah" "$root/src/target/$profile/howdah"
	cp target/sbom.cdx.json "$root/src/target"
}

# Packages and archive in a folder of the root, with a version.
pack() {
	local root=$1 folder=$2 of=$3
	inside "$root" own "cd $folder; rm -rf target/deb target/dist
		export PROFILE=$profile VERSION=$of SOURCE_DATE_EPOCH=$time
		scripts/deb.sh; scripts/dist.sh"
}

step_build() {
	local root=$roots/$name.build
	build_root
	rm -rf "$root/src/target/php"
	pack "$root" /src "$version"
	rm -rf "$root/other" "$packages"
	# The path is longer, and so are the names that builds would leave in their files.
	mkdir -p "$root/other/folder" "$packages/1" "$packages/2"
	cp -a "$root/src" "$root/other/folder/src"
	rm -rf "$root/other/folder/src/target/php"
	pack "$root" /other/folder/src "$version"
	local sums
	sums=$(cd "$root/src/target" && sha256sum deb/*deb dist/*.tar.xz)
	printf '%s\n' "$sums"
	if ! (cd "$root/other/folder/src/target" && sha256sum --check --quiet <<<"$sums"); then
		say "two builds of the same files differ"
		return 1
	fi
	cp "$root"/src/target/deb/*deb "$root"/src/target/dist/*.tar.xz "$packages/1"
	rm -rf "$root/other"
	pack "$root" /src "$version+next"
	cp "$root"/src/target/deb/*deb "$packages/2"
}

step_lintian() {
	local root=$roots/$name.build
	mkdir -p "$root/lintian"
	rm -f "$root"/lintian/*
	cp "$packages"/1/*deb "$root/lintian"
	# Only the release has debug symbols.
	local without=()
	[ "$profile" = release ] || without=(--suppress-tags debug-file-with-no-debug-symbols)
	inside "$root" own "lintian --allow-root --no-cfg --tag-display-limit 0 --fail-on error,warning --info \
		${without[*]} /lintian/*deb"
}

# The archive in a root that has nothing but PHP: the server runs from any folder.
step_archive() {
	local root=$roots/$name.archive
	fresh "$root"
	mkdir "$root/archive"
	cp "$packages"/1/howdah-"$version"-*-linux-gnu.tar.xz "$root/archive"
	inside "$root" host 'apt-get update -qq
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends php-cgi php-cli ca-certificates xz-utils'
	# Offline from here on.
	# shellcheck disable=SC2016 # expanded inside
	inside "$root" own 'mkdir -p "/a folder/site"
		cd "/a folder"
		tar -xf /archive/howdah-*.tar.xz
		howdah=$(echo "$PWD"/howdah-*/bin/howdah)
		size=$(stat -c %s "$howdah")
		[ "$size" -le $((25 << 20)) ] || { echo "the server has $size bytes, more than 25 MiB"; exit 1; }
		echo "<?php echo PHP_SAPI, \" \", 6 * 7;" >site/index.php
		"$howdah" php-server --root site --listen 127.0.0.1:8099 >log 2>&1 &
		server=$!
		php -r '\''
			for ($try = 0; $try < 300 && ($page = @file_get_contents("http://127.0.0.1:8099/")) === false; $try++) {
				usleep(100_000);
			}
			exit($page === "howdah 42" ? 0 : 1);
		'\'' || { cat log; exit 1; }
		kill -TERM "$server"
		wait "$server"
		echo "archive: $size bytes of server, unpacked, serve a page"'
	rm -rf --one-file-system "$root"
}

# A root with the packages to install, and with what is downloaded for them, MORE included: it needs no network then.
packages_root() {
	local root=$1 more=${2:-}
	fresh "$root"
	mkdir "$root/packages"
	for release in "$packages"/*; do
		mkdir "$root/packages/${release##*/}"
		cp "$release"/howdah_*.deb "$release"/howdah-php*_*.deb "$root/packages/${release##*/}"
	done
	# shellcheck disable=SC2016 # expanded inside
	inside "$root" host 'apt-get update -qq
		[ -z "'"$more"'" ] || DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends '"$more"'
		began=$(date +%s%N)
		# Without packages for debugging.
		rm -f /packages/*/*-dbgsym_*
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --download-only /packages/1/*.deb
		echo "$(( ($(date +%s%N) - began) / 1000000 )) ms" >/packages/downloaded'
}

# step_on PROGRAM [PACKAGES]: a program of scripts/packages on such a root.
step_on() {
	local root=$roots/$name.$1 began=$SECONDS
	packages_root "$root" "${2:-}"
	# Offline from here on.
	beside "$root" own python3 -m "scripts.packages.$1" "$root"
	rm -rf --one-file-system "$root"
	say "$1 took $((SECONDS - began)) s"
}

step_life() {
	step_on life
}

step_boot() {
	step_on boot "systemd systemd-sysv dbus procps iproute2"
}

step_application() {
	local root=$roots/$name.application
	packages_root "$root"
	mkdir "$root/application"
	cp tests/apps/wordpress/setup.sh "$root/application"
	# WordPress as files, without the PHP and the web server that its package depends on.
	# shellcheck disable=SC2016 # expanded inside
	inside "$root" host 'export DEBIAN_FRONTEND=noninteractive
		printf "#!/bin/sh\nexit 101\n" >/usr/sbin/policy-rc.d
		chmod +x /usr/sbin/policy-rc.d
		apt-get install -y -qq --no-install-recommends ca-certificates mariadb-server
		rm /usr/sbin/policy-rc.d
		cd /application
		apt-get install -s -qq --no-install-recommends wordpress wordpress-theme-twentytwentythree |
			sed -nE "s/^Inst (wordpress[^ ]*|php-getid3|libjs-[^ ]*) .*/\1/p" | xargs apt-get download -qq
		for file in *.deb; do dpkg-deb --extract "$file" /; done
		php=$(ls /packages/1/howdah-php*)
		php=${php##*/howdah-}
		apt-get install -y -qq --download-only /packages/1/*.deb "${php%%_*}-mysql"'
	# Offline from here on.
	beside "$root" own python3 -m scripts.packages.application "$root"
	rm -rf --one-file-system "$root"
}

distribution "$name"
: >"$log"
bootstrap "$roots/$name" >>"$log" 2>&1 || die "its archive cannot be reached ($log)"
for step in "${steps[@]}"; do
	case $step in
	build | lintian | archive | life | boot | application) ;;
	*) die "unknown step $step; known are build, lintian, archive, life, boot and application" ;;
	esac
	began=$SECONDS
	# Not in a condition, where bash would continue after an error.
	set +e
	(set -e; "step_$step") >>"$log" 2>&1
	status=$?
	set -e
	if [ "$status" != 0 ]; then
		tail -n 40 "$log" >&2
		say "$step FAILED after $((SECONDS - began)) s ($log)"
		exit 1
	fi
	say "$step passed in $((SECONDS - began)) s"
done
sed -nE 's/^(archive|life|boot|application): //p' "$log"
