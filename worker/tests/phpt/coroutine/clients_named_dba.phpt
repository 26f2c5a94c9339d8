--TEST--
Coroutines: each request opens databases of dba for itself, and waits for a file that a different one has locked
--EXTENSIONS--
dba
--FILE--
<?php
$file = __DIR__ . '/words.db';
$boot = dba_open($file, 'n', 'flatfile');
foreach (['one', 'two', 'three'] as $word) {
    dba_insert($word, $word, $boot);
}
dba_close($boot);
$boot = dba_popen($file, 'r', 'flatfile');
dba_firstkey($boot);
$here = 0;
while (frankenphp_handle_request(static function () use ($file, &$here) {
    $other = "$file.$_GET[lock]";
    $meet = static function (int $count) use (&$here) {
        for ($here++; $here < $count;) {
            usleep(1000);
        }
    };
    $database = dba_popen($file, 'r', 'flatfile');
    $keys = [dba_firstkey($database)];
    $meet(2);
    while (($key = dba_nextkey($database)) !== false) {
        $keys[] = $key;
        usleep(1000);
    }
    echo implode(' ', $keys), "\n";
    dba_close($database);
    $meet(4);
    if ($_GET['n'] === '1') {
        $mine = dba_open($other, "n$_GET[lock]", 'flatfile');
        $again = @dba_open($other, "w$_GET[lock]", 'flatfile');
        echo $again === false ? 'refused' : 'twice', "\n";
        dba_insert('first', '1', $mine);
        $meet(6);
        dba_insert('last', '1', $mine);
        dba_close($mine);
    } else {
        while ($here < 5) {
            usleep(1000);
        }
        $here++;
        $mine = dba_open($other, "w$_GET[lock]", 'flatfile');
        echo dba_fetch('first', $mine), dba_fetch('last', $mine), "\n";
        $here = 0;
    }
})) {
}
--HOWDAH--
option concurrency 4
worker {ROOT}/test.php
var QUERY_STRING n=1&lock=d
push one
var QUERY_STRING n=2&lock=d
push two
await one
await two
var QUERY_STRING n=1&lock=l
push one
var QUERY_STRING n=2&lock=l
push two
await one
await two
stop
--EXPECT--
one: one two three
refused

two: one two three
11

one: one two three
refused

two: one two three
11

