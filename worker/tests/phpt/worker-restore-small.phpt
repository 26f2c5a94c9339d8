--TEST--
Worker mode: small state of a request is not seen by the next
--INI--
url_rewriter.tags="a=href"
--FILE--
<?php
$file = __DIR__ . '/file';
while (frankenphp_handle_request(function () use ($file) {
    echo json_encode([error_get_last(), json_last_error(), @strtok(' '), count(headers_list())]), "\n";
    @trigger_error('of the request');
    json_decode('{');
    strtok('one two three', ' ');
    echo json_encode([error_get_last()['message'], json_last_error(), strtok(' ')]), "\n";

    /* The size of the file that was looked at last is remembered. */
    file_put_contents($file, str_repeat('x', (int) $_GET['size']));
    echo filesize($file), "\n";

    /* Rewriting is restarted, with this request's variable only. */
    output_add_rewrite_var('request', $_GET['size']);
    echo '<a href="page.php">', "\n";
})) {
    file_put_contents($file, '');
}
--HOWDAH--
worker {ROOT}/test.php
var QUERY_STRING size=3
run
var QUERY_STRING size=5
run
--EXPECT--
[null,0,false,0]
["of the request",4,"two"]
3
<a href="page.php?request=3">

[null,0,false,0]
["of the request",4,"two"]
5
<a href="page.php?request=5">
