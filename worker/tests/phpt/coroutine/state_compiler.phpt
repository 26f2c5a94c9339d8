--TEST--
Coroutines: the compiler and its scanner are one request's, though PHP code runs in between: eval() with an error handler, highlight_string() into a buffer with a callback
--FILE--
<?php
function wait_within(): void {
    usleep(1000);
}
$ways = [
    'eval' => static function (int $me): string {
        set_error_handler(static function (): bool {
            wait_within();
            return true;
        });
        $function = "made_$me";
        return eval("function $function(\$first = 1, \$of_$me) { return \"\${first} $me \" . \$of_$me; } return $function(2, $me);");
    },
    'highlight' => static function (int $me): string {
        $text = '';
        ob_start(static function (string $part) use (&$text): string {
            $text .= $part;
            wait_within();
            return '';
        }, 1);
        highlight_string("<?php echo 'of $me', \$of_$me;");
        ob_end_clean();
        return str_replace(["\u{a0}", '&nbsp;'], ' ', strip_tags($text));
    },
];
$expected = [
    'eval' => static fn (int $me): string => "2 $me $me",
    'highlight' => static fn (int $me): string => "<?php echo 'of $me', \$of_$me;",
];
while (frankenphp_handle_request(static function () use ($ways, $expected) {
    ['me' => $me, 'way' => $way] = $_GET;
    $got = trim(html_entity_decode($ways[$way]((int) $me)));
    echo $got === $expected[$way]((int) $me) ? 'right' : $got;
})) {
}
--HOWDAH--
show exit
option concurrency 8
worker {ROOT}/test.php
var QUERY_STRING way=eval&me=1
push r1
var QUERY_STRING way=eval&me=2
push r2
var QUERY_STRING way=eval&me=3
push r3
await all
var QUERY_STRING way=highlight&me=4
push r4
var QUERY_STRING way=highlight&me=5
push r5
var QUERY_STRING way=highlight&me=6
push r6
await all
stop
--EXPECTREGEX--
(r[123]: right\n){3}(r[456]: right\n){3}\[worker exited with status 0\]
