#!/usr/bin/env bash
# Runs the unit tests of the Composer packages in php/ with the distribution's PHPUnit and libraries, and the script that
# splits the packages. What this machine lacks is named and skipped.
#   scripts/test-php-packages.sh [PACKAGE...]
# PHP=php8.3 picks a PHP; PHPUNIT=/path/to/phpunit a different PHPUnit.
set -euo pipefail
cd "$(dirname "$0")/.."
php=${PHP:-php}
phpunit=${PHPUNIT:-$(command -v phpunit || true)}
say() { echo "test-php-packages: $*" >&2; }

# Libraries below PHP's include path without which a package cannot be tested.
declare -A libraries=(
	[psr15]="Nyholm/Psr7/autoload.php"
	[psr7-worker]="Nyholm/Psr7/autoload.php"
	[runtime]="Symfony/Component/Runtime/autoload.php Symfony/Component/HttpKernel/autoload.php"
	[codeigniter4]=""
	[octane]="Symfony/Component/Process/autoload.php Symfony/Component/HttpFoundation/autoload.php"
)

packages=("$@")
[ ${#packages[@]} -gt 0 ] || packages=(psr15 psr7-worker runtime codeigniter4 octane)
if [ -z "$phpunit" ]; then
	say "skipped, since phpunit is not installed: ${packages[*]}"
	packages=()
fi
for package in "${packages[@]}"; do
	missing=
	for library in ${libraries[$package]}; do
		# shellcheck disable=SC2016 # PHP expands it
		"$php" -n -r 'exit(stream_resolve_include_path($argv[1]) === false ? 1 : 0);' "$library" ||
			missing="$missing $library"
	done
	if [ -n "$missing" ] && [ ! -d "php/$package/vendor" ]; then
		say "$package skipped, since PHP finds no$missing"
		continue
	fi
	echo "--- $package"
	"$php" "$phpunit" --do-not-cache-result --configuration "php/$package/phpunit.xml.dist"
done

# Each package's repository has exactly its folder. A shallow clone lacks the history that a split needs.
if [ "$(git rev-parse --is-shallow-repository 2>/dev/null)" != false ]; then
	say "the split of the packages was not tested, since this is not a whole clone"
elif ! [ -x "$(git --exec-path)/git-subtree" ]; then
	say "the split of the packages was not tested, since git has no subtree"
else
	read -r package commit < <(scripts/split-packages.sh stubs)
	if [ "$package $(git rev-parse "$commit^{tree}")" != "stubs $(git rev-parse HEAD:php/stubs)" ]; then
		say "the split of stubs is not its folder"
		exit 1
	fi
fi
