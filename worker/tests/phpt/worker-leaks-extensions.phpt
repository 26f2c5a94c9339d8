--TEST--
Worker mode: detect_leaks names options of cURL handles, and state of documents, formatters and connections
--SKIPIF--
<?php
foreach (['curl', 'dom', 'intl', 'memcached', 'pdo_sqlite', 'simplexml', 'xmlwriter'] as $extension) {
    if (!extension_loaded($extension)) {
        echo "skip without $extension";
    }
}
--FILE--
<?php
class Quiet extends DOMDocument
{
    public function saveXML(?DOMNode $node = null, int $options = 0): string|false
    {
        echo 'must not run';
        return uniqid();
    }
}

$count = 0;
$curl = curl_init('http://localhost/');
$document = new DOMDocument();
$document->loadXML('<a/>');
$quiet = new Quiet();
$quiet->loadXML('<a/>');
$element = new SimpleXMLElement('<a/>');
$writer = new XMLWriter();
$writer->openMemory();
$numbers = new NumberFormatter('en', NumberFormatter::DECIMAL);
$dates = new IntlDateFormatter('en', IntlDateFormatter::FULL, IntlDateFormatter::FULL, 'UTC');
$collator = new Collator('en');
$message = new MessageFormatter('en', '{0}');
$calendar = IntlCalendar::createInstance('UTC', 'en');
$calendar->setTime(0.0);
$pdo = new PDO('sqlite::memory:');
$memcached = new Memcached();
$array = new SplFixedArray(1);
$next = fn () => str_repeat('x', ++$GLOBALS['count']);
$actions = [
    'header' => fn () => curl_setopt($curl, CURLOPT_HTTPHEADER, ['Authorization: ' . $next()]),
    'password' => fn () => curl_setopt_array($curl, [CURLOPT_USERPWD => 'user:' . $next()]),
    'cookie' => fn () => curl_setopt($curl, CURLOPT_COOKIE, $_GET['login']),
    /* The options of a new handle belong to its request, and so do those before curl_reset(). */
    'ok' => function () use ($curl, $next) {
        $other = curl_init();
        curl_setopt($other, CURLOPT_COOKIE, $next());
        curl_setopt($curl, CURLOPT_REFERER, $next());
        curl_setopt($curl, CURLOPT_COOKIE, '');
    },
    'idle' => fn () => null,
    'reset' => function () use ($curl, $next) {
        curl_setopt($curl, CURLOPT_USERAGENT, $next());
        curl_reset($curl);
    },
    'document' => fn () => $document->documentElement->setAttribute('a', $next()),
    'quiet' => fn () => $quiet->documentElement->setAttribute('a', $next()),
    'element' => fn () => $element->addChild('a'),
    'writer' => fn () => $writer->writeElement('a'),
    'numbers' => fn () => $numbers->setAttribute(NumberFormatter::MAX_FRACTION_DIGITS, strlen($next())),
    'dates' => fn () => $dates->setPattern("yyyy '" . $next() . "'"),
    'zone' => fn () => $dates->setTimeZone(['Asia/Tokyo', 'Europe/Berlin', 'America/Lima'][strlen($next()) % 3]),
    'collator' => fn () => $collator->setStrength(strlen($next()) % 2),
    'message' => fn () => $message->setPattern($next() . '{0}'),
    'calendar' => fn () => $calendar->add(IntlCalendar::FIELD_DAY_OF_MONTH, 1),
    'pdo' => fn () => $pdo->setAttribute(PDO::ATTR_DEFAULT_FETCH_MODE, [2, 3, 5][strlen($next()) % 3]),
    'memcached' => fn () => $memcached->setOption(Memcached::OPT_PREFIX_KEY, $next()),
    'servers' => fn () => $memcached->addServer('127.0.0.1', 1000 + strlen($next())),
    'array' => fn () => $array->setSize($array->getSize() + 1),
];
while (frankenphp_handle_request(fn () => $actions[$_GET['do']]())) {
}
--HOWDAH--
worker {ROOT}/test.php
option detect_leaks_sample 1
leak-allow $GLOBALS['count']
leak-allow $GLOBALS['curl']{curl_setopt(CURLOPT_REFERER)}
show log
var REQUEST_URI /header
var QUERY_STRING do=header
run
run
run
wait-log "uri":"/header"
var REQUEST_URI /password
var QUERY_STRING do=password
run
run
run
wait-log "uri":"/password"
var REQUEST_URI /cookie
var QUERY_STRING do=cookie&login=alice-session
run
var REQUEST_URI /idle
var QUERY_STRING do=idle
run
wait-log "uri":"/cookie"
var REQUEST_URI /ok
var QUERY_STRING do=ok
run
run
run
var REQUEST_URI /reset
var QUERY_STRING do=reset
run
run
run
var REQUEST_URI /document
var QUERY_STRING do=document
run
run
run
wait-log "uri":"/document"
var REQUEST_URI /quiet
var QUERY_STRING do=quiet
run
run
run
wait-log "uri":"/quiet"
var REQUEST_URI /element
var QUERY_STRING do=element
run
run
run
wait-log "uri":"/element"
var REQUEST_URI /writer
var QUERY_STRING do=writer
run
run
run
wait-log "uri":"/writer"
var REQUEST_URI /numbers
var QUERY_STRING do=numbers
run
run
run
wait-log $GLOBALS['numbers']{getAttribute(6)}
var REQUEST_URI /dates
var QUERY_STRING do=dates
run
run
run
wait-log "uri":"/dates"
var REQUEST_URI /zone
var QUERY_STRING do=zone
run
run
run
wait-log "uri":"/zone"
var REQUEST_URI /collator
var QUERY_STRING do=collator
run
run
run
wait-log $GLOBALS['collator']{getAttribute(5)}
var REQUEST_URI /message
var QUERY_STRING do=message
run
run
run
wait-log "uri":"/message"
var REQUEST_URI /calendar
var QUERY_STRING do=calendar
run
run
run
wait-log "uri":"/calendar"
var REQUEST_URI /pdo
var QUERY_STRING do=pdo
run
run
run
wait-log "uri":"/pdo"
var REQUEST_URI /memcached
var QUERY_STRING do=memcached
run
run
run
wait-log "uri":"/memcached"
var REQUEST_URI /servers
var QUERY_STRING do=servers
run
run
run
wait-log "uri":"/servers"
var REQUEST_URI /array
var QUERY_STRING do=array
run
run
run
wait-log $GLOBALS['array']{elements}
stop
--EXPECTF--
[log l 3] {"kind":"object storage","why":"changes","path":"$GLOBALS['curl']{curl_setopt(CURLOPT_HTTPHEADER)}","member":"$GLOBALS['curl']","value":"array(1)","method":"GET","uri":"/header"}



