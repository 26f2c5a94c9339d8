--TEST--
Worker mode: $_ENV of boot comes back, also when a request was the first to use it
--INI--
variables_order=EGPCS
--FILE--
<?php
while (frankenphp_handle_request(function () {
    require __DIR__ . '/env.php';
})) {
}
--FILE env.php--
<?php
echo $_ENV['NAME'] ?? getenv('NAME') ?: 'boot', "\n";
$_ENV['NAME'] = 'request';
putenv('NAME=request');
echo $_ENV['NAME'], "\n";
--HOWDAH--
worker {ROOT}/test.php
run
run
run
--EXPECT--
boot
request

boot
request

boot
request
