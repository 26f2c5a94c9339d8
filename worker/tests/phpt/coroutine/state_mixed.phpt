--TEST--
Coroutines: forty requests, twenty at a time, check all of their state again and again
--FILE--
<?php
final class Own
{
    public static array $list = [];
    public static ?string $name = null;

    public static function count(): int
    {
        static $count = 0;
        return ++$count;
    }
}

/** A value of the request that nobody else has, for each kind of state. */
function state(int $me, int $step): array
{
    return [
        'static' => [fn () => Own::$list = [$me, $step], fn () => Own::$list, [$me, $step]],
        'setting' => [fn () => ini_set('user_agent', "$me.$step"), fn () => ini_get('user_agent'), "$me.$step"],
        'precision' => [fn () => ini_set('precision', (string) ($me % 17 + 1)), fn () => ini_get('precision'), (string) ($me % 17 + 1)],
        'global' => [fn () => $GLOBALS['mine'] = "$me.$step", fn () => $GLOBALS['mine'], "$me.$step"],
        'superglobal' => [fn () => null, fn () => $_GET['me'], (string) $me],
        'environment' => [fn () => putenv("MINE=$me.$step"), fn () => getenv('MINE'), "$me.$step"],
        'umask' => [fn () => umask($me), fn () => umask(), $me],
        'directory' => [fn () => chdir(__DIR__ . '/' . $me % 3), fn () => basename(getcwd()), (string) ($me % 3)],
        'zone' => [fn () => date_default_timezone_set($me % 2 ? 'Asia/Tokyo' : 'UTC'), fn () => date_default_timezone_get(), $me % 2 ? 'Asia/Tokyo' : 'UTC'],
        'header' => [fn () => header("X-Mine: $me.$step"), fn () => headers_list(), ["X-Mine: $me.$step"]],
        'status' => [fn () => http_response_code(200 + $me), fn () => http_response_code(), 200 + $me],
        'json' => [fn () => json_decode($me % 2 ? '{' : '{}'), fn () => json_last_error(), $me % 2 ? JSON_ERROR_SYNTAX : JSON_ERROR_NONE],
        'tokens' => [fn () => strtok("$me $step", ' '), fn () => [strtok(' '), strtok("$me $step", ' ')][0], (string) $step],
        'buffer' => [fn () => [ob_get_clean(), ob_start(), print("$me.$step")], fn () => ob_get_contents(), "$me.$step"],
        'context' => [fn () => stream_context_set_default(['http' => ['user_agent' => "$me"]]), fn () => stream_context_get_options(stream_context_get_default())['http']['user_agent'], "$me"],
    ];
}

function check(int $me, int $step, array $state): int
{
    $wrong = 0;
    foreach ($state as $kind => [, $get, $expected]) {
        if (($got = $get()) !== $expected) {
            $wrong++;
            fprintf(STDERR, "%s of %d: %s\n", $kind, $me, json_encode($got));
        }
    }
    return $wrong;
}

function sorted(array $list, Closure $compare): array
{
    usort($list, $compare);
    return $list;
}

function numbers(int $count): Generator
{
    for ($i = 0; $i < $count; $i++) {
        usleep(10);
        yield $i;
    }
}

define('STDERR', fopen('php://stderr', 'w'));
foreach ([0, 1, 2] as $directory) {
    mkdir(__DIR__ . "/$directory");
}

while (frankenphp_handle_request(function () {
    $me = (int) $_GET['me'];
    set_error_handler(fn ($level, $message) => throw new ErrorException("$me: $message"));
    ob_start();
    $wrong = 0;
    for ($step = 0; $step < 25; $step++) {
        $state = state($me, $step);
        foreach ($state as [$set]) {
            $set();
        }
        match ($step % 4) {
            0 => usleep(($me * 7 + $step * 13) % 300),
            1 => (new Fiber(fn () => usleep(50)))->start(),
            2 => array_sum(iterator_to_array(numbers(2))),
            3 => sorted([3, 1, 2], fn ($a, $b) => [usleep(5), $a <=> $b][1]),
        };
        $wrong += check($me, $step, $state);
        try {
            trigger_error("step $step");
        } catch (ErrorException $exception) {
            $wrong += $exception->getMessage() === "$me: step $step" ? 0 : 1;
        }
        $wrong += Own::count() === $step + 1 ? 0 : 1;
    }
    ob_end_clean();
    echo $wrong ? "$wrong wrong" : 'all right';
    if ($me % 5 === 0) {
        exit;
    }
    if ($me % 7 === 0) {
        restore_error_handler();
        set_exception_handler(fn ($exception) => print(", {$exception->getMessage()}"));
        throw new Exception("thrown by $me");
    }
})) {
}
--HOWDAH--
worker {ROOT}/test.php
option concurrency 20
var QUERY_STRING me=1
push r1
var QUERY_STRING me=2
push r2
var QUERY_STRING me=3
push r3
var QUERY_STRING me=4
push r4
var QUERY_STRING me=5
push r5
var QUERY_STRING me=6
push r6
var QUERY_STRING me=7
push r7
var QUERY_STRING me=8
push r8
var QUERY_STRING me=9
push r9
var QUERY_STRING me=10
push r10
var QUERY_STRING me=11
push r11
var QUERY_STRING me=12
push r12
var QUERY_STRING me=13
push r13
var QUERY_STRING me=14
push r14
var QUERY_STRING me=15
push r15
var QUERY_STRING me=16
push r16
var QUERY_STRING me=17
push r17
var QUERY_STRING me=18
push r18
var QUERY_STRING me=19
push r19
var QUERY_STRING me=20
push r20
var QUERY_STRING me=21
push r21
var QUERY_STRING me=22
push r22
var QUERY_STRING me=23
push r23
var QUERY_STRING me=24
push r24
var QUERY_STRING me=25
push r25
var QUERY_STRING me=26
push r26
var QUERY_STRING me=27
push r27
var QUERY_STRING me=28
push r28
var QUERY_STRING me=29
push r29
var QUERY_STRING me=30
push r30
var QUERY_STRING me=31
push r31
var QUERY_STRING me=32
push r32
var QUERY_STRING me=33
push r33
var QUERY_STRING me=34
push r34
var QUERY_STRING me=35
push r35
var QUERY_STRING me=36
push r36
var QUERY_STRING me=37
push r37
var QUERY_STRING me=38
push r38
var QUERY_STRING me=39
push r39
var QUERY_STRING me=40
push r40
await r1
await r2
await r3
await r4
await r5
await r6
await r7
await r8
await r9
await r10
await r11
await r12
await r13
await r14
await r15
await r16
await r17
await r18
await r19
await r20
await r21
await r22
await r23
await r24
await r25
await r26
await r27
await r28
await r29
await r30
await r31
await r32
await r33
await r34
await r35
await r36
await r37
await r38
await r39
await r40
--EXPECT--
r1: all right
r2: all right
r3: all right
r4: all right
r5: all right
r6: all right
r7: all right, thrown by 7
r8: all right
r9: all right
r10: all right
r11: all right
r12: all right
r13: all right
r14: all right, thrown by 14
r15: all right
r16: all right
r17: all right
r18: all right
r19: all right
r20: all right
r21: all right, thrown by 21
r22: all right
r23: all right
r24: all right
r25: all right
r26: all right
r27: all right
r28: all right, thrown by 28
r29: all right
r30: all right
r31: all right
r32: all right
r33: all right
r34: all right
r35: all right
r36: all right
r37: all right
r38: all right
r39: all right
r40: all right
