--TEST--
No such script 404, a directory 403, "..", a relative path, none at all 404
--FILE--
<?php
echo 'ok';
--FILE sub/x.php--
--HOWDAH--
show headers log
var SCRIPT_FILENAME {ROOT}/none.php
run
var SCRIPT_FILENAME {ROOT}/sub
run
var SCRIPT_FILENAME {ROOT}/sub/../test.php
run
var SCRIPT_FILENAME test.php
run
var SCRIPT_FILENAME
run
var SCRIPT_FILENAME {ROOT}/test.php
run
--EXPECTF--
Status: 404
Content-type: text/html; charset=UTF-8

File not found.

[log e 1] Primary script unknown: {ROOT}/none.php
--
Status: 403
Content-type: text/html; charset=UTF-8

Access denied.

%A[log e 2] Unable to open primary script: {ROOT}/sub (Is a directory)
--
Status: 404
Content-type: text/html; charset=UTF-8

File not found.

[log e 3] Primary script unknown: {ROOT}/sub/../test.php
--
Status: 404
Content-type: text/html; charset=UTF-8

File not found.

[log e 4] Primary script unknown: test.php
--
Status: 404
Content-type: text/html; charset=UTF-8

File not found.

[log e 5] Primary script unknown: the server named none
--
Status: 200
Content-type: text/html; charset=UTF-8

ok
