--TEST--
Coroutines: each request has private ODBC connections, persistent ones too
--EXTENSIONS--
odbc
--SKIPIF--
<?php
if (stripos((string) @file_get_contents('/etc/odbcinst.ini'), '[SQLite3]') === false) {
    echo 'skip no driver SQLITE3 in /etc/odbcinst.ini (Debian: libsqliteodbc)';
}
--FILE--
<?php
$source = 'Driver=SQLITE3;Database=:memory:';
$boot = odbc_pconnect($source, '', '');
odbc_exec($boot, 'CREATE TABLE visits (n INTEGER)');
$here = 0;
while (frankenphp_handle_request(static function () use ($source, &$here) {
    $n = (int) $_GET['n'];
    $links = [odbc_pconnect($source, '', ''), odbc_connect($source, '', '')];
    foreach ($links as $link) {
        odbc_exec($link, 'CREATE TABLE visits (n INTEGER)');
        odbc_exec($link, "INSERT INTO visits VALUES ($n)");
    }
    for ($here++; $here < 2;) {
        usleep(1000);
    }
    foreach ($links as $link) {
        echo odbc_result(odbc_exec($link, 'SELECT group_concat(n) FROM visits'), 1), ' ';
    }
    if ($n === 1) {
        odbc_close_all();
        echo is_resource($links[0]) ? 'open ' : 'closed ';
        $here++;
    }
    while ($here < 3) {
        usleep(1000);
    }
    if ($n === 2) {
        echo odbc_result(odbc_exec($links[1], 'SELECT n FROM visits'), 1);
    }
})) {
}
--HOWDAH--
option concurrency 4
worker {ROOT}/test.php
var QUERY_STRING n=1
push one
var QUERY_STRING n=2
push two
await one
await two
stop
--EXPECT--
one: 1 1 closed 
two: 2 2 2
