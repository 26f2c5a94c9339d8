--TEST--
Worker mode: errors of libxml are of the request, also when boot collects them
--SKIPIF--
<?php
if (!function_exists('simplexml_load_string')) {
    echo 'skip needs SimpleXML';
}
--FILE--
<?php
libxml_use_internal_errors(true);

function state(): array
{
    return [
        'internal' => libxml_use_internal_errors(),
        'errors' => count(libxml_get_errors()),
        'last' => libxml_get_last_error() === false,
        'loader' => libxml_get_external_entity_loader(),
    ];
}

function change(): void
{
    simplexml_load_string('<broken');
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
var QUERY_STRING change=1
run
run
var QUERY_STRING
run
--EXPECT--
as after boot
changed: errors last

as after boot
changed: errors last

as after boot
