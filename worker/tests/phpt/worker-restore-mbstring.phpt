--TEST--
Worker mode: encodings of mbstring are those of boot
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
        'output' => mb_http_output(),
        'substitute' => mb_substitute_character(),
        'order' => mb_detect_order(),
        'regex' => mb_regex_encoding(),
        'options' => mb_regex_set_options(),
        'language' => mb_language(),
        'search' => mb_ereg_search_getregs(),
    ];
}

function change(): void
{
    mb_internal_encoding('SJIS');
    mb_http_output('SJIS');
    mb_substitute_character('none');
    mb_detect_order('UTF-8');
    mb_regex_encoding('SJIS');
    mb_regex_set_options('i');
    mb_language('Japanese');
    mb_ereg_search_init('abc', 'b');
    mb_ereg_search();
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
changed: internal output substitute order regex options language search

as after boot
changed: internal output substitute order regex options language search

as after boot
