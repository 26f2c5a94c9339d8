--TEST--
error_log() types, levels of PHP's messages, records with newlines, the request's id
--INI--
log_errors=1
display_errors=0
--FILE--
<?php
error_log("two\nlines");
error_log('sapi', 4);
error_log('file', 3, __DIR__ . '/own.log');
var_dump(file_get_contents(__DIR__ . '/own.log'), howdah_request_id());
echo $undefined;
trigger_error('notice', E_USER_NOTICE);
trigger_error('old', E_USER_DEPRECATED);
error_log('');
--HOWDAH--
show log
run
--EXPECTF--
string(4) "file"
string(16) "0000000000000001"

[log n 1] two
lines
[log n 1] sapi
[log w 1] PHP Warning:  Undefined variable $undefined in {ROOT}/test.php on line 6
[log n 1] PHP Notice:  notice in {ROOT}/test.php on line 7
[log %s 1] PHP Deprecated:  old in {ROOT}/test.php on line 8
[log n 1]
