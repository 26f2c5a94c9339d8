#!/usr/bin/env bash
# A small application on Debian's Laravel 8.   setup.sh DIR
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
