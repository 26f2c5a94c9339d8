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

# PHPStan needs the libraries that `composer install` in a package's folder installs.
if command -v phpstan >/dev/null; then
	for package in php/*/phpstan.neon.dist; do
		folder=$(dirname "$package")
		if [ -d "$folder/vendor" ]; then
			phpstan analyse --no-progress --configuration "$package" --autoload-file "$folder/vendor/autoload.php"
		else
			echo "lint-php: $folder not analysed by phpstan, since $folder/vendor is missing" >&2
		fi
	done
else
	echo "lint-php: packages not analysed by phpstan, since it is not installed" >&2
fi

# Analyses a package with the library that it is for: PACKAGE IGNORED-CODE FOLDER...
analyze_with() {
	local package=$1 ignored=$2 config
	shift 2
	config=$(mktemp --suffix=.toml)
	sed -e "s|^paths = .*|paths = [\"php/$package/src\"]|" \
		-e "s|^includes = \[|includes = [$(printf '"%s", ' "$@")|" \
		-e "s|^ignore = .*|ignore = [\"mixed-assignment\", \"$ignored\"]|" tools/php/packages.toml >"$config"
	mago --workspace . --config "$config" analyze --minimum-report-level error || { rm "$config"; return 1; }
	rm "$config"
}

if command -v mago >/dev/null; then
	for config in tools/php/*.toml; do
		mago --workspace . --config "$config" analyze --minimum-report-level error
	done
	if [ -n "${HOWDAH_CODEIGNITER:-}" ]; then
		# The framework's @property-read is for other classes.
		analyze_with codeigniter4 incompatible-property-access "$HOWDAH_CODEIGNITER"/{system,app/Config}
	else
		echo "lint-php: codeigniter4 not analyzed, since HOWDAH_CODEIGNITER names no CodeIgniter" >&2
	fi
	if [ -n "${HOWDAH_OCTANE:-}" ]; then
		analyze_with octane mixed-assignment "$HOWDAH_OCTANE/src" /usr/share/php/Illuminate
	else
		echo "lint-php: octane not analyzed, since HOWDAH_OCTANE names no checkout of laravel/octane" >&2
	fi
else
	echo "lint-php: no static analysis, since mago is not installed (tools/php/README.md)" >&2
fi
