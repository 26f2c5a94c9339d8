--TEST--
Coroutines: an anonymous class that a second request finds half linked is an error, without OPcache
--FILE--
<?php
$state = new stdClass();
$state->began = $state->ended = 0;
$state->Base = $state->Result = false;
spl_autoload_register(function (string $class) use ($state): void {
    while (!$state->$class) {
        usleep(100);
    }
    require __DIR__ . '/' . strtolower($class) . '.inc';
});

function make(): object
{
    return new class extends Base {
        public function get(): Result
        {
            return new Result();
        }
    };
}

while (frankenphp_handle_request(function () use ($state): void {
    switch ($_GET['do']) {
        case 'make':
            $state->began++;
            try {
                echo get_class(make()->get());
            } catch (Error $error) {
                echo $error->getMessage();
            }
            $state->ended++;
            return;
        case 'release':
            while ($state->began < 2) {
                usleep(100);
            }
            $state->Base = true;
            for ($i = 0; $i < 1000 && $state->ended < 1; $i++) {
                usleep(100);
            }
            $state->Result = true;
            return;
        default:
            echo (int) class_exists($_GET['do']);
    }
})) {
}
--FILE base.inc--
<?php
abstract class Base
{
    abstract public function get(): Countable;
}
--FILE result.inc--
<?php
class Result implements Countable
{
    public function count(): int
    {
        return 0;
    }
}
--INI--
opcache.enable=0
--HOWDAH--
worker {ROOT}/test.php
option concurrency 8
var QUERY_STRING do=Base
push base
var QUERY_STRING do=Result
push result
var QUERY_STRING do=make
push a
push b
var QUERY_STRING do=release
push release
await a
await b
await base
await result
await release
--EXPECT--
a: Result
b: Cannot declare Base@anonymous: another request has declared it meanwhile, try again
base: 1
result: 1
release:
