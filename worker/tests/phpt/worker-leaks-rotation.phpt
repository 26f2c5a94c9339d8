--TEST--
Worker mode: detect_leaks finds what grows on all of many pages, and names anonymous classes and declarations exactly
--FILE--
<?php
class Page
{
    public static array $lines = [];
    public static string $text = '';
    public static int $number = 0;
    public static array $cache = [];
}

class Log
{
    public function setLines(array $lines): void
    {
        $this->lines = $lines;
    }

    public array $lines = [];

    public function __construct(public array $labels = [], private array $notes = [])
    {
    }

    public function add(): void
    {
        $this->notes[] = $this->labels[] = $this->lines[] = 'x';
    }
}

$log = new Log();
$storage = new SplObjectStorage();
$first = new class () {
    public array $log = [];
};
$second = new class () {
    public array $log = [];
};
$actions = [
    'all' => function () {
        Page::$lines[] = 'x';
        Page::$text .= 'x';
        Page::$number++;
        Page::$cache[crc32($_GET['page'])] ??= 'x'; /* grows only on new pages */
    },
    'first' => fn () => $first->log[] = 'x',
    'second' => fn () => $second->log[] = 'x',
    'log' => fn () => $log->add(),
    'storage' => fn () => $storage[new stdClass()] = ['data' => 1],
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
var REQUEST_URI /a
var QUERY_STRING do=all&page=aaaa
run
var REQUEST_URI /b
var QUERY_STRING do=all&page=bbbb
run
var REQUEST_URI /c
var QUERY_STRING do=all&page=cccc
run
var REQUEST_URI /d
var QUERY_STRING do=all&page=dddd
run
var REQUEST_URI /e
var QUERY_STRING do=all&page=eeee
run
var REQUEST_URI /f
var QUERY_STRING do=all&page=ffff
run
var REQUEST_URI /g
var QUERY_STRING do=all&page=gggg
run
var REQUEST_URI /h
var QUERY_STRING do=all&page=hhhh
run
var REQUEST_URI /i
var QUERY_STRING do=all&page=iiii
run
var REQUEST_URI /j
var QUERY_STRING do=all&page=jjjj
run
var REQUEST_URI /k
var QUERY_STRING do=all&page=kkkk
run
var REQUEST_URI /l
var QUERY_STRING do=all&page=llll
run
var REQUEST_URI /a
var QUERY_STRING do=all&page=aaaa
run
var REQUEST_URI /b
var QUERY_STRING do=all&page=bbbb
run
var REQUEST_URI /c
var QUERY_STRING do=all&page=cccc
run
var REQUEST_URI /d
var QUERY_STRING do=all&page=dddd
run
var REQUEST_URI /e
var QUERY_STRING do=all&page=eeee
run
var REQUEST_URI /f
var QUERY_STRING do=all&page=ffff
run
var REQUEST_URI /g
var QUERY_STRING do=all&page=gggg
run
var REQUEST_URI /h
var QUERY_STRING do=all&page=hhhh
run
var REQUEST_URI /i
var QUERY_STRING do=all&page=iiii
run
var REQUEST_URI /j
var QUERY_STRING do=all&page=jjjj
run
var REQUEST_URI /k
var QUERY_STRING do=all&page=kkkk
run
var REQUEST_URI /l
var QUERY_STRING do=all&page=llll
run
wait-log "member":"Page::$number"
var REQUEST_URI /first
var QUERY_STRING do=first
run
run
run
wait-log "uri":"/first"
var REQUEST_URI /second
var QUERY_STRING do=second
run
run
run
wait-log "uri":"/second"
var REQUEST_URI /log
var QUERY_STRING do=log
run
run
run
wait-log "member":"Log::$notes"
var REQUEST_URI /storage
var QUERY_STRING do=storage
run
run
run
wait-log "uri":"/storage"
stop
--EXPECT--
[log l 24] {"kind":"static property","why":"grows","path":"Page::$lines","member":"Page::$lines","value":"array(24)","count_before":23,"count":24,"file":"{ROOT}/test.php","line":4,"method":"GET","uri":"/l"}
[log l 24] {"kind":"static property","why":"grows","path":"Page::$text","member":"Page::$text","value":"\"xxxxxxxxxxxxxxxxxxxxxxxx\"","count_before":23,"count":24,"file":"{ROOT}/test.php","line":5,"method":"GET","uri":"/l"}
[log l 24] {"kind":"static property","why":"counts","path":"Page::$number","member":"Page::$number","value":"24","file":"{ROOT}/test.php","line":6,"method":"GET","uri":"/l"}



[log l 27] {"kind":"object property","why":"grows","path":"$GLOBALS['first']->log","member":"class@anonymous {ROOT}/test.php:31::$log","value":"array(3)","count_before":2,"count":3,"file":"{ROOT}/test.php","line":32,"method":"GET","uri":"/first"}



[log l 30] {"kind":"object property","why":"grows","path":"$GLOBALS['second']->log","member":"class@anonymous {ROOT}/test.php:34::$log","value":"array(3)","count_before":2,"count":3,"file":"{ROOT}/test.php","line":35,"method":"GET","uri":"/second"}



[log l 33] {"kind":"object property","why":"grows","path":"$GLOBALS['log']->lines","member":"Log::$lines","value":"array(3)","count_before":2,"count":3,"file":"{ROOT}/test.php","line":17,"method":"GET","uri":"/log"}
[log l 33] {"kind":"object property","why":"grows","path":"$GLOBALS['log']->labels","member":"Log::$labels","value":"array(3)","count_before":2,"count":3,"file":"{ROOT}/test.php","line":19,"method":"GET","uri":"/log"}
[log l 33] {"kind":"object property","why":"grows","path":"$GLOBALS['log']->notes","member":"Log::$notes","value":"array(3)","count_before":2,"count":3,"file":"{ROOT}/test.php","line":19,"method":"GET","uri":"/log"}



[log l 36] {"kind":"object storage","why":"grows","path":"$GLOBALS['storage']{elements}","member":"$GLOBALS['storage']","value":"3 elements","count_before":2,"count":3,"method":"GET","uri":"/storage"}
