--TEST--
Coroutines: timers of Excimer, which identifies its objects by their handlers
--SKIPIF--
<?php
if (!file_exists(ini_get('extension_dir') . '/excimer.so')) {
    echo 'skip no excimer';
}
--INI--
extension=excimer.so
--FILE--
<?php
while (frankenphp_handle_request(function (): void {
    $timer = new ExcimerTimer();
    $timer->setInterval(100);
    $timer->start();
    usleep(1000);
    $left = $timer->getTime();
    $timer->stop();
    $profiler = new ExcimerProfiler();
    $profiler->setPeriod(0.001);
    $profiler->start();
    for ($until = hrtime(true) + 5000000; hrtime(true) < $until;) {
    }
    usleep(1000);
    $profiler->stop();
    echo $left > 99 ? 'runs ' : "$left ", count($profiler->getLog()) > 0 ? 'logged' : 'no log';
})) {
}
--HOWDAH--
worker {ROOT}/test.php
option concurrency 4
push a
push b
await a
await b
run
--EXPECT--
a: runs logged
b: runs logged
runs logged
