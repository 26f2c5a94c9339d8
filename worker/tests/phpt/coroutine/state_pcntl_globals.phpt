--TEST--
Coroutines: the last error of pcntl and pcntl_async_signals() belong to their request
--EXTENSIONS--
pcntl
--FILE--
<?php
$here = 0;
$meet = static function () use (&$here) {
    $here++;
    for ($until = $here + $here % 2; $here < $until;) {
        usleep(1000);
    }
};
pcntl_waitpid(999999, $status);
while (frankenphp_handle_request(static function () use ($meet) {
    $error = static fn(): string => pcntl_get_last_error() === 0 ? 'none' : pcntl_strerror(pcntl_get_last_error());
    echo $error(), ', ', var_export(pcntl_async_signals(), true), '; ';
    $meet();
    if ($_GET['n'] === '1') {
        pcntl_waitpid(999999, $status);
        pcntl_async_signals(true);
    }
    $meet();
    echo $error(), ', ', var_export(pcntl_async_signals(), true);
})) {
}
--HOWDAH--
option concurrency 2
worker {ROOT}/test.php
var QUERY_STRING n=1
push one
var QUERY_STRING n=2
push two
await one
await two
var QUERY_STRING n=1
push three
var QUERY_STRING n=2
push four
await three
await four
stop
--EXPECT--
one: none, false; No child processes, true
two: none, false; none, false
three: none, false; No child processes, true
four: none, false; none, false
