#!/usr/bin/env bash
# Builds for another processor what `make dist ARCH=…` packs: the server, and howdah-php for the PHP of this distribution.
#   scripts/cross.sh aarch64
# Installs the cross compiler and Rust's library if they are missing. Headers of PHP are those of the distribution's package
# for that processor, unpacked into target/cross: nothing of this machine's package list changes. Prints the php-config of
# each PHP. What is built is not run here.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$HOME/.cargo/bin:$PATH"
arch=${1:?usage: scripts/cross.sh aarch64}
case $arch in
aarch64) debian=arm64 ;;
*) echo "cross: unknown processor $arch; known is aarch64" >&2; exit 2 ;;
esac
target=$arch-unknown-linux-gnu
gcc=$arch-linux-gnu-gcc
cross=$PWD/target/cross/$arch

say() { printf 'cross: %s\n' "$*" >&2; }

scripts/setup.sh "cross-$debian" >&2
rustup target list --installed | grep -qx "$target" || rustup target add "$target" >&2
variable=CARGO_TARGET_$(tr 'a-z-' 'A-Z_' <<<"$target")_LINKER
export "$variable=$gcc" "CC_${target//-/_}=$gcc"
TARGET=$target scripts/release.sh >&2

# apt with lists of the other processor's packages, apart from those of this machine.
options=(-o "Dir::State=$cross/apt/state" -o "Dir::Cache=$cross/apt/cache" -o "Dir::State::status=$cross/apt/status"
	-o "APT::Architecture=$debian" -o "APT::Architectures=$debian" -o APT::Sandbox::User=root)
mkdir -p "$cross"/apt/{state/lists/partial,cache/archives/partial}
touch "$cross/apt/status"
found=0
for version in 8.2 8.3 8.4 8.5; do
	# The executables of PHP are in the same places, whatever the processor.
	if [ ! -x "/usr/bin/php-config$version" ] || [ ! -x "/usr/bin/php$version" ]; then continue; fi
	root=$cross/php$version
	if [ ! -e "$root/usr/bin/php-config$version" ]; then
		say "unpacking the headers of PHP $version for $debian"
		apt-get "${options[@]}" update -qq >&2
		rm -rf "$root"
		mkdir -p "$root"
		if ! (cd "$root" && apt-get "${options[@]}" download -qq "php$version-dev" >&2); then
			say "php$version-dev is not packaged for $debian: no howdah-php$version"
			continue
		fi
		dpkg-deb --extract "$root"/*.deb "$root"
	fi
	config=$cross/php-config$version
	sed "s|^include_dir=.*|include_dir=\"$(echo "$root"/usr/include/php/*)\"|" "$root/usr/bin/php-config$version" >"$config"
	chmod +x "$config"
	printf '%s\n' "$config"
	found=1
done
[ "$found" = 1 ] || { say "no PHP with headers for $debian: install php8.x-dev for this machine first"; exit 1; }
