--TEST--
Worker mode: error handling of libxml is that of boot
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
        'errors' => count(libxml_get_errors()),
        'last' => libxml_get_last_error() === false,
        'loader' => libxml_get_external_entity_loader(),
    ];
}

function change(): void
{
    libxml_use_internal_errors(true);
    simplexml_load_string('<broken');
    libxml_set_external_entity_loader(fn () => null);
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
changed: internal errors last loader

as after boot
changed: internal errors last loader

as after boot
