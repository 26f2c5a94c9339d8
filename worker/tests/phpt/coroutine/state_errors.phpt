--TEST--
Coroutines: a fatal error of one request leaves the others whole, with their destructors
--FILE--
<?php
/** Returns when $count requests are here. The object is shared, as objects are. */
function meet(int $count, stdClass $place): void
{
    $place->round ??= 0;
    $place->here = ($place->here ?? 0) + 1;
    $round = $place->round;
    if ($place->here === $count) {
        $place->here = 0;
        $place->round++;
    }
    while ($place->round === $round) {
        usleep(500);
    }
}

final class Last
{
    public function __construct(private string $text)
    {
    }

    public function __destruct()
    {
        echo "[$this->text destroyed]";
    }
}

function fail(string $how): void
{
    match ($how) {
        'error' => trigger_error('wanted', E_USER_ERROR),
        'memory' => str_repeat('x', 1 << 30),
        'undefined' => undefined_function(),
        'compile' => eval('class stdClass {}'),
        'parse' => eval('this is not PHP'),
        'none' => null,
    };
}

$place = new stdClass();
while (frankenphp_handle_request(function () use ($place) {
    $object = new Last('object');
    $cycle = [new Last('cycle')];
    $cycle[] = &$cycle;
    Holder::$object = new Last('static');
    $GLOBALS['global'] = new Last('global');
    ob_start();
    meet(2, $place);
    fail($_GET['fail']);
    usleep(5000);
    unset($cycle);
    echo 'collected ', gc_collect_cycles() > 0 ? 'some' : 'none', "\n";
    echo gc_status()['runs'] > 0 ? 'collector works' : 'collector is off', "\n";
})) {
}

class Holder
{
    public static ?Last $object = null;
}
--HOWDAH--
worker {ROOT}/test.php
option concurrency 2
var QUERY_STRING fail=none
push other_error
var QUERY_STRING fail=error
push error
await other_error
await error
wait-exit
respawn
var QUERY_STRING fail=none
push other_undefined
var QUERY_STRING fail=undefined
push undefined
await other_undefined
await undefined
var QUERY_STRING fail=none
push other_compile
var QUERY_STRING fail=compile
push compile
await other_compile
await compile
wait-exit
respawn
var QUERY_STRING fail=none
push other_parse
var QUERY_STRING fail=parse
push parse
await other_parse
await parse
--EXPECTF--
other_error: collected some
collector works
[object destroyed][global destroyed][static destroyed]
error: %A
Fatal error: wanted in {ROOT}/test.php on line 32

other_undefined: collected some
collector works
[object destroyed][global destroyed][static destroyed]
undefined: [object destroyed]
Fatal error: Uncaught Error: Call to undefined function undefined_function() in {ROOT}/test.php:34
Stack trace:
#0 {ROOT}/test.php(50): fail()
#1 [internal function]: {closure%S}()
#2 {main}
  thrown in {ROOT}/test.php on line 34
[global destroyed][static destroyed]
other_compile: collected some
collector works
[object destroyed][global destroyed][static destroyed]
compile: 
Fatal error: Cannot %S class stdClass%S in {ROOT}/test.php(35) : eval()'d code on line 1

other_parse: collected some
collector works
[object destroyed][global destroyed][static destroyed]
parse: [object destroyed]
Parse error: syntax error, unexpected identifier "is" in {ROOT}/test.php(36) : eval()'d code on line 1
[global destroyed][static destroyed]
