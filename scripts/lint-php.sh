#!/usr/bin/env bash
# Lints the PHP of this repository: syntax, PSR-12, the packages of Composer, and types where Mago is installed.
set -euo pipefail
cd "$(dirname "$0")/.."

# Fixtures that must not compile live in folders of these names.
mapfile -t files < <(find examples pgo php scripts tests tools -name '*.php' -type f -not -path '*/vendor/*' \
	-not -path '*/broken/*' -not -path '*/error/*' 2>/dev/null)
[ ${#files[@]} -gt 0 ] || { echo "lint-php: found no PHP files below $PWD" >&2; exit 1; }
# shellcheck disable=SC2016 # the inner shell expands these
printf '%s\0' "${files[@]}" | xargs -0 -n 1 -P 2 sh -c \
	'said=$(php -n -d short_open_tag=0 -d display_errors=1 -l "$1" 2>&1) || { printf "%s\n" "$said" >&2; exit 1; }' sh

# Fixtures of tests may look as odd as the code that they imitate; examples and packages may not.
styled=(examples/demo pgo tools/php)
[ -d php ] && styled+=(php)
if command -v phpcs >/dev/null; then
	phpcs -q --standard=tools/php/phpcs.xml "${styled[@]}"
else
	echo "lint-php: style not checked, since phpcs is not installed (Debian 13 has no package of it)" >&2
fi

# Each package is published alone, so each has a copy of the licences.
for package in php/*/composer.json; do
	folder=$(dirname "$package")
	for licence in LICENSE-MIT LICENSE-APACHE; do
		cmp -s "$licence" "$folder/$licence" || { echo "lint-php: $folder/$licence is not a copy of $licence" >&2; exit 1; }
	done
	[ -f "$folder/README.md" ] || { echo "lint-php: $folder has no README.md" >&2; exit 1; }
done
if command -v composer >/dev/null; then
	for package in php/*/composer.json; do
		COMPOSER_ALLOW_SUPERUSER=1 composer validate --quiet --strict --no-interaction "$package" ||
			{ COMPOSER_ALLOW_SUPERUSER=1 composer validate --strict --no-interaction "$package"; exit 1; }
	done
else
	echo "lint-php: packages not validated, since composer is not installed" >&2
fi

if command -v mago >/dev/null; then
	mago --workspace . --config tools/php/mago.toml analyze --minimum-report-level error
else
	echo "lint-php: no static analysis, since mago is not installed (tools/php/README.md)" >&2
fi
