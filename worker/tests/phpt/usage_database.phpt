--TEST--
Time in databases and SQL statements are counted for each request
--SKIPIF--
<?php
if (!extension_loaded('pdo_sqlite')) {
    echo 'skip pdo_sqlite is not loaded';
}
--FILE--
<?php
if ($_GET['how'] === 'none') {
    usleep(20000);
    return;
}
$slow = 'WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400000) SELECT sum(i) FROM n';
$pdo = new PDO('sqlite::memory:');
// A query within a query is one call and two statements.
$pdo->sqliteCreateFunction('again', static function () use ($pdo, $slow): int {
    return (int) $pdo->query($slow)->fetchColumn();
});
$from = hrtime(true);
$pdo->query('SELECT again()')->fetchColumn();
$limit = hrtime(true) - $from;
$statement = $pdo->prepare('SELECT 1');
$statement->execute();
echo $limit > 10000000 ? "slow\n" : "fast\n";
--HOWDAH--
show database
var QUERY_STRING how=none
run
var QUERY_STRING how=slow
run
var QUERY_STRING how=none
run
--EXPECTREGEX--
\[0 queries, at least 0 ms in databases\]
slow

\[3 queries, at least \d{2,} ms in databases\]

\[0 queries, at least 0 ms in databases\]
