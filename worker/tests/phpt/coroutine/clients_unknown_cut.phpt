--TEST--
Coroutines: an object of an unknown extension whose constructor was cancelled is freed when no other request is in it
--FILE--
<?php
$place = new stdClass();
$place->ended = false;
while (frankenphp_handle_request(static function () use ($place): void {
    if ($_GET['how'] === 'use') {
        while (!$place->ended) {
            $probe = new Howdah\Probe('used');
            $probe->name() === 'used' || print 'another object';
            unset($probe);
            usleep(0);
        }
        return;
    }
    for ($i = 0; $i < 200; $i++) {
        try {
            Howdah\timeout(($i % 20 + 1) / 10_000, static function (): never {
                for (;;) {
                    $probe = new Howdah\Probe('cut');
                    $copy = clone $probe;
                }
            });
        } catch (Howdah\TimeoutException) {
        }
        usleep(0); // it is unwound
    }
    $place->ended = true;
    echo howdah_probe_met() ? 'two requests in the extension' : 'one at a time';
})) {
}
--INI--
extension={PROBE}
howdah.pool_wait=20
--HOWDAH--
option concurrency 4
worker {ROOT}/test.php
var QUERY_STRING how=use
push use-1
push use-2
var QUERY_STRING how=cut
push cut
await cut
await use-1
await use-2
--EXPECT--
cut: one at a time
use-1: 
use-2: 
