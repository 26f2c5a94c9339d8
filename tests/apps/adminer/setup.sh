#!/usr/bin/env bash
# Adminer from Debian's package, on a SQLite database.   setup.sh DIR
# Login: system SQLite 3, any user, password elephant, database DIR/data.db
set -euo pipefail
dir=${1:?usage: setup.sh DIR}
[ -e "$dir/ready" ] && exit 0
mkdir -p "$dir/public" "$dir/sessions"
cp /usr/share/adminer/adminer.php "$dir/public/adminer.php"
cat >"$dir/public/index.php" <<'PHP'
<?php
session_save_path(dirname(__DIR__) . '/sessions');
// Adminer refuses databases without a password of their own unless a plugin allows the login.
function adminer_object()
{
    // Adminer 5 has its classes in a namespace.
    class_exists('Adminer', false) || class_alias('Adminer\Adminer', 'Adminer');

    return new class extends Adminer {
        public function login($login, $password)
        {
            return $password === 'elephant';
        }

        public function credentials()
        {
            return ['', '', ''];
        }
    };
}
require __DIR__ . '/adminer.php';
PHP
# shellcheck disable=SC2016 # PHP expands these
php -r '
$pdo = new PDO("sqlite:" . $argv[1]);
$pdo->exec("CREATE TABLE riders (id INTEGER PRIMARY KEY, name TEXT NOT NULL, seat INTEGER)");
$pdo->exec("INSERT INTO riders (name, seat) VALUES (\x27Mira\x27, 1), (\x27Harun\x27, 2), (\x27Leela\x27, 3)");
' "$dir/data.db"
touch "$dir/ready"
