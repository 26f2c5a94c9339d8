--TEST--
Coroutines: errors of IMAP and the last error of POSIX are of one request
--SKIPIF--
<?php
if (!file_exists(ini_get('extension_dir') . '/imap.so') || !extension_loaded('posix')) {
    echo 'skip no imap, or no posix';
}
--INI--
extension=imap.so
--FILE--
<?php
imap_rfc822_parse_adrlist('<', 'example.org');
posix_getpgid(1 << 30);
while (frankenphp_handle_request(function (): void {
    echo json_encode([imap_errors(), imap_alerts(), imap_last_error(), posix_get_last_error()]), "\n";
    usleep(2000);
    if ($_GET['fails'] ?? false) {
        imap_rfc822_parse_adrlist('<', 'example.org');
        posix_getpgid(1 << 30);
    }
    usleep(2000);
    echo is_array(imap_errors()) ? 'errors' : 'none', ' ', posix_get_last_error() > 0 ? 'error' : 'none', "\n";
    if ($_GET['fails'] ?? false) {
        imap_rfc822_parse_adrlist('<', 'example.org');
    }
})) {
}
--HOWDAH--
worker {ROOT}/test.php
option concurrency 4
var QUERY_STRING fails=1
push a
var QUERY_STRING fails=
push b
var QUERY_STRING fails=1
push c
await a
await b
await c
var QUERY_STRING fails=
run
--EXPECT--
a: [false,false,false,0]
errors error

b: [false,false,false,0]
none none

c: [false,false,false,0]
errors error

[false,false,false,0]
none none
