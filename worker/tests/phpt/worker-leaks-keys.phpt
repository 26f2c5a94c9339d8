--TEST--
Worker mode: detect_leaks recognizes data of a client in keys and in names of properties and globals
--FILE--
<?php
namespace App;

class Seen
{
    public static array $users = [];
    public static array $mails = [];
    public static array $items = ['book' => 0];
    public static ?array $columns = null;
}

#[\AllowDynamicProperties]
class Dyn
{
}

class Magic
{
    private array $data = [];

    public function __set(string $name, mixed $value): void
    {
        $this->data[$name] = $value;
    }
}

class Last
{
    public ?object $filter = null;
}

$dyn = new Dyn();
$magic = new Magic();
$last = new Last();
$array = new \ArrayObject();
$actions = [
    'key' => fn () => Seen::$users[$_GET['name']] = 1,
    'property' => fn () => $dyn->{$_GET['name']} = 1,
    'magic' => fn () => $magic->{$_GET['name']} = 1,
    'object' => fn () => $last->filter = (object) [$_GET['name'] => 1],
    'array' => fn () => $array[$_GET['name']] = 1,
    'global' => fn () => $GLOBALS[$_GET['name']] = 1,
    'mail' => fn () => Seen::$mails["mail of $_GET[mail]"] = 1,
    /* Keys of the application that a client named. */
    'ok' => function () {
        Seen::$items[$_GET['item']] = 1;
        Seen::$columns ??= ['name' => 'n', 'price' => 'p'];
        return Seen::$columns[$_GET['sort']];
    },
    'idle' => fn () => null,
];
while (\frankenphp_handle_request(fn () => $actions[$_GET['do']]())) {
}
--HOWDAH--
worker {ROOT}/test.php
option detect_leaks_sample 1
show log
var REQUEST_URI /ok
var QUERY_STRING do=ok&item=book&sort=name
run
var REQUEST_URI /key
var QUERY_STRING do=key&name=alice4711
run
var REQUEST_URI /idle
var QUERY_STRING do=idle
run
wait-log "uri":"/key"
var REQUEST_URI /property
var QUERY_STRING do=property&name=alice4711
run
var REQUEST_URI /idle
var QUERY_STRING do=idle
run
wait-log "uri":"/property"
var REQUEST_URI /magic
var QUERY_STRING do=magic&name=alice4711
run
var REQUEST_URI /idle
var QUERY_STRING do=idle
run
wait-log "uri":"/magic"
var REQUEST_URI /object
var QUERY_STRING do=object&name=alice4711
run
var REQUEST_URI /idle
var QUERY_STRING do=idle
run
wait-log "uri":"/object"
var REQUEST_URI /array
var QUERY_STRING do=array&name=alice4711
run
var REQUEST_URI /idle
var QUERY_STRING do=idle
run
wait-log "uri":"/array"
var REQUEST_URI /global
var QUERY_STRING do=global&name=alice4711
run
var REQUEST_URI /idle
var QUERY_STRING do=idle
run
wait-log "uri":"/global"
var REQUEST_URI /mail
var QUERY_STRING do=mail&mail=alice@example.com
run
var REQUEST_URI /idle
var QUERY_STRING do=idle
run
wait-log "uri":"/mail"
stop
--EXPECTF--


[log l 2] {"kind":"static property","why":"holds request data","path":"App\\Seen::$users","member":"App\\Seen::$users","value":"array(1)","count_before":0,"count":1,"file":"{ROOT}/test.php","line":6,"method":"GET","uri":"/key"}


[log l 4] {"kind":"object property","why":"holds request data","path":"$GLOBALS['dyn']->(hidden)","member":"App\\Dyn::$(hidden)","value":"1","file":"{ROOT}/test.php","line":13,"method":"GET","uri":"/property"}


[log l 6] {"kind":"object property","why":"holds request data","path":"$GLOBALS['magic']->data","member":"App\\Magic::$data","value":"array(1)","count_before":0,"count":1,"file":"{ROOT}/test.php","line":19,"method":"GET","uri":"/magic"}


[log l 8] {"kind":"object property","why":"holds request data","path":"$GLOBALS['last']->filter","member":"App\\Last::$filter","value":"object(stdClass)","file":"{ROOT}/test.php","line":29,"method":"GET","uri":"/object"}


[log l 10] {"kind":"object storage","why":"holds request data","path":"$GLOBALS['array']{0}","member":"$GLOBALS['array']","value":"array(1)","count_before":0,"count":1,"method":"GET","uri":"/array"}


[log l 12] {"kind":"global variable","why":"holds request data","path":"$GLOBALS['(hidden)']","member":"$GLOBALS['(hidden)']","value":"1","method":"GET","uri":"/global"}


[log l 14] {"kind":"static property","why":"holds request data","path":"App\\Seen::$mails","member":"App\\Seen::$mails","value":"array(1)","count_before":0,"count":1,"file":"{ROOT}/test.php","line":7,"method":"GET","uri":"/mail"}
