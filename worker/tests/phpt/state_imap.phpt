--TEST--
Worker mode: errors of IMAP and the last error of POSIX are of one request
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
    imap_rfc822_parse_adrlist('<', 'example.org');
    posix_getpgid(1 << 30);
    echo count((array) imap_errors()), ' ', posix_get_last_error() > 0 ? 'error' : 'none', "\n";
    imap_rfc822_parse_adrlist('<', 'example.org');
})) {
}
--HOWDAH--
worker {ROOT}/test.php
run
run
--EXPECT--
[false,false,false,0]
1 error

[false,false,false,0]
1 error
