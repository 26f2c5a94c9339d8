--TEST--
Worker mode: detect_leaks names lists of objects, dates, default contexts and settings of handlers, and hides tokens
--SKIPIF--
<?php
foreach (['libxml', 'mbstring', 'mysqli'] as $extension) {
    if (!extension_loaded($extension)) {
        echo "skip without $extension";
    }
}
--FILE--
<?php
class Node
{
    public ?Node $next = null;
}

trait Seen
{
    public static array $seen = [];
}

class Page1
{
    use Seen;
}

class Page2
{
    use Seen;
}

class Service
{
    public DateTime $start;
    public ?DateTimeImmutable $born = null;
    public ?DateTimeZone $place = null;
    public string $shown = '';
    public string $header = '';
    public ?array $last = null;
    public ?DateTime $expires = null;
    private int $calls = 0;

    public function __construct()
    {
        $this->start = new DateTime('2001-01-01 UTC');
    }

    public function zone(): DateTimeZone
    {
        return new DateTimeZone(['Europe/Berlin', 'Asia/Tokyo', 'UTC'][$this->calls++ % 3]);
    }
}

$list = new Node();
$service = new Service();
$seconds = 0;
$actions = [
    'chain' => function () use ($list) {
        for ($last = $list; $last->next; $last = $last->next) {
        }
        $last->next = new Node();
    },
    'page1' => fn () => Page1::$seen[] = 'x',
    'page2' => fn () => Page2::$seen[] = 'x',
    'moved' => fn () => $service->start->modify('+1 day'),
    'replaced' => fn () => $service->born = new DateTimeImmutable('@' . ++$GLOBALS['seconds']),
    'zone' => fn () => $service->place = $service->zone(),
    /* Random numbers would sometimes repeat, and the value would not change. */
    'card' => fn () => $service->shown = '4111-1111-1111-' . (str_ends_with($service->shown, '1234') ? '5678' : '1234'),
    'token' => fn () => $service->header = 'QWxhZGRpbjpvcGVu' . (str_ends_with($service->header, '12') ? '56' : '12'),
    'request' => fn () => $service->last ??= $_SERVER,
    'context' => fn () => stream_context_set_default(['http' => ['header' => 'Authorization: secret']]),
    'substitute' => fn () => mb_substitute_character(64),
    'order' => fn () => mb_detect_order(['UTF-8', 'EUC-JP']),
    'extensions' => fn () => spl_autoload_extensions('.class'),
    'assert' => fn () => @assert_options(ASSERT_CALLBACK, 'strlen'),
    'mysqli' => fn () => mysqli_report(MYSQLI_REPORT_OFF),
    'errors' => fn () => libxml_set_streams_context(stream_context_create()),
    /* Entries of caches end some days later. */
    'ok' => fn () => $service->expires = new DateTime('+7 days'),
];
while (frankenphp_handle_request(function () use ($actions) {
    $actions[$_GET['do']]();
})) {
}
--HOWDAH--
worker {ROOT}/test.php
option keep 1023
option detect_leaks_sample 1
show log
var REQUEST_URI /chain
var QUERY_STRING do=chain
run
run
run
run
run
run
wait-log "uri":"/chain"
var REQUEST_URI /page1
var QUERY_STRING do=page1
run
run
run
wait-log "uri":"/page1"
var REQUEST_URI /page2
var QUERY_STRING do=page2
run
run
run
wait-log "uri":"/page2"
var REQUEST_URI /moved
var QUERY_STRING do=moved
run
run
run
wait-log "uri":"/moved"
var REQUEST_URI /replaced
var QUERY_STRING do=replaced
run
run
run
wait-log "member":"Service::$born"
var REQUEST_URI /zone
var QUERY_STRING do=zone
run
run
run
wait-log "member":"Service::$calls"
var REQUEST_URI /card
var QUERY_STRING do=card
run
run
run
wait-log "uri":"/card"
var REQUEST_URI /token
var QUERY_STRING do=token
run
run
run
wait-log "uri":"/token"
var REQUEST_URI /request
var QUERY_STRING do=request
run
var REQUEST_URI /ok
var QUERY_STRING do=ok
run
wait-log "uri":"/request"
var REQUEST_URI /ok
var QUERY_STRING do=ok
run
run
run
var REQUEST_URI /context
var QUERY_STRING do=context
run
wait-log "uri":"/context"
var REQUEST_URI /substitute
var QUERY_STRING do=substitute
run
wait-log "uri":"/substitute"
var REQUEST_URI /order
var QUERY_STRING do=order
run
wait-log "uri":"/order"
var REQUEST_URI /extensions
var QUERY_STRING do=extensions
run
wait-log "uri":"/extensions"
var REQUEST_URI /assert
var QUERY_STRING do=assert
run
wait-log "uri":"/assert"
var REQUEST_URI /mysqli
var QUERY_STRING do=mysqli
run
wait-log "uri":"/mysqli"
var REQUEST_URI /errors
var QUERY_STRING do=errors
run
wait-log "uri":"/errors"
var REQUEST_URI /ok
var QUERY_STRING do=ok
run
stop
--EXPECTF--
[log l 6] {"kind":"objects","why":"grows","path":"Node","member":"Node::$next","value":"7 objects","count_before":6,"count":7,"file":"{ROOT}/test.php","line":4,"method":"GET","uri":"/chain"}



