--TEST--
Worker mode: destructors that throw while the state is restored
--FILE--
<?php
final class Throws
{
    public function handle(): bool
    {
        return false;
    }

    public function __destruct()
    {
        throw new Exception('thrown by a destructor');
    }
}
spl_autoload_register($boot = static fn () => null);
while (frankenphp_handle_request(static function () use ($boot): void {
    $handler = set_error_handler(null);
    echo json_encode([spl_autoload_functions() === [$boot], $handler === null, ini_get('precision')]), "\n";
    restore_error_handler();
    if (isset($_GET['change'])) {
        set_error_handler([new Throws(), 'handle']);
        spl_autoload_register(static fn () => 1);
        spl_autoload_register([new Throws(), 'handle']);
        spl_autoload_unregister($boot);
        set_exception_handler([new Throws(), 'handle']);
        ini_set('precision', '3');
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
[true,true,"14"]

[true,true,"14"]

[true,true,"14"]
