--TEST--
Coroutines: an exhausted memory limit of one request leaves the others whole, with their destructors
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
--SKIPIF--
<?php
if (getenv('USE_ZEND_ALLOC') === '0') {
    echo 'skip PHP has no memory limit without its allocator';
}
--HOWDAH--
worker {ROOT}/test.php
option concurrency 2
var QUERY_STRING fail=none
push other_memory
var QUERY_STRING fail=memory
push memory
await other_memory
await memory
wait-exit
--EXPECTF--
other_memory: collected some
collector works
[object destroyed][global destroyed][static destroyed]
memory: 
Fatal error: Allowed memory size of %d bytes exhausted (tried to allocate %d bytes) in {ROOT}/test.php on line 33