[log l 9] {"kind":"static property","why":"grows","path":"Page1::$seen","member":"Page1::$seen","value":"array(3)","count_before":2,"count":3,"file":"{ROOT}/test.php","line":9,"method":"GET","uri":"/page1"}



[log l 12] {"kind":"static property","why":"grows","path":"Page2::$seen","member":"Page2::$seen","value":"array(3)","count_before":2,"count":3,"file":"{ROOT}/test.php","line":9,"method":"GET","uri":"/page2"}



[log l 15] {"kind":"object storage","why":"changes","path":"$GLOBALS['service']->start{date}","member":"Service::$start","value":"2001-01-04T00:00:00Z, UTC","file":"{ROOT}/test.php","line":24,"method":"GET","uri":"/moved"}



[log l 18] {"kind":"global variable","why":"counts","path":"$GLOBALS['seconds']","member":"$GLOBALS['seconds']","value":"3","method":"GET","uri":"/replaced"}
[log l 18] {"kind":"object property","why":"changes","path":"$GLOBALS['service']->born","member":"Service::$born","value":"object(DateTimeImmutable)","file":"{ROOT}/test.php","line":25,"method":"GET","uri":"/replaced"}



[log l 21] {"kind":"object property","why":"changes","path":"$GLOBALS['service']->place","member":"Service::$place","value":"object(DateTimeZone)","file":"{ROOT}/test.php","line":26,"method":"GET","uri":"/zone"}
[log l 21] {"kind":"object property","why":"counts","path":"$GLOBALS['service']->calls","member":"Service::$calls","value":"3","file":"{ROOT}/test.php","line":31,"method":"GET","uri":"/zone"}



[log l 24] {"kind":"object property","why":"changes","path":"$GLOBALS['service']->shown","member":"Service::$shown","value":"(hidden)","file":"{ROOT}/test.php","line":27,"method":"GET","uri":"/card"}



[log l 27] {"kind":"object property","why":"changes","path":"$GLOBALS['service']->header","member":"Service::$header","value":"(hidden)","file":"{ROOT}/test.php","line":28,"method":"GET","uri":"/token"}


[log l 28] {"kind":"object property","why":"holds request data","path":"$GLOBALS['service']->last","member":"Service::$last","value":"array(%d)","count_before":0,"count":%d,"file":"{ROOT}/test.php","line":29,"method":"GET","uri":"/request"}




[log l 33] {"kind":"stream context","why":"left behind","path":"stream_context_get_default()","value":"array(1)","count_before":0,"count":1,"method":"GET","uri":"/context"}

[log l 34] {"kind":"encoding","why":"left behind","path":"mb_substitute_character()","value":"64","method":"GET","uri":"/substitute"}

[log l 35] {"kind":"encoding","why":"left behind","path":"mb_detect_order()","value":"UTF-8","method":"GET","uri":"/order"}

[log l 36] {"kind":"autoloader","why":"left behind","path":"spl_autoload_extensions()","value":".class","method":"GET","uri":"/extensions"}

[log l 37] {"kind":"error handler","why":"left behind","path":"assert_options()","value":"strlen","method":"GET","uri":"/assert"}

[log l 38] {"kind":"error handler","why":"left behind","path":"mysqli_report()","value":"0","method":"GET","uri":"/mysqli"}

[log l 39] {"kind":"libxml setting","why":"left behind","path":"libxml_set_streams_context()","value":"","method":"GET","uri":"/errors"}
