--TEST--
Worker mode: archives that a request opened, and their aliases, are unknown to the next
--EXTENSIONS--
phar
--INI--
phar.readonly=0
--FILE--
<?php
$make = static function (string $name, string $text): void {
    $archive = new PharData(__DIR__ . "/$name");
    $archive['text'] = $text;
    unset($archive);
};
$phar = new Phar(__DIR__ . '/boot.phar', 0, 'boot');
$phar['text'] = 'of the boot';
$phar['more/text'] = 'more of the boot';
unset($phar);
while (frankenphp_handle_request(static function () use ($make) {
    $n = (int) $_GET['n'];
    echo file_get_contents('phar://boot/text'), ', ';
    echo @file_get_contents('phar://x/text') === false ? 'no alias, ' : 'ALIAS, ';
    $phar = new Phar(__DIR__ . "/own$n.phar", 0, 'x');
    $phar['text'] = "own $n";
    echo file_get_contents('phar://x/text'), ', ';
    unset($phar);
    echo file_get_contents('phar://x/text'), ', ';
    echo file_get_contents('phar://boot/more/text'), ', ';
    $make('data.tar', "data $n");
    echo file_get_contents('phar://' . __DIR__ . '/data.tar/text');
    unlink(__DIR__ . '/data.tar');
})) {
}
--HOWDAH--
worker {ROOT}/test.php
var QUERY_STRING n=2
push one
var QUERY_STRING n=3
push two
await one
await two
var QUERY_STRING n=4
push three
await three
stop
--EXPECT--
one: of the boot, no alias, own 2, own 2, more of the boot, data 2
two: of the boot, no alias, own 3, own 3, more of the boot, data 3
three: of the boot, no alias, own 4, own 4, more of the boot, data 4