[log l 6] {"kind":"object storage","why":"grows","path":"$GLOBALS['curl']{curl_setopt(CURLOPT_USERPWD)}","member":"$GLOBALS['curl']","value":"%d bytes","count_before":%d,"count":%d,"method":"GET","uri":"/password"}


[log l 7] {"kind":"object storage","why":"holds request data","path":"$GLOBALS['curl']{curl_setopt(CURLOPT_COOKIE)}","member":"$GLOBALS['curl']","value":"(sent by a client)","count_before":%d,"count":%d,"method":"GET","uri":"/cookie"}









[log l 17] {"kind":"object storage","why":"grows","path":"$GLOBALS['document']{saveXML()}","member":"$GLOBALS['document']","value":"%d bytes","count_before":%d,"count":%d,"method":"GET","uri":"/document"}



[log l 20] {"kind":"object storage","why":"grows","path":"$GLOBALS['quiet']{saveXML()}","member":"$GLOBALS['quiet']","value":"%d bytes","count_before":%d,"count":%d,"method":"GET","uri":"/quiet"}



[log l 23] {"kind":"object storage","why":"grows","path":"$GLOBALS['element']{asXML()}","member":"$GLOBALS['element']","value":"%d bytes","count_before":%d,"count":%d,"method":"GET","uri":"/element"}



[log l 26] {"kind":"object storage","why":"grows","path":"$GLOBALS['writer']{outputMemory()}","member":"$GLOBALS['writer']","value":"%d bytes","count_before":%d,"count":%d,"method":"GET","uri":"/writer"}



[log l 29] {"kind":"object storage","why":"grows","path":"$GLOBALS['numbers']{getPattern()}","member":"$GLOBALS['numbers']","value":"%d bytes","count_before":%d,"count":%d,"method":"GET","uri":"/numbers"}
[log l 29] {"kind":"object storage","why":"counts","path":"$GLOBALS['numbers']{getAttribute(6)}","member":"$GLOBALS['numbers']","value":"24","method":"GET","uri":"/numbers"}



[log l 32] {"kind":"object storage","why":"grows","path":"$GLOBALS['dates']{getPattern()}","member":"$GLOBALS['dates']","value":"%d bytes","count_before":%d,"count":%d,"method":"GET","uri":"/dates"}



[log l 35] {"kind":"object storage","why":"changes","path":"$GLOBALS['dates']{getTimeZoneId()}","member":"$GLOBALS['dates']","value":"%d bytes","count_before":%d,"count":%d,"method":"GET","uri":"/zone"}



[log l 38] {"kind":"object storage","why":"changes","path":"$GLOBALS['collator']{getStrength()}","member":"$GLOBALS['collator']","value":"1","method":"GET","uri":"/collator"}
[log l 38] {"kind":"object storage","why":"changes","path":"$GLOBALS['collator']{getAttribute(5)}","member":"$GLOBALS['collator']","value":"1","method":"GET","uri":"/collator"}



[log l 41] {"kind":"object storage","why":"grows","path":"$GLOBALS['message']{getPattern()}","member":"$GLOBALS['message']","value":"%d bytes","count_before":%d,"count":%d,"method":"GET","uri":"/message"}



[log l 44] {"kind":"object storage","why":"changes","path":"$GLOBALS['calendar']{getTime()}","member":"$GLOBALS['calendar']","value":"259200000","method":"GET","uri":"/calendar"}



[log l 47] {"kind":"object storage","why":"changes","path":"$GLOBALS['pdo']{getAttribute(19)}","member":"$GLOBALS['pdo']","value":"2","method":"GET","uri":"/pdo"}



[log l 50] {"kind":"object storage","why":"grows","path":"$GLOBALS['memcached']{getOption(-1002)}","member":"$GLOBALS['memcached']","value":"%d bytes","count_before":%d,"count":%d,"method":"GET","uri":"/memcached"}



[log l 53] {"kind":"object storage","why":"grows","path":"$GLOBALS['memcached']{getServerList()}","member":"$GLOBALS['memcached']","value":"array(3)","count_before":%d,"count":%d,"method":"GET","uri":"/servers"}



[log l 56] {"kind":"object storage","why":"counts","path":"$GLOBALS['array']{getSize()}","member":"$GLOBALS['array']","value":"4","method":"GET","uri":"/array"}
[log l 56] {"kind":"object storage","why":"grows","path":"$GLOBALS['array']{elements}","member":"$GLOBALS['array']","value":"4 elements","count_before":%d,"count":%d,"method":"GET","uri":"/array"}
