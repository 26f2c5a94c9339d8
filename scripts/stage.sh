#!/usr/bin/env bash
# Gathers what packages and archives of the server contain, from a release build:
#   scripts/stage.sh DIR [PHP_CONFIG ...]          PROFILE, TARGET: as for scripts/release.sh
# DIR gets howdah, php/VERSION for each PHP_CONFIG (default: each php-config8.x whose PHP is installed), man, completions,
# etc, welcome, systemd and sbom.cdx.json.
set -euo pipefail
cd "$(dirname "$0")/.."
stage=${1:?usage: scripts/stage.sh DIR [PHP_CONFIG ...]}
shift
configs=("$@")

# The php-config of each PHP 8.2 or newer that is installed.
if [ ${#configs[@]} = 0 ]; then
	for version in 8.2 8.3 8.4 8.5; do
		config=$(command -v "php-config$version") && [ -x "$("$config" --php-binary)" ] && configs+=("$config")
	done
fi
[ ${#configs[@]} -gt 0 ] || { echo "stage: no PHP with headers is installed (Debian: php8.2-dev)" >&2; exit 1; }

rm -rf "$stage"
mkdir -p "$stage"/{etc,completions,php}
profile=${PROFILE:-release}
cp "target/${TARGET:+$TARGET/}$profile/howdah" "$stage/howdah"
# Pages and completions are written by one that runs here.
howdah=$PWD/target/$profile/howdah
for config in "${configs[@]}"; do
	version=$("$config" --version | cut -d. -f1,2)
	built=$PWD/target/php/${TARGET:+$TARGET/}$version
	make -s -j"$(nproc)" -C worker OUT="$built" PHP_CONFIG="$config" ${TARGET:+CROSS=1 CC="${TARGET/-unknown/}-gcc"}
	mkdir "$stage/php/$version"
	cp "$built"/howdah-php "$built"/howdah-php.so "$stage/php/$version"
	# The virtual package of Debian for extensions: what it names changes when PHP's structures do.
	echo "phpapi-$("$config" --phpapi)" >"$stage/php/$version/api"
	# Programs that are linked against it need functions that an older release may lack.
	"$config" --version >"$stage/php/$version/release"
done
[ -f target/sbom.cdx.json ] || { echo "stage: target/sbom.cdx.json is missing: run scripts/sbom.sh" >&2; exit 1; }
cp target/sbom.cdx.json "$stage"
cp packaging/etc/Caddyfile "$stage/etc/Caddyfile"
cp -r packaging/welcome packaging/systemd README.md LICENSE-APACHE LICENSE-MIT "$stage"
"$howdah" manpage --directory "$stage/man"
"$howdah" completions bash >"$stage/completions/howdah"
"$howdah" completions zsh >"$stage/completions/_howdah"
"$howdah" completions fish >"$stage/completions/howdah.fish"
