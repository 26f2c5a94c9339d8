#!/usr/bin/env bash
# A small application on Debian's Symfony 5.4: FrameworkBundle, TwigBundle, Runtime, and our php/runtime.   setup.sh DIR
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
dir=${1:?usage: setup.sh DIR}
mkdir -p "$dir/data" "$dir/var" "$dir/vendor"
cp -a "$here/app/." "$here/../harness/Notes.php" "$dir/"
cp -a "$here/../../../php/runtime/src" "$dir/vendor/howdah-runtime"
# What Composer would write: the autoloader, and Runtime's front controller made from its template.
cat >"$dir/vendor/autoload.php" <<'PHP'
<?php
if (!class_exists(Composer\InstalledVersions::class)) {
	require_once __DIR__ . '/../src/InstalledVersions.php';
}
require_once 'Symfony/Bundle/FrameworkBundle/autoload.php';
require_once 'Symfony/Bundle/TwigBundle/autoload.php';
require_once 'Symfony/Component/Runtime/autoload.php';
require_once __DIR__ . '/howdah-runtime/Runtime.php';
require_once __DIR__ . '/howdah-runtime/WorkerRunner.php';
require_once __DIR__ . '/../Notes.php';
require_once __DIR__ . '/../src/Kernel.php';
PHP
# shellcheck disable=SC2016 # PHP expands these
php -r '
$template = file_get_contents("/usr/share/php/Symfony/Component/Runtime/Internal/autoload_runtime.template");
$class = var_export("Howdah\\Runtime\\Runtime", true);
$options = "[\"project_dir\" => dirname(__DIR__), \"disable_dotenv\" => true, \"env\" => \"prod\", \"debug\" => false]";
echo strtr($template, ["%runtime_class%" => $class, "%runtime_options%" => $options]);
' >"$dir/vendor/autoload_runtime.php"
