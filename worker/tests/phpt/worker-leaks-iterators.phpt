--TEST--
Worker mode: detect_leaks walks through iterators that the engine creates
--FILE--
<?php
class Rows
{
    public ?Iterator $all = null;
    public ?Generator $export = null;
}

$rows = new Rows();
while (frankenphp_handle_request(function () use ($rows) {
    if (isset($_GET['name'])) {
        $rows->all = new LimitIterator(new ArrayIterator([$_GET['name']]), 0, 1);
        $rows->export = (function (Iterator $all) {
            foreach ($all as $row) {
                yield $row;
            }
        })($rows->all);
        $rows->export->current();
    }
    echo $_GET['name'] ?? 'nobody';
})) {
}
--HOWDAH--
worker {ROOT}/test.php
option detect_leaks_sample 1
show log
var REQUEST_URI /rows
var QUERY_STRING name=alice
run
var QUERY_STRING name=robert
run
var REQUEST_URI /
var QUERY_STRING
run
wait-log Rows::$export
--EXPECT--
alice
robert
nobody
[log l 2] {"kind":"object property","why":"holds request data","path":"$GLOBALS['rows']->all","member":"Rows::$all","value":"object(LimitIterator)","file":"{ROOT}/test.php","line":4,"method":"GET","uri":"/rows"}
[log l 2] {"kind":"object property","why":"holds request data","path":"$GLOBALS['rows']->export","member":"Rows::$export","value":"object(Generator)","file":"{ROOT}/test.php","line":5,"method":"GET","uri":"/rows"}
