--TEST--
Coroutines: processor time and time in databases are those of the request, though others run meanwhile
--SKIPIF--
<?php
if (!extension_loaded('pdo_sqlite')) {
    echo 'skip pdo_sqlite is not loaded';
}
--FILE--
<?php
while (frankenphp_handle_request(static function () {
    if ($_GET['how'] === 'idle') {
        usleep(300000);
        return;
    }
    usleep(1000);
    $until = hrtime(true) + 150000000;
    $slow = 'WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400000) SELECT sum(i) FROM n';
    (new PDO('sqlite::memory:'))->query($slow)->fetchColumn();
    while (hrtime(true) < $until) {
    }
})) {
}
--HOWDAH--
option concurrency 4
worker {ROOT}/test.php
show usage
show database
var QUERY_STRING how=idle
push idle
var QUERY_STRING how=busy
push busy
await busy idle
--EXPECTREGEX--
busy:\s+\[at most \d+ MiB, at least \d{2,} ms\]\s+\[1 queries, at least \d{2,} ms in databases\]\s+idle:\s+\[at most \d+ MiB, at least \d ms\]\s+\[0 queries, at least 0 ms in databases\]
