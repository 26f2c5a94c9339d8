--TEST--
Memory and CPU time are reported for each request, not for the process
--SKIPIF--
<?php
if (getenv('USE_ZEND_ALLOC') === '0') {
    echo 'skip no figures without PHP\'s allocator';
}
--FILE--
<?php
if (isset($_GET['much'])) {
    $text = str_repeat('x', 50 << 20);
    $from = getrusage();
    do {
        $now = getrusage();
    } while (($now['ru_utime.tv_sec'] - $from['ru_utime.tv_sec']) * 1e6 + $now['ru_utime.tv_usec'] - $from['ru_utime.tv_usec'] < 100000);
}
--HOWDAH--
show usage
run
var QUERY_STRING much=1
run
var QUERY_STRING
run
--EXPECTREGEX--
\[at most 2 MiB, at least \d\d? ms\]

\[at most 5\d MiB, at least \d{3,} ms\]

\[at most 2 MiB, at least \d\d? ms\]
