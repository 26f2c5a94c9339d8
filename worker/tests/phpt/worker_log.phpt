--TEST--
frankenphp_log() and opcache_reset() in worker mode
--INI--
opcache.enable=1
log_errors=1
error_log=
--SKIPIF--
<?php
echo function_exists('opcache_reset') ? '' : 'skip without OPcache';
--FILE--
<?php
while (frankenphp_handle_request(static function () {
    frankenphp_log('plain');
    frankenphp_log('with context', FRANKENPHP_LOG_LEVEL_ERROR, ['a' => 1, 'path' => '/x']);
    frankenphp_log('debug', FRANKENPHP_LOG_LEVEL_DEBUG);
    frankenphp_log('warn', FRANKENPHP_LOG_LEVEL_WARN);
    frankenphp_log('odd', 0, ['bytes' => "a\xff", 'number' => NAN]);
    try {
        frankenphp_log('bad', 0, [new class implements JsonSerializable { public function jsonSerialize(): mixed { throw new Exception('no'); } }]);
    } catch (Exception $e) {
        echo $e->getPrevious()?->getMessage() ?? $e->getMessage(), "\n";
    }
    var_dump(opcache_reset());
})) {}
--HOWDAH--
show state exit log
worker {ROOT}/test.php
run
stop
--EXPECT--
no
bool(true)

[state] ready
[log i 1] plain
[log e 1] with context {"a":1,"path":"/x"}
[log d 1] debug
[log w 1] warn
[log i 1] odd {"bytes":"a�","number":0}
[state] reload
[worker exited with status 0]
