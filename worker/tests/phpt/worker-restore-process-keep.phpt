--TEST--
Worker mode: locale, time zone, directory, umask and environment stay when the pool keeps them
--FILE--
<?php
mkdir(__DIR__ . '/boot');
chdir(__DIR__ . '/boot');
umask(0027);
putenv('BOOT=boot');
date_default_timezone_set('Europe/Berlin');
setlocale(LC_NUMERIC, 'C.UTF-8');

function state(): array
{
    return [
        'cwd' => getcwd(),
        'umask' => umask(),
        'env' => [getenv('BOOT'), getenv('REQUEST'), getenv('PATH')],
        'timezone' => date_default_timezone_get(),
        'locale' => setlocale(LC_ALL, 0),
    ];
}

function change(): void
{
    chdir('/');
    umask(0);
    putenv('BOOT=request');
    putenv('REQUEST=1');
    putenv('PATH');
    date_default_timezone_set('Asia/Tokyo');
    setlocale(LC_ALL, 'C');
}

function differences(array $boot): string
{
    $now = state();
    $names = array_keys(array_filter($boot, fn ($value, $name) => $now[$name] !== $value, ARRAY_FILTER_USE_BOTH));
    return $names ? implode(' ', $names) : 'as after boot';
}

$boot = state();
while (frankenphp_handle_request(function () use ($boot) {
    echo differences($boot), "\n";
    if (isset($_GET['change'])) {
        change();
        echo 'changed: ', differences($boot), "\n";
    }
})) {
}
--HOWDAH--
worker {ROOT}/test.php
option keep 124
var QUERY_STRING change=1
run
run
var QUERY_STRING
run
--EXPECT--
as after boot
changed: cwd umask env timezone locale

cwd umask env timezone locale
changed: cwd umask env timezone locale

cwd umask env timezone locale
