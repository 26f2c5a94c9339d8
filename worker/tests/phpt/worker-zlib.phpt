--TEST--
Worker mode: ob_gzhandler() and zlib.output_compression compress only for the client of the current request
--SKIPIF--
<?php
if (!extension_loaded('zlib')) {
    exit('skip: no zlib');
}
--FILE--
<?php
/** What the handlers before this one make of it, told by its first bytes. */
function look(string $bytes): string
{
    return str_starts_with($bytes, "\x1f\x8b") ? 'gzip of ' . gzdecode($bytes) : "plain $bytes";
}
while (frankenphp_handle_request(static function (): void {
    ob_start(look(...));
    if ($_GET['how'] === 'handler') {
        ob_start('ob_gzhandler');
    } elseif ($_GET['how'] === 'setting') {
        ini_set('zlib.output_compression', '1');
    }
    echo "text\n";
    ob_end_flush();
})) {
}
--HOWDAH--
worker {ROOT}/test.php
var HTTP_ACCEPT_ENCODING gzip
var QUERY_STRING how=handler
run
var HTTP_ACCEPT_ENCODING
run
var HTTP_ACCEPT_ENCODING gzip
var QUERY_STRING how=setting
run
var HTTP_ACCEPT_ENCODING
run
var HTTP_ACCEPT_ENCODING gzip
var QUERY_STRING how=neither
run
--EXPECT--
gzip of text

plain text

gzip of text

plain text

plain text
