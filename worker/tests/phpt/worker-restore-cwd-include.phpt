--TEST--
Worker mode: a relative include is looked for in boot's directory again after a request that moved
--FILE--
<?php
mkdir(__DIR__ . '/elsewhere');
file_put_contents(__DIR__ . '/elsewhere/local.inc', '<?php return "elsewhere";');
file_put_contents(__DIR__ . '/local.inc', '<?php return "at home";');
chdir(__DIR__);
while (frankenphp_handle_request(function () {
    if (isset($_GET['move'])) {
        chdir(__DIR__ . '/elsewhere');
    }
    echo include './local.inc', "\n";
})) {
}
--INI--
opcache.enable=1
opcache.file_update_protection=0
opcache.validate_timestamps=0
--HOWDAH--
worker {ROOT}/test.php
run
var QUERY_STRING move=1
run
var QUERY_STRING
run
--EXPECT--
at home

elsewhere

at home
