--TEST--
Worker mode: state that a setting of the request changed besides is as after boot
--SKIPIF--
<?php
if (!function_exists('mb_internal_encoding')) {
    echo 'skip needs mbstring';
}
--FILE--
<?php
mb_internal_encoding('EUC-JP');
mb_substitute_character(0x2a);
@assert_options(ASSERT_CALLBACK, 'of_boot');

function of_boot(): void
{
}

function state(): string
{
    return mb_internal_encoding().' '.mb_substitute_character().' '.@assert_options(ASSERT_CALLBACK);
}

while (frankenphp_handle_request(function () {
    echo state(), "\n";
    if (isset($_GET['set'])) {
        @ini_set($_GET['set'], $_GET['to']);
        echo 'changed: ', state(), "\n";
    }
})) {
}
--HOWDAH--
worker {ROOT}/test.php
var QUERY_STRING set=mbstring.substitute_character&to=none
run
var QUERY_STRING set=mbstring.internal_encoding&to=SJIS
run
var QUERY_STRING set=internal_encoding&to=SJIS
run
var QUERY_STRING set=default_charset&to=SJIS
run
var QUERY_STRING set=assert.callback&to=state
run
var QUERY_STRING set=precision&to=5
run
var QUERY_STRING
run
--EXPECT--
EUC-JP 42 of_boot
changed: EUC-JP none of_boot

EUC-JP 42 of_boot
changed: SJIS 42 of_boot

EUC-JP 42 of_boot
changed: EUC-JP 42 of_boot

EUC-JP 42 of_boot
changed: EUC-JP 42 of_boot

EUC-JP 42 of_boot
changed: EUC-JP 42 state

EUC-JP 42 of_boot
changed: EUC-JP 42 of_boot

EUC-JP 42 of_boot
