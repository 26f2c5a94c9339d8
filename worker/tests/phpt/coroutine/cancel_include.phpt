--TEST--
Coroutines: a file that others include once is not cut in its midst when the request that runs it is cancelled
--FILE--
<?php
while (frankenphp_handle_request(static function (): void {
    if ($_GET['how'] === 'cut') {
        try {
            Howdah\timeout(0.001, static function (): void {
                include_once __DIR__ . '/late.inc';
                usleep(1);
                echo 'not cancelled ';
            });
        } catch (Howdah\TimeoutException) {
            echo 'cancelled ';
        }
    }
    include_once __DIR__ . '/late.inc';
    echo late();
})) {
}
--FILE late.inc--
<?php
usleep(20000);
if (true) {
    function late(): string
    {
        return 'late';
    }
}
--HOWDAH--
worker {ROOT}/test.php
option concurrency 4
var QUERY_STRING how=cut
push cut
var QUERY_STRING how=wait
push wait
await cut
await wait
run
--EXPECT--
cut: cancelled late
wait: late
late
