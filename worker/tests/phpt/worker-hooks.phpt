--TEST--
Worker mode: callbacks run at the start and the end of each request, however it ends
--FILE--
<?php
final class Watcher
{
    /** @var list<string> */
    private array $seen = [];

    public function __construct(private string $name)
    {
    }

    public function start(): void
    {
        echo "$this->name starts {$_GET['how']}\n";
    }

    public function end(): void
    {
        echo "$this->name ends {$_GET['how']} with ", http_response_code(), "\n";
    }

    public static function __callStatic(string $name, array $arguments): void
    {
        echo "$name\n";
    }
}

final class Late
{
    public function __destruct()
    {
        echo "destructor\n";
    }
}

$first = new Watcher('first');
$second = new Watcher('second');
howdah_on_request_start($first->start(...));
howdah_on_request_start([$second, 'start']);
howdah_on_request_start('Watcher::magic');
howdah_on_request_start(static function () {
    if ($_GET['how'] === 'broken') {
        throw new LogicException('of a callback');
    }
});
howdah_on_request_end([$first, 'end']);
howdah_on_request_end([$second, 'end']);
while (frankenphp_handle_request(static function () {
    register_shutdown_function(static function () {
        echo "shutdown\n";
        http_response_code(201);
    });
    $late = new Late();
    echo "code\n";
    try {
        howdah_on_request_end(static fn () => 0);
    } catch (RuntimeException $e) {
        echo $e->getMessage(), "\n";
    }
    match ($_GET['how']) {
        'exit' => exit("exit\n"),
        'exception' => throw new LogicException('thrown'),
        'fatal' => eval('interface A {} class B implements A, A {}'),
        default => 0,
    };
})) {
}
--HOWDAH--
worker {ROOT}/test.php
show exit
var QUERY_STRING how=return
run
var QUERY_STRING how=exit
run
var QUERY_STRING how=broken
run
var QUERY_STRING how=fatal
run
wait-exit
--EXPECTF--
first starts return
second starts return
magic
code
howdah_on_request_end() must be called while a worker script boots, before its first request
destructor
shutdown
second ends return with 201
first ends return with 201

first starts exit
second starts exit
magic
code
howdah_on_request_end() must be called while a worker script boots, before its first request
exit
destructor
shutdown
second ends exit with 201
first ends exit with 201

first starts broken
second starts broken
magic

Warning: Uncaught LogicException: of a callback in {ROOT}/test.php:%d
Stack trace:
#0 [internal function]: {closure%S}()
#1 {ROOT}/test.php(%d): frankenphp_handle_request()
#2 {main}
  thrown in {ROOT}/test.php on line %d
code
howdah_on_request_end() must be called while a worker script boots, before its first request
destructor
shutdown
second ends broken with 201
first ends broken with 201

first starts fatal
second starts fatal
magic
code
howdah_on_request_end() must be called while a worker script boots, before its first request

Fatal error: %s
shutdown
second ends fatal with 201
first ends fatal with 201

[worker exited with status 255]
