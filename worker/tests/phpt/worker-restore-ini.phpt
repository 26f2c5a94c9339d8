--TEST--
Worker mode: settings are restored to those of the boot
--FILE--
<?php
ini_set('precision', '9');
ini_set('session.gc_maxlifetime', '77');
set_include_path('/boot');

function state(): array
{
    return [
        'precision' => ini_get('precision'),
        'error_reporting' => ini_get('error_reporting'),
        'memory_limit' => ini_get('memory_limit'),
        'default_charset' => ini_get('default_charset'),
        'max_execution_time' => ini_get('max_execution_time'),
        'ignore_user_abort' => ini_get('ignore_user_abort'),
        'include_path' => ini_get('include_path'),
        'pcre.backtrack_limit' => ini_get('pcre.backtrack_limit'),
        'assert.active' => ini_get('assert.active'),
        'zend.enable_gc' => ini_get('zend.enable_gc'),
        'session.name' => ini_get('session.name'),
        'session.gc_maxlifetime' => ini_get('session.gc_maxlifetime'),
        'arg_separator.output' => ini_get('arg_separator.output'),
        'date.timezone' => ini_get('date.timezone'),
    ];
}

function change(): void
{
    error_reporting(0);
    ini_set('memory_limit', '1G');
    ini_set('default_charset', 'UTF-16');
    set_time_limit(99);
    ignore_user_abort(false);
    set_include_path('/nowhere');
    ini_set('pcre.backtrack_limit', 5000);
    ini_set('assert.active', 0);
    gc_disable();
    session_name('OTHER');
    ini_set('session.gc_maxlifetime', 7);
    ini_set('arg_separator.output', '#');
    ini_set('date.timezone', 'Asia/Tokyo');
    ini_restore('precision'); // boot had set it
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
changed: precision error_reporting memory_limit default_charset max_execution_time ignore_user_abort include_path pcre.backtrack_limit assert.active zend.enable_gc session.name session.gc_maxlifetime arg_separator.output date.timezone

as after boot
changed: precision error_reporting memory_limit default_charset max_execution_time ignore_user_abort include_path pcre.backtrack_limit assert.active zend.enable_gc session.name session.gc_maxlifetime arg_separator.output date.timezone

as after boot
