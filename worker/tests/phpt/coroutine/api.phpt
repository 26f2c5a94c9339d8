--TEST--
Coroutines: children of a request run at the same time, share its state and end with it
--FILE--
<?php
use Howdah\Channel;
use function Howdah\{all, await, race, spawn, timeout};
$say = static function (callable $try) {
    try { $try(); } catch (Throwable $e) { echo get_class($e), ': ', $e->getMessage(), "\n"; }
};
$cases = [
    'order' => static function () {
        $done = new Channel();
        $slow = spawn(static function () use ($done) { $done->receive(); echo 'slow '; return 1; });
        $quick = spawn(static function () use ($done) { usleep(1000); echo 'quick '; $done->send(true); return 2; });
        echo 'first ', await($slow) + await($quick), ' ', $_GET['case'];
    },
    'all' => static function () use ($say) {
        $gate = new Channel();
        echo json_encode(all([
            'b' => static fn () => $gate->receive(),
            'a' => static function () use ($gate) { $gate->send('handed over'); return 'sent'; },
        ])), "\n";
        $say(static fn () => all([
            static function () { usleep(30000000); echo 'never'; },
            static function () { usleep(1000); throw new DomainException('fails'); },
        ]));
    },
    'race' => static function () use ($say) {
        echo race([static function () { usleep(30000000); }, static function () { usleep(1000); return 'quick'; }]), "\n";
        $say(static fn () => timeout(0.01, static function () { usleep(30000000); }));
        echo timeout(30, static function () { usleep(1000); return 'in time'; });
    },
    'cancel' => static function () use ($say) {
        $c = spawn(static function () {
            try { usleep(30000000); echo 'never'; } finally { usleep(1); echo "finally\n"; }
        });
        $say(static fn () => await($c, 0.01));
        $c->cancel();
        $say(static fn () => await($c));
        var_dump($c->isDone());
    },
    'channel' => static function () {
        $channel = new Channel(2);
        $producer = spawn(static function () use ($channel) {
            for ($i = 0; $i < 5; $i++) {
                echo "+$i ";
                $channel->send($i);
            }
            $channel->close();
        });
        usleep(1000);
        foreach ($channel as $value) {
            echo "-$value ";
        }
    },
    'orphan' => static function () {
        spawn(static function () { usleep(30000000); echo 'never'; });
        register_shutdown_function(static function () {
            spawn(static function () { usleep(30000000); echo 'never'; });
            usleep(1000);
            echo ' [shutdown]';
        });
        echo 'over';
    },
    'exit' => static function () {
        register_shutdown_function(static function () { usleep(1000); echo ' [shutdown]'; });
        spawn(static function () { usleep(1000); exit('left'); });
        usleep(30000000);
        echo 'never';
    },
    'self' => static function () use ($say) {
        $c = spawn(static function () use (&$c, $say) { $say(static fn () => await($c)); });
        await($c);
    },
    'many' => static function () {
        $work = [];
        for ($i = 0; $i < 200; $i++) {
            $work[] = static function () use ($i) { usleep(1000 + $i % 7 * 100); return $i; };
        }
        echo array_sum(all($work));
    },
    'nested' => static function () {
        echo await(spawn(static fn () => await(spawn(static function () { usleep(1000); return 'deep'; }))));
        $fiber = new Fiber(static function () { echo ' ', await(spawn(static function () { usleep(1000); return 'in a fiber'; })); });
        $fiber->start();
    },
];
while (frankenphp_handle_request(static fn () => $cases[$_GET['case']]())) {}
--INI--
html_errors=0
output_buffering=0
--HOWDAH--
show exit end
option concurrency 4
worker {ROOT}/test.php
var QUERY_STRING case=order
run
var QUERY_STRING case=all
run
var QUERY_STRING case=race
run
var QUERY_STRING case=channel
run
var QUERY_STRING case=orphan
run
var QUERY_STRING case=exit
run
var QUERY_STRING case=self
run
var QUERY_STRING case=many
run
var QUERY_STRING case=nested
run
var QUERY_STRING case=cancel
run
stop
--EXPECT--
first quick slow 3 order
[end exit=0 status=0]
{"b":"handed over","a":"sent"}
DomainException: fails

[end exit=0 status=0]
quick
Howdah\TimeoutException: The callback has not ended within the time
in time
[end exit=0 status=0]
+0 +1 +2 -0 -1 +3 +4 -2 -3 -4 
[end exit=0 status=0]
over [shutdown]
[end exit=0 status=0]
left [shutdown]
[end exit=2 status=0]
Error: A coroutine cannot await itself

[end exit=0 status=0]
19900
[end exit=0 status=0]
deep in a fiber
[end exit=0 status=0]
Howdah\TimeoutException: The coroutine has not ended within the time
finally
Howdah\CancelledException: The coroutine was cancelled
bool(true)

[end exit=0 status=0]
[worker exited with status 0]
