--TEST--
A profile of concurrent requests shows those that wait
--FILE--
<?php
function waits(): void
{
    for ($i = 0; $i < 10; $i++) {
        usleep(30_000);
    }
}

while (frankenphp_handle_request(static function (): void {
    waits();
    echo 'done';
}));
--HOWDAH--
worker {ROOT}/test.php
option concurrency 10
profile 2000
push a
push b
push c
await all
profiled
--EXPECT--
a: done
b: done
c: done
[profile: [sleep] < usleep < waits:5, 5 frames]
