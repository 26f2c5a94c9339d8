--TEST--
Coroutines: state that PHP stores once per process between calls is private to a request: comparisons of array_multisort(), characters of mb_output_handler()
--SKIPIF--
<?php
if (!extension_loaded('mbstring')) {
    echo 'skip mbstring is not loaded';
}
--FILE--
<?php
final class Word {
    public function __construct(public readonly string $text) {}
    public function __toString(): string {
        usleep(300);
        return $this->text;
    }
}
$ways = [
    'sort' => static function (int $me): string {
        $words = array_map(static fn (int $n) => new Word((string) $n), [3, 1, 2, $me]);
        $more = [1, 2, 3, 4];
        $me % 2 ? array_multisort($words, SORT_ASC, SORT_STRING) : array_multisort($words, SORT_DESC, SORT_STRING, $more, SORT_NUMERIC);
        return implode(array_map(static fn (Word $word) => $word->text, $words));
    },
    'encoding' => static function (int $me): string {
        mb_http_output($me % 2 ? 'SJIS' : 'EUC-JP');
        ob_start();
        ob_start('mb_output_handler', 1);
        foreach (mb_str_split('あいう') as $character) {
            echo $character;
            usleep(1000);
        }
        ob_end_flush();
        return mb_convert_encoding(ob_get_clean(), 'UTF-8', $me % 2 ? 'SJIS' : 'EUC-JP');
    },
];
while (frankenphp_handle_request(static function () use ($ways) {
    ['me' => $me, 'way' => $way] = $_GET;
    header('Content-Type: text/html');
    $got = $ways[$way]((int) $me);
    $expected = $way === 'sort' ? [1 => '1123', 2 => '3221', 3 => '1233', 4 => '4321'][$me] : 'あいう';
    echo $got === $expected ? 'right' : $got;
})) {
}
--HOWDAH--
show exit
option concurrency 8
worker {ROOT}/test.php
var QUERY_STRING way=sort&me=1
push r1
var QUERY_STRING way=sort&me=2
push r2
var QUERY_STRING way=sort&me=3
push r3
var QUERY_STRING way=sort&me=4
push r4
await all
var QUERY_STRING way=encoding&me=1
push r5
var QUERY_STRING way=encoding&me=2
push r6
var QUERY_STRING way=encoding&me=3
push r7
await all
stop
--EXPECTREGEX--
(r[1234]: right\n){4}(r[567]: right\n){3}\[worker exited with status 0\]
