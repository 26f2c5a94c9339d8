--TEST--
Coroutines: directory, umask, environment, locale, time zone and random sequence are the request's own
--FILE--
<?php
/** Returns when $count requests are here. The object is shared, as objects are. */
function meet(int $count, stdClass $place): void
{
    $place->round ??= 0;
    $place->here = ($place->here ?? 0) + 1;
    $round = $place->round;
    if ($place->here === $count) {
        $place->here = 0;
        $place->round++;
    }
    while ($place->round === $round) {
        usleep(500);
    }
}

putenv('BOOT=boot');
putenv('HOME=/home/boot');
umask(0027);
foreach (['a', 'b'] as $name) {
    mkdir(__DIR__ . "/$name");
    file_put_contents(__DIR__ . "/$name/local.inc", "<?php return 'file of $name';");
}
file_put_contents(__DIR__ . '/local.inc', "<?php return 'file of boot';");
chdir(__DIR__);

function change(string $me): void
{
    chdir(__DIR__ . "/$me");
    umask($me === 'a' ? 0 : 0777);
    putenv("BOOT=$me");
    putenv("OWN=$me");
    putenv('REMOVED' . strtoupper($me) . '=1');
    putenv('REMOVED' . strtoupper($me));
    if ($me === 'a') {
        putenv('HOME');
    }
    setlocale(LC_ALL, $me === 'a' ? 'C' : 'POSIX');
    setlocale(LC_NUMERIC, $me === 'a' ? 'C.UTF-8' : 'C');
    date_default_timezone_set($me === 'a' ? 'Asia/Tokyo' : 'America/New_York');
    mt_srand(ord($me));
    date_parse($me === 'a' ? 'nonsense' : '2000-01-01');
}

function show(): string
{
    return implode(' ', [
        basename(getcwd()), include './local.inc', decoct(umask()), getenv('BOOT'), var_export(getenv('OWN'), true), getenv('HOME') === false ? 'homeless' : 'home',
        setlocale(LC_NUMERIC, 0), date_default_timezone_get(), date('H', 0),
        $_GET['me'] === 'plain' ? 'random' : mt_rand(), date_get_last_errors()['error_count'] ?? 0,
    ]);
}

$place = new stdClass();
$root = basename(__DIR__);
while (frankenphp_handle_request(function () use ($place) {
    $me = $_GET['me'];
    if ($me !== 'plain') {
        change($me);
    }
    meet(3, $place);
    $first = show();
    meet(3, $place);
    echo str_replace(basename(__DIR__), 'root', $first . "\n" . show()), "\n";
})) {
}
mt_srand(97);
--INI--
opcache.enable=1
opcache.file_update_protection=0
opcache.validate_timestamps=0
--HOWDAH--
worker {ROOT}/test.php
option concurrency 3
var QUERY_STRING me=plain
push plain
var QUERY_STRING me=a
push a
var QUERY_STRING me=b
push b
await plain
await a
await b
push b2
var QUERY_STRING me=plain
push plain2
push plain3
await b2
await plain2
await plain3
--EXPECT--
plain: root file of boot 27 boot false home C UTC 00 random 0
root file of boot 27 boot false home C UTC 00 random 0

a: a file of a 0 a 'a' homeless C.UTF-8 Asia/Tokyo 09 1797323821 0
a file of a 0 a 'a' homeless C.UTF-8 Asia/Tokyo 09 1764660433 0

b: b file of b 777 b 'b' home C America/New_York 19 1572531949 0
b file of b 777 b 'b' home C America/New_York 19 697102613 0

b2: b file of b 777 b 'b' home C America/New_York 19 1572531949 0
b file of b 777 b 'b' home C America/New_York 19 697102613 0

plain2: root file of boot 27 boot false home C UTC 00 random 0
root file of boot 27 boot false home C UTC 00 random 0

plain3: root file of boot 27 boot false home C UTC 00 random 0
root file of boot 27 boot false home C UTC 00 random 0
