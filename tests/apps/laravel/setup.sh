#!/usr/bin/env bash
# A small application on Debian's Laravel 8.   setup.sh DIR
# With HOWDAH_OCTANE, a checkout of laravel/octane 2, also Octane's worker script. With HOWDAH_LARAVEL, an application
# in which Composer installed Laravel 10 or later and laravel/octane, on these, with php/octane.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
dir=${1:?usage: setup.sh DIR}
mkdir -p "$dir/data" "$dir/bootstrap/cache" "$dir/storage/framework/sessions" "$dir/storage/framework/views" \
	"$dir/storage/framework/cache" "$dir/storage/logs" "$dir/resources/views"
cp -a "$here/app/." "$here/../harness/Notes.php" "$dir/"
# Laravel looks for its packages here.
mkdir -p "$dir/vendor/composer"
echo '[]' >"$dir/vendor/composer/installed.json"
echo '{}' >"$dir/composer.json"

if [ -n "${HOWDAH_LARAVEL:-}" ]; then
	# Laravel and Octane from there, and php/octane of this repository, which its autoloader does not know.
	for entry in "$HOWDAH_LARAVEL"/vendor/*; do
		case $entry in */autoload.php | */composer) ;; *) ln -s "$entry" "$dir/vendor/" ;; esac
	done
	mkdir -p "$dir/vendor/howdah"
	cp -a "$here/../../../php/octane" "$dir/vendor/howdah/octane"
	cp "$HOWDAH_LARAVEL/vendor/laravel/octane/config/octane.php" "$dir/config/octane.php"
	cat >"$dir/vendor/autoload.php" <<-PHP
		<?php
		spl_autoload_register(static function (string \$class): void {
		    if (str_starts_with(\$class, 'Howdah\\\\Octane\\\\')) {
		        require __DIR__ . '/howdah/octane/src/' . strtr(substr(\$class, 14), '\\\\', '/') . '.php';
		    }
		});
		return require '$HOWDAH_LARAVEL/vendor/autoload.php';
	PHP
	exit 0
fi

[ -n "${HOWDAH_OCTANE:-}" ] || exit 0
[ -f "$HOWDAH_OCTANE/bin/frankenphp-worker.php" ] || {
	echo "setup.sh: HOWDAH_OCTANE=$HOWDAH_OCTANE is not a checkout of laravel/octane" >&2
	exit 1
}
mkdir -p "$dir/vendor/laravel"
cp -a "$HOWDAH_OCTANE" "$dir/vendor/laravel/octane"
# Laravel 8 has no once() whose results would have to be forgotten.
sed 's|^\( *\)FlushOnce::class,|\1// FlushOnce::class,|' "$HOWDAH_OCTANE/config/octane.php" >"$dir/config/octane.php"
cat >"$dir/vendor/autoload.php" <<'PHP'
<?php
require_once 'Illuminate/autoload.php';
require_once 'Illuminate/Foundation/helpers.php';
spl_autoload_register(static function (string $class): void {
    if (str_starts_with($class, 'Laravel\\Octane\\')) {
        $file = __DIR__ . '/laravel/octane/src/' . strtr(substr($class, 15), '\\', '/') . '.php';
        is_file($file) && require $file;
    }
});
PHP
cat >"$dir/public/frankenphp-worker.php" <<'PHP'
<?php
// What `artisan octane:install` writes, with what `artisan octane:start` says to the server.
$_SERVER['APP_BASE_PATH'] ??= dirname(__DIR__);
$_SERVER['APP_PUBLIC_PATH'] ??= __DIR__;
$_SERVER['MAX_REQUESTS'] ??= 500;
$_SERVER['LARAVEL_OCTANE'] ??= 1;
require __DIR__ . '/../vendor/laravel/octane/bin/frankenphp-worker.php';
PHP
