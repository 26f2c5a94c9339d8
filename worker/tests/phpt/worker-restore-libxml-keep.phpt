--TEST--
Worker mode: error handling of libxml stays when the pool keeps it
--SKIPIF--
<?php
if (!function_exists('simplexml_load_string')) {
    echo 'skip needs SimpleXML';
}
--FILE--
<?php
libxml_use_internal_errors(false);

function state(): array
{
    return [
        'internal' => libxml_use_internal_errors(),
    ];
}

function change(): void
{
    libxml_use_internal_errors(true);
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
option keep 256
var QUERY_STRING change=1
run
run
var QUERY_STRING
run
--EXPECT--
as after boot
changed: internal

internal
changed: internal

internal
