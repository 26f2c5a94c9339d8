#!/usr/bin/env bash
# Gets frameworks that tests need and that no distribution packages, each at one commit, from GitHub into
# target/frameworks. Prints the variables that name them, for a shell. Where GitHub cannot be reached, those that are
# missing are named, and their tests are skipped.
#   eval "$(scripts/frameworks.sh)"
# What a variable names already is not fetched.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$PWD/target/frameworks
unreachable=

# Gets a commit, whose id is the checksum of its files: fetch NAME REPOSITORY COMMIT [PATH...]
fetch() {
	local name=$1 repository=$2 commit=$3
	local path=$folder/$name
	shift 3
	if [ "$(cat "$path/.complete" 2>/dev/null)" = "$commit" ]; then return 0; fi
	[ -z "$unreachable" ] || return 1
	rm -rf "$path"
	git init -q "$path"
	if ! GIT_TERMINAL_PROMPT=0 timeout 120 git -C "$path" -c http.lowSpeedLimit=1000 -c http.lowSpeedTime=20 \
		fetch -q --depth 1 "https://github.com/$repository" "$commit" 2>"$folder/error"; then
		echo "frameworks: $repository cannot be had, and its tests are skipped: $(tail -1 "$folder/error")" >&2
		unreachable=1
		return 1
	fi
	git -C "$path" checkout -q FETCH_HEAD -- "${@:-.}"
	# Tests copy the folder.
	rm -rf "$path/.git"
	echo "$commit" >"$path/.complete"
}

# Prints an assignment: variable NAME VALUE.
variable() { printf 'export %s=%q\n' "$1" "$2"; }

mkdir -p "$folder"
# CodeIgniter 4.7.0, Laravel Octane 2.3.6.
if [ -z "${HOWDAH_CODEIGNITER:-}" ] && fetch codeigniter codeigniter4/CodeIgniter4 17d2d6667189fdc2ba1e854f01b543660ccae696 \
	app composer.json env preload.php public spark system writable; then
	variable HOWDAH_CODEIGNITER "$folder/codeigniter"
fi
if [ -z "${HOWDAH_OCTANE:-}" ] && fetch octane laravel/octane a7877303e61ffe4aa58c4f77774bb92457d9af02; then
	variable HOWDAH_OCTANE "$folder/octane"
fi
# RoadRunner's classes 3.4.0 with psr/log 3, on the distribution's PSR-7.
if [ -z "${HOWDAH_ROADRUNNER:-}" ] && fetch roadrunner-http roadrunner-php/http c6fb29998a1074c82038cb280c2c6bb61b2d178f &&
	fetch roadrunner-worker roadrunner-php/worker 8efc721a3ced27fd6ef6bca347a69010ff7930cb &&
	fetch goridge roadrunner-php/goridge c6696bd1834f5e88d1252a953a1336c041795411 &&
	fetch psr-log php-fig/log f16e1d5863e37f8d8c2a01719f5b34baa2b714d3; then
	cat >"$folder/roadrunner.php" <<-'PHP'
		<?php
		require_once 'Nyholm/Psr7/autoload.php';
		spl_autoload_register(static function (string $class): void {
		    $folders = [
		        'Psr\\Log\\' => 'psr-log',
		        'Spiral\\RoadRunner\\Http\\' => 'roadrunner-http',
		        'Spiral\\RoadRunner\\' => 'roadrunner-worker',
		        'Spiral\\Goridge\\' => 'goridge',
		    ];
		    foreach ($folders as $prefix => $folder) {
		        if (str_starts_with($class, $prefix)) {
		            require __DIR__ . "/$folder/src/" . strtr(substr($class, strlen($prefix)), '\\', '/') . '.php';
		            return;
		        }
		    }
		});
	PHP
	variable HOWDAH_ROADRUNNER "$folder/roadrunner.php"
fi
