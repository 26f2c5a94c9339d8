--TEST--
Coroutines: a pool closes clients that were unused for howdah.pool_idle or its own 'idle'; 0 keeps them
--FILE--
<?php
final class Client {
    public function __construct(private stdClass $counts) { $counts->made++; }
    public function __destruct() { $this->counts->closed++; }
}
$gate = new stdClass();
$pools = $counts = [];
foreach (['default' => [], 'short' => ['idle' => 0.001], 'long' => ['idle' => 3600], 'never' => ['idle' => 0]] as $name => $options) {
    $count = $counts[$name] = (object) ['made' => 0, 'closed' => 0];
    $pools[$name] = howdah_pool(static fn () => new Client($count), $options);
}
foreach ([['idle' => -1], ['idle' => 'long'], ['idel' => 1]] as $wrong) {
    try {
        howdah_pool(static fn () => new stdClass(), $wrong);
        error_log('taken: ' . json_encode($wrong));
    } catch (ValueError|TypeError $error) {
        error_log(get_class($error));
    }
}
while (frankenphp_handle_request(static function () use ($pools, $counts, $gate) {
    switch ($_GET['op']) {
        case 'use':
            foreach ($pools as $pool) {
                $pool->get();
            }
            while (!isset($gate->{$_GET['until']})) {
                usleep(1000);
            }
            break;
        case 'open':
            usleep(5000); // what was given back before is idle for longer than `short`
            $gate->{$_GET['gate']} = true;
            break;
        case 'count':
            foreach ($counts as $name => $count) {
                echo "$name: $count->made made, ", $count->closed ? 'closed' : 'none closed', "\n";
            }
    }
})) {
}
--INI--
howdah.pool_idle=0.001
--HOWDAH--
show exit log
option concurrency 10
worker {ROOT}/test.php
var QUERY_STRING op=use&until=one
push first
var QUERY_STRING op=use&until=two
push second
var QUERY_STRING op=open&gate=one
run
await first
var QUERY_STRING op=count
run
var QUERY_STRING op=open&gate=two
run
await second
var QUERY_STRING op=count
run
stop
--EXPECT--
[log n 0] ValueError
[log n 0] ValueError
[log n 0] ValueError

first: 
default: 2 made, none closed
short: 2 made, none closed
long: 2 made, none closed
never: 2 made, none closed


second: 
default: 2 made, closed
short: 2 made, closed
long: 2 made, none closed
never: 2 made, none closed

[worker exited with status 0]
