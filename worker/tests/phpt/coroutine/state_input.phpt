--TEST--
Coroutines: bodies, uploads and superglobals that code reads later belong to their requests
--FILE--
<?php
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

$place = new stdClass();
while (frankenphp_handle_request(function () use ($place) {
    $input = fopen('php://input', 'r');
    $first = fread($input, 3);
    $upload = $_FILES['file']['tmp_name'] ?? null;
    meet(2, $place);
    if ($_GET['me'] === 'a') {
        require_once __DIR__ . '/lazy.inc'; /* the other request was on its way when this is compiled */
    }
    meet(2, $place);
    if (!$_FILES) {
        $lines = ['--X', 'Content-Disposition: form-data; name="file"; filename="a.txt"', '', "upload $_GET[me]", '--X--', ''];
        file_put_contents(__DIR__ . "/upload-$_GET[me].body", implode("\r\n", $lines));
    }
    echo trim($first . stream_get_contents($input)), ' ', json_encode(array_map(trim(...), $_POST)), ' ', lazy(), "\n";
    if ($upload) {
        echo file_get_contents($upload), ' ', var_export(is_uploaded_file($upload), true), "\n";
    }
    if ($upload && isset($place->upload)) {
        while (file_exists($place->upload)) {
            usleep(1000);
            clearstatcache();
        }
        echo "removed\n";
    }
    $place->upload = $upload;
})) {
}
--FILE lazy.inc--
<?php
function lazy(): string
{
    return ($_REQUEST['me'] ?? 'no request') . ' ' . (isset($_ENV) ? 'env' : 'no env') . ' ' . $_SERVER['QUERY_STRING'];
}
--INI--
variables_order=EGPCS
--HOWDAH--
worker {ROOT}/test.php
option concurrency 2
var REQUEST_METHOD POST
var CONTENT_TYPE application/x-www-form-urlencoded
var CONTENT_LENGTH 7
var QUERY_STRING me=a
body inline {ROOT}/a.body
push a
var QUERY_STRING me=b
body inline {ROOT}/b.body
push b
await a
await b
var CONTENT_TYPE multipart/form-data; boundary=X
var CONTENT_LENGTH 87
var QUERY_STRING me=a
body inline {ROOT}/upload-a.body
push c
var QUERY_STRING me=b
body inline {ROOT}/upload-b.body
push d
await c
await d
--FILE a.body--
of=aaa
--FILE b.body--
of=bbb
--EXPECT--
a: of=aaa {"of":"aaa"} a env me=a

b: of=bbb {"of":"bbb"} b env me=b

c:  [] a env me=a
upload a true

d:  [] b env me=b
upload b true
removed
