--TEST--
Coroutines: mb_ereg_*() while others end, use the same pattern otherwise, or search
--SKIPIF--
<?php
if (!function_exists('mb_ereg_replace_callback')) {
    echo 'skip mbstring has no regular expressions';
}
--FILE--
<?php
mb_regex_set_options('pr');
while (frankenphp_handle_request(static function () {
    $wrong = [];
    $is = static function (string $what, mixed $expected, mixed $found) use (&$wrong) {
        if ($expected !== $found) {
            $wrong[] = "$what: " . json_encode($found);
        }
    };
    $slowly = static fn (string $text, int $wait) => mb_ereg_replace_callback('[a-z]+', static function (array $match) use ($wait) {
        usleep($wait);
        return "<$match[0]>";
    }, $text);
    switch ($_GET['how']) {
        case 'callback':
            for ($i = 0; $i < 5; $i++) {
                $is('callback', '<ab> <cd> <ef>', $slowly('ab cd ef', 2000));
            }
            break;
        case 'encoding': // what its end resets is only its own
            $is('encoding', 'UTF-8', mb_internal_encoding());
            mb_internal_encoding('EUC-JP');
            $is('regex encoding', 'UTF-8', mb_regex_encoding());
            mb_regex_encoding('EUC-JP');
            usleep(1000);
            mb_ereg('[a-z]+', 'ab');
            $is('regex encoding set', 'EUC-JP', mb_regex_encoding());
            break;
        case 'options': // compiles the pattern of others again
            for ($i = 0; $i < 10; $i++) {
                $is('options', '# # #', mb_eregi_replace('[a-z]+', '#', 'AB CD ef'));
                usleep(1000);
            }
            $is('options of the boot', 'pr', mb_regex_set_options());
            mb_regex_set_options('pz');
            break;
        case 'search':
            $is('search begins', false, mb_ereg_search_getregs());
            $letter = $_GET['letter'];
            mb_ereg_search_init("{$letter}1 {$letter}2 {$letter}3", $letter . '(\d)');
            for ($i = 1; $i <= 3; $i++) {
                $is('search', ["$letter$i", "$i"], mb_ereg_search_regs());
                usleep(2000);
                $is('position', 3 * $i - 1, mb_ereg_search_getpos());
            }
            break;
        case 'siblings':
            $found = Howdah\all([
                static fn () => $slowly('ab cd ef', 2000),
                static fn () => mb_eregi_replace('[a-z]+', '#', 'AB CD'),
                static fn () => $slowly('gh', 1000),
            ]);
            $is('siblings', ['<ab> <cd> <ef>', '# #', '<gh>'], $found);
            // The callback itself may use them.
            $is('within', '<[a]1> <[b]1>', mb_ereg_replace_callback('[a-z]+', static fn (array $match) =>
                '<' . mb_ereg_replace('([a-z])', '[\1]', $match[0]) . mb_ereg_match('[a-z]+', 'b') . '>', 'a b'));
    }
    echo $wrong ? implode(', ', $wrong) : 'right';
})) {
}
--HOWDAH--
show exit
option concurrency 8
worker {ROOT}/test.php
var QUERY_STRING how=callback
push callback1
var QUERY_STRING how=encoding
push encoding1
var QUERY_STRING how=callback
push callback2
var QUERY_STRING how=options
push options
var QUERY_STRING how=search&letter=a
push search1
var QUERY_STRING how=search&letter=b
push search2
var QUERY_STRING how=siblings
push siblings
await encoding1
var QUERY_STRING how=encoding
push encoding2
await encoding2
var QUERY_STRING how=encoding
push encoding3
await all
var QUERY_STRING how=search&letter=c
push search3
await all
stop
--EXPECTREGEX--
(?:\w+\d?: right\n){10}\[worker exited with status 0\]
