--TEST--
Worker mode: the directory for temporary files is TMPDIR of the current request
--FILE--
<?php
$boot = sys_get_temp_dir();
while (frankenphp_handle_request(static function () use ($boot): void {
    if (isset($_GET['change'])) {
        putenv('TMPDIR=/elsewhere');
    }
    echo sys_get_temp_dir() === $boot ? 'as at boot' : sys_get_temp_dir();
})) {
}
--HOWDAH--
worker {ROOT}/test.php
run
var QUERY_STRING change=1
run
var QUERY_STRING
run
--EXPECT--
as at boot
/elsewhere
as at boot
