--TEST--
Worker mode: detect_leaks recognizes data of JSON bodies, headers, paths and tokens inside other texts
--FILE--
<?php
class Current
{
    public ?string $token = null;
    public ?string $bearer = null;
    public ?string $tenant = null;
    public ?array $body = null;
    public ?string $mail = null;
    public ?int $order = null;
    public ?string $scheme = null;
    public ?string $word = null;
}

$current = new Current();
$actions = [
    'token' => fn () => $current->token = substr($_SERVER['HTTP_AUTHORIZATION'], 7),
    'bearer' => fn () => $current->bearer = 'token=' . substr($_SERVER['HTTP_AUTHORIZATION'], 7),
    'tenant' => fn () => $current->tenant = $_SERVER['HTTP_X_TENANT'],
    'json' => fn () => $current->body = json_decode(file_get_contents('php://input'), true)['user'],
    'mail' => fn () => $current->mail = "Hello $_GET[mail]!",
    'order' => fn () => $current->order = (int) basename($_SERVER['REQUEST_URI']),
    /* Alike for all clients, or likely in any application. */
    'ok' => function () use ($current) {
        $current->scheme ??= $_SERVER['HTTP_X_FORWARDED_PROTO'];
        $current->word ??= "All $_GET[word]";
    },
    'idle' => fn () => null,
];
while (frankenphp_handle_request(fn () => $actions[$_GET['do']]())) {
}
--FILE body.json--
{"user": {"name": "alice-jones"}}
--HOWDAH--
worker {ROOT}/test.php
option detect_leaks_sample 1
show log
var REQUEST_METHOD GET
var REQUEST_URI /token
var QUERY_STRING do=token
var HTTP_AUTHORIZATION Bearer first-of-them
run
var HTTP_AUTHORIZATION Bearer none
var REQUEST_URI /idle
var QUERY_STRING do=idle
run
wait-log "uri":"/token"
var REQUEST_URI /bearer
var QUERY_STRING do=bearer
var HTTP_AUTHORIZATION Bearer second-of-them
run
var HTTP_AUTHORIZATION Bearer none
var REQUEST_URI /idle
var QUERY_STRING do=idle
run
wait-log "uri":"/bearer"
var REQUEST_URI /tenant
var QUERY_STRING do=tenant
var HTTP_X_TENANT acme-corp
run
var HTTP_X_TENANT other
var REQUEST_URI /idle
var QUERY_STRING do=idle
run
wait-log "uri":"/tenant"
var REQUEST_METHOD POST
var CONTENT_TYPE application/json
var REQUEST_URI /json
var QUERY_STRING do=json
body inline {ROOT}/body.json
run
body none
var REQUEST_METHOD GET
var REQUEST_URI /idle
var QUERY_STRING do=idle
run
wait-log "uri":"/json"
var REQUEST_URI /mail
var QUERY_STRING do=mail&mail=alice@example.com
run
var REQUEST_URI /idle
var QUERY_STRING do=idle
run
wait-log "uri":"/mail"
var REQUEST_URI /order/4711
var QUERY_STRING do=order
run
var REQUEST_URI /idle
var QUERY_STRING do=idle
run
wait-log "uri":"/order/4711"
var HTTP_X_FORWARDED_PROTO https
var REQUEST_URI /ok
var QUERY_STRING do=ok&word=products
run
var HTTP_X_FORWARDED_PROTO http
var REQUEST_URI /idle
var QUERY_STRING do=idle
run
stop
--EXPECTF--
[log l 1] {"kind":"object property","why":"holds request data","path":"$GLOBALS['current']->token","member":"Current::$token","value":"(sent by a client)","count_before":%d,"count":%d,"file":"{ROOT}/test.php","line":4,"method":"GET","uri":"/token"}


[log l 3] {"kind":"object property","why":"holds request data","path":"$GLOBALS['current']->bearer","member":"Current::$bearer","value":"(sent by a client)","count_before":%d,"count":%d,"file":"{ROOT}/test.php","line":5,"method":"GET","uri":"/bearer"}


[log l 5] {"kind":"object property","why":"holds request data","path":"$GLOBALS['current']->tenant","member":"Current::$tenant","value":"(sent by a client)","count_before":%d,"count":%d,"file":"{ROOT}/test.php","line":6,"method":"GET","uri":"/tenant"}


[log l 7] {"kind":"object property","why":"holds request data","path":"$GLOBALS['current']->body","member":"Current::$body","value":"array(1)","count_before":%d,"count":%d,"file":"{ROOT}/test.php","line":7,"method":"POST","uri":"/json"}


[log l 9] {"kind":"object property","why":"holds request data","path":"$GLOBALS['current']->mail","member":"Current::$mail","value":"(sent by a client)","count_before":%d,"count":%d,"file":"{ROOT}/test.php","line":8,"method":"GET","uri":"/mail"}


[log l 11] {"kind":"object property","why":"holds request data","path":"$GLOBALS['current']->order","member":"Current::$order","value":"(sent by a client)","file":"{ROOT}/test.php","line":9,"method":"GET","uri":"/order/4711"}
