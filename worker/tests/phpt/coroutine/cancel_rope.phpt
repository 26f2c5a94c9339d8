--TEST--
Coroutines: code that is cancelled just before it makes a string of pieces
--FILE--
<?php
function number(int $n): int
{
    return $n + 1;
}

while (frankenphp_handle_request(static function (): void {
    $a = $_GET['a'];
    foreach ([
        static function () use ($a): void {
            usleep(100000);
            $text = "$a-$a.inc";
        },
        static function () use ($a): never {
            for (;;) {
                $text = "$a-$a-$a";
            }
        },
        static function () use ($a): never {
            for (;;) {
                $text = "$a-" . number(1) . "-$a{$a[0]}";
            }
        },
    ] as $code) {
        for ($i = 0; $i < 5; $i++) {
            try {
                Howdah\timeout(0.002, $code);
            } catch (Howdah\TimeoutException) {
                echo 'cancelled ';
            }
        }
    }
})) {
}
--HOWDAH--
worker {ROOT}/test.php
option concurrency 4
option time_slice_ms 1
var QUERY_STRING a=xyz
push first
push second
await first
await second
--EXPECT--
first: cancelled cancelled cancelled cancelled cancelled cancelled cancelled cancelled cancelled cancelled cancelled cancelled cancelled cancelled cancelled 
second: cancelled cancelled cancelled cancelled cancelled cancelled cancelled cancelled cancelled cancelled cancelled cancelled cancelled cancelled cancelled 
