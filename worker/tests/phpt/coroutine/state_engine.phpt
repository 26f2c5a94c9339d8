--TEST--
Coroutines: globals, superglobals, handlers, headers, buffers and settings are the request's own
--FILE--
<?php
$site = 'boot';
ini_set('precision', '9');
// Since 8.3 strtok() warns that nothing was begun.
set_error_handler(fn ($level, $message) => str_starts_with($message, 'strtok') || print("[boot: $message]"));

/** Returns when $count requests are here. The object is shared, as objects are. */
function meet(int $count, stdClass $place): void
{
    $place->round ??= 0;
    $place->here = ($place->here ?? 0) + 1;
    $round = $place->round;
    if ($place->here === $count) {
        $place->here = 0;
        $place->round++;
    }
    while ($place->round === $round) {
        usleep(500);
    }
}

function change(string $me): void
{
    global $site;
    $site = $me;
    $GLOBALS['more'] = "more $me";
    $_GET['added'] = $me;
    $_SERVER['ADDED'] = $me;
    ini_set('precision', (string) ord($me));
    ini_set('user_agent', $me);
    ini_set('include_path', "/$me");
    error_reporting(ord($me));
    set_error_handler(fn ($level, $message) => print("[$me: $message]"));
    set_exception_handler(fn ($exception) => print("[$me caught {$exception->getMessage()}]"));
    register_shutdown_function(fn () => print("[$me shut down]"));
    header("X-Me: $me");
    http_response_code(ord($me) + 150);
    ob_start(fn ($text) => "<$me>$text</$me>");
    echo 'buffered ';
    set_time_limit(ord($me));
    ignore_user_abort($me === 'a');
    error_clear_last();
    strtok("$me.1 $me.2", ' ');
    output_add_rewrite_var('me', $me);
}

function show(): string
{
    global $site;
    return implode(' ', [
        $site, $GLOBALS['more'] ?? '-', $_GET['me'], $_GET['added'] ?? '-', $_SERVER['ADDED'] ?? '-', $_REQUEST['me'],
        1 / 3, ini_get('user_agent') ?: '-', get_include_path(), error_reporting(), implode(' ', headers_list()) ?: '-',
        http_response_code(), ob_get_level(), ini_get('max_execution_time'), ignore_user_abort(),
        strtok(' ') ?: '-', @$undefined ?? 'undefined',
    ]);
}

$place = new stdClass();
while (frankenphp_handle_request(function () use ($place) {
    $me = $_GET['me'];
    if ($me !== 'plain') {
        change($me);
    }
    meet(3, $place);
    echo show(), "\n";
    trigger_error('oops');
    meet(3, $place);
    echo "\n", show(), "\n";
    if ($me !== 'plain') {
        throw new Exception('thrown');
    }
})) {
}
--INI--
include_path=.
--HOWDAH--
worker {ROOT}/test.php
option concurrency 3
show headers
var QUERY_STRING me=plain
push plain
var QUERY_STRING me=a
push a
var QUERY_STRING me=b
push b
await plain
await a
await b
push b2
var QUERY_STRING me=plain
push plain2
push plain3
await b2
await plain2
await plain3
--EXPECT--
plain: Status: 200
Content-type: text/html; charset=UTF-8

[boot: Undefined variable $undefined]boot - plain - - plain 0.333333333 - . -1 - 200 1 30 1 - undefined
[boot: oops]
[boot: Undefined variable $undefined]boot - plain - - plain 0.333333333 - . -1 - 200 1 30 1 - undefined

a: Status: 247
X-Me: a
Content-type: text/html; charset=UTF-8

<a>buffered [a: Undefined variable $undefined]a more a a a a a 0.333333333333333314829616256247390992939472198486328125 a /a 97 X-Me: a 247 3 97 1 a.2 undefined
[a: oops]
[a: Undefined variable $undefined]a more a a a a a 0.333333333333333314829616256247390992939472198486328125 a /a 97 X-Me: a 247 3 97 1 - undefined
[a caught thrown][a shut down]</a>
b: Status: 248
X-Me: b
Content-type: text/html; charset=UTF-8

<b>buffered [b: Undefined variable $undefined]b more b b b b b 0.333333333333333314829616256247390992939472198486328125 b /b 98 X-Me: b 248 3 98 0 b.2 undefined
[b: oops]
[b: Undefined variable $undefined]b more b b b b b 0.333333333333333314829616256247390992939472198486328125 b /b 98 X-Me: b 248 3 98 0 - undefined
[b caught thrown][b shut down]</b>
b2: Status: 248
X-Me: b
Content-type: text/html; charset=UTF-8

<b>buffered [b: Undefined variable $undefined]b more b b b b b 0.333333333333333314829616256247390992939472198486328125 b /b 98 X-Me: b 248 3 98 0 b.2 undefined
[b: oops]
[b: Undefined variable $undefined]b more b b b b b 0.333333333333333314829616256247390992939472198486328125 b /b 98 X-Me: b 248 3 98 0 - undefined
[b caught thrown][b shut down]</b>
plain2: Status: 200
Content-type: text/html; charset=UTF-8

[boot: Undefined variable $undefined]boot - plain - - plain 0.333333333 - . -1 - 200 1 30 1 - undefined
[boot: oops]
[boot: Undefined variable $undefined]boot - plain - - plain 0.333333333 - . -1 - 200 1 30 1 - undefined

plain3: Status: 200
Content-type: text/html; charset=UTF-8

[boot: Undefined variable $undefined]boot - plain - - plain 0.333333333 - . -1 - 200 1 30 1 - undefined
[boot: oops]
[boot: Undefined variable $undefined]boot - plain - - plain 0.333333333 - . -1 - 200 1 30 1 - undefined
