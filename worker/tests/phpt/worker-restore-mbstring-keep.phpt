--TEST--
Worker mode: encodings of mbstring stay when the pool keeps them
--SKIPIF--
<?php
if (!function_exists('mb_regex_encoding')) {
    echo 'skip needs mbstring with regular expressions';
}
--FILE--
<?php
mb_internal_encoding('EUC-JP');
mb_substitute_character(0x3f);
mb_detect_order(['SJIS', 'UTF-8']);

function state(): array
{
    return [
        'internal' => mb_internal_encoding(),
    ];
}

function change(): void
{
    mb_internal_encoding('SJIS');
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
option keep 128
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
