--TEST--
Worker mode: the signal that requests a backtrace, while PHP runs, sleeps, runs a fiber, and waits for a request
--SKIPIF--
<?php
if (!extension_loaded('posix')) {
    echo 'skip posix is not loaded';
}
--FILE--
<?php
const BACKTRACE = 39; // SIGRTMIN + 5

class Report
{
    public function build(): void
    {
        $fiber = new Fiber(static fn () => sort_by_signal());
        $fiber->start();
    }

    public static function deep(int $depth): void
    {
        $depth ? self::deep($depth - 1) : posix_kill(posix_getpid(), BACKTRACE);
    }
}

function sort_by_signal(): void
{
    $values = [1, 2];
    usort($values, function ($a, $b) {
        posix_kill(posix_getpid(), BACKTRACE);
        return 0;
    });
}

$requests = [
    fn () => (new Report())->build(),
    function () {
        // From outside, while this process is blocked in a system call, all of which belong to one function.
        echo shell_exec('kill -' . BACKTRACE . ' ' . posix_getpid() . '; echo done');
    },
    fn () => Report::deep(100),
];
while (frankenphp_handle_request(function () use (&$requests) {
    array_shift($requests)();
    echo 'served';
})) {
}
--HOWDAH--
worker {ROOT}/test.php
show log state
run
run
run
--EXPECTF--
served
[state] ready
[log w 1] PHP backtrace of the request:
#0 posix_kill()
#1 {closure%S}() {ROOT}/test.php:22
#2 usort()
#3 sort_by_signal() {ROOT}/test.php:21
#4 Report::{closure%S}() {ROOT}/test.php:8
#5 Fiber::start()
#6 Report::build() {ROOT}/test.php:9
#7 {closure%S}() {ROOT}/test.php:28
#8 {closure%S}() {ROOT}/test.php:36
#9 frankenphp_handle_request()
#10 {main} {ROOT}/test.php:35
[state] traced
done
served
[log w 2] PHP backtrace of the request:
#0 shell_exec()
#1 {closure%S}() {ROOT}/test.php:%d
%A
[state] traced
served
[log w 3] PHP backtrace of the request:
#0 posix_kill()
%A
#63 Report::deep() {ROOT}/test.php:%d
(more frames follow)
[state] traced
