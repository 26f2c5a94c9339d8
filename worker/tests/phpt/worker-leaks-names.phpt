--TEST--
Worker mode: detect_leaks does not show names and values that contain data of a client
--FILE--
<?php
namespace App;

#[\AllowDynamicProperties]
class Dyn
{
    public array $map = ['cart' => []];
    public array $orders = [];
    public string $line = '';
}

$dyn = new Dyn();
$actions = [
    'property' => fn () => $dyn->{'p' . $_GET['name']} = uniqid(),
    'key' => fn () => $dyn->map['user ' . $_GET['name']][] = 1,
    'global' => fn () => $GLOBALS['u_' . $_GET['name']] = uniqid(),
    'index' => fn () => $dyn->orders[(int) $_GET['order']][] = 1,
    'value' => fn () => $dyn->line = uniqid() . ' ' . $_GET['name'],
    /* A name that exists after the boot is not client data. */
    'boot' => fn () => $dyn->map[$_GET['page']][] = 1,
    /* A pattern is compared with the name as it is. */
    'allowed' => fn () => $dyn->{'cache_' . $_GET['name']} = uniqid(),
];
while (\frankenphp_handle_request(fn () => $actions[$_GET['do']]())) {
}
--HOWDAH--
worker {ROOT}/test.php
option detect_leaks_sample 1
leak-allow App\Dyn::$cache_*
show log
var REQUEST_URI /allowed
var QUERY_STRING do=allowed&name=alice4711
run
run
run
run
var REQUEST_URI /property
var QUERY_STRING do=property&name=alice4711
run
run
run
wait-log "uri":"/property"
var REQUEST_URI /key
var QUERY_STRING do=key&name=alice4711
run
run
run
run
wait-log "uri":"/key"
var REQUEST_URI /global
var QUERY_STRING do=global&name=alice4711
run
run
run
wait-log "uri":"/global"
var REQUEST_URI /index
var QUERY_STRING do=index&name=alice4711&order=8312
run
run
run
run
wait-log "uri":"/index"
var REQUEST_URI /value
var QUERY_STRING do=value&name=alice4711&order=8312
run
run
run
wait-log "uri":"/value"
var REQUEST_URI /boot
var QUERY_STRING do=boot&name=alice4711&order=8312&page=cart
run
run
run
wait-log "uri":"/boot"
stop
--EXPECTF--




[log l 7] {"kind":"object property","why":"changes","path":"$GLOBALS['dyn']->(hidden)","member":"App\\Dyn::$(hidden)","value":"\"%s\"","file":"{ROOT}/test.php","line":5,"method":"GET","uri":"/property"}




[log l 11] {"kind":"object property","why":"grows","path":"$GLOBALS['dyn']->map['(hidden)']","member":"App\\Dyn::$map","value":"array(4)","count_before":3,"count":4,"file":"{ROOT}/test.php","line":7,"method":"GET","uri":"/key"}



[log l 14] {"kind":"global variable","why":"changes","path":"$GLOBALS['(hidden)']","member":"$GLOBALS['(hidden)']","value":"\"%s\"","method":"GET","uri":"/global"}




[log l 18] {"kind":"object property","why":"grows","path":"$GLOBALS['dyn']->orders[(hidden)]","member":"App\\Dyn::$orders","value":"array(4)","count_before":3,"count":4,"file":"{ROOT}/test.php","line":8,"method":"GET","uri":"/index"}



[log l 21] {"kind":"object property","why":"changes","path":"$GLOBALS['dyn']->line","member":"App\\Dyn::$line","value":"(hidden)","file":"{ROOT}/test.php","line":9,"method":"GET","uri":"/value"}



[log l 24] {"kind":"object property","why":"grows","path":"$GLOBALS['dyn']->map['cart']","member":"App\\Dyn::$map","value":"array(3)","count_before":2,"count":3,"file":"{ROOT}/test.php","line":7,"method":"GET","uri":"/boot"}
