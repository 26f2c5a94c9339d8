--TEST--
php://stderr and children write raw bytes; a record at the end marks whose they were
--FILE--
<?php
if (isset($_GET['quiet'])) {
    exit('quiet');
}
file_put_contents('php://stderr', "raw\n");
passthru('echo child >&2');
--HOWDAH--
show raw
run
var QUERY_STRING quiet=1
run
--EXPECTREGEX--
.*\[raw\] raw
(\[raw\] )?child
(\[mark 1\]
)?quiet
