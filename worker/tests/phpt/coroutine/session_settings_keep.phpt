--TEST--
Coroutines: with `keep session`, settings of a session that a request makes are those of others and of later ones
--FILE--
<?php
$place = new stdClass();
while (frankenphp_handle_request(function () use ($place) {
    if (!isset($place->configured)) {
        $place->configured = true;
        ini_set('session.name', 'CONFIGURED');
        session_set_cookie_params(['path' => '/part', 'secure' => true]);
    }
    $place->here = ($place->here ?? 0) + 1;
    while ($place->here < 2) {
        usleep(500);
    }
    echo session_name(), ' ', session_get_cookie_params()['path'], "\n";
})) {
}
--HOWDAH--
worker {ROOT}/test.php
option concurrency 2
option keep 1024
push one
push two
await one
await two
run
--EXPECT--
one: CONFIGURED /part

two: CONFIGURED /part

CONFIGURED /part
