#!/usr/bin/env bash
# A small application on Debian's Laravel 8.   setup.sh DIR
# With HOWDAH_OCTANE, a checkout of laravel/octane 2, also Octane's worker script.
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

[ -n "${HOWDAH_OCTANE:-}" ] || exit 0
[ -f "$HOWDAH_OCTANE/bin/frankenphp-worker.php" ] || {
	echo "setup.sh: HOWDAH_OCTANE=$HOWDAH_OCTANE is no checkout of laravel/octane" >&2
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
