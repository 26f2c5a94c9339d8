--TEST--
Coroutines: PHP_VALUE and PHP_ADMIN_VALUE are of their request, final ones too while others run
--FILE--
<?php
$names = ['memory_limit', 'precision', 'session.name', 'user_agent', 'max_execution_time'];
$own = ['memory_limit' => '512M', 'session.name' => 'OWN'];
while (frankenphp_handle_request(function () use ($names, $own): void {
    for ($i = 0; $i < 3; $i++) {
        foreach ($names as $name) {
            $set = ini_set($name, $own[$name] ?? '9');
            echo ini_get($name), $set === false ? '! ' : ' ';
        }
        usleep(2000);
    }
    var_dump(set_time_limit(33));
})) {
}
--HOWDAH--
worker {ROOT}/test.php
option concurrency 3
final user_agent final
var PHP_ADMIN_VALUE memory_limit=99M%0aprecision=5%0asession.name=ONE%0amax_execution_time=31
push one
var PHP_ADMIN_VALUE memory_limit=98M%0asession.name=TWO
push two
var PHP_ADMIN_VALUE
var PHP_VALUE precision=7%0asession.name=THREE%0auser_agent=no
push three
await all
var PHP_VALUE
push four
await four
--EXPECT--
one: 99M! 5! ONE! final! 31! 99M! 5! ONE! final! 31! 99M! 5! ONE! final! 31! bool(false)

two: 98M! 9 TWO! final! 9 98M! 9 TWO! final! 9 98M! 9 TWO! final! 9 bool(true)

three: 512M 9 OWN final! 9 512M 9 OWN final! 9 512M 9 OWN final! 9 bool(true)

four: 512M 9 OWN final! 9 512M 9 OWN final! 9 512M 9 OWN final! 9 bool(true)
