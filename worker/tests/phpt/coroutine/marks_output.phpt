--TEST--
Coroutines: marks against recursion are those of the request also where its output or its error handler waits
--FILE--
<?php
final class Pair
{
    public function __construct(public mixed $one, public mixed $two)
    {
    }
}

final class Sleeps
{
    public mixed $list;

    public function __sleep(): array
    {
        return ['list', 'none'];
    }
}

/** Waits until another request has looked at the objects. Those are shared, as objects are. */
function hold(stdClass $place): void
{
    if (!in_array($_GET['do'], $place->held)) {
        $place->held[] = $_GET['do'];
        $place->holds = true;
        while ($place->holds) {
            usleep(200);
        }
    }
}

function quietly(Closure $run): string
{
    ob_start();
    $run();
    return ob_get_clean();
}

$place = new stdClass();
$place->held = [];
$place->holds = false;
$lines = [];
for ($i = 0; $i < 3000; $i++) {
    $lines[] = sprintf('%099d', $i);
}
$long = new Pair($lines, null);
$list = [[1], [[2]]];
$tree = new Pair(new Pair($list, 'text'), (object) ['list' => $list]);
$odd = new Pair(new Pair($list, new stdClass()), 1);
$even = new Pair(new Pair($list, 1), 1);
$round = new Pair($list, null);
$round->two = new Pair($round, $list);
$sleeps = new Sleeps();
$sleeps->list = [new Pair($list, null)];
$looks = [
    'dump' => static fn () => var_dump($tree, $odd, $even, $round, $sleeps),
    'json' => static fn () => print(json_encode([$tree, $odd, $even, $sleeps])),
    'print' => static fn () => print(print_r([$tree, $odd, $even, $round, $sleeps], true)),
    'serialize' => static fn () => print(@serialize([$tree, $odd, $even, $round, $sleeps])),
    'compare' => static fn () => print(json_encode([@($odd == $even), @($tree == $even), @in_array($odd, [$even])])),
    'long' => static fn () => print(json_encode($long)),
];
$alone = array_map(quietly(...), $looks);
$ways = [
    'dump' => static fn () => var_dump($tree),
    'zval_dump' => static fn () => debug_zval_dump($tree),
    'equal' => static fn () => $odd == $even,
    'less' => static fn () => $odd < $even,
    'in_array' => static fn () => in_array($odd, [$even]),
    'max' => static fn () => max($odd, $even),
    'sort' => static function () use ($odd, $even): void {
        $both = [$odd, $even];
        sort($both);
    },
    'export' => static fn () => var_export($round, true),
    'serialize' => static fn () => serialize($sleeps),
];
while (frankenphp_handle_request(static function () use ($place, $long, $looks, $alone, $ways): void {
    switch ($_GET['do']) {
        case 'long':
            echo 'begin ';
            flush();
            var_dump($long);
            break;
        case 'look':
            if (isset($_GET['held']) && !$place->holds) {
                echo 'nobody waits ';
            }
            foreach ($looks as $name => $look) {
                if (quietly($look) !== $alone[$name]) {
                    echo "$name is wrong ";
                }
            }
            $place->holds = false;
            echo 'looked';
            break;
        default:
            set_error_handler(static function () use ($place): bool {
                hold($place);
                return true;
            });
            ob_start(static function () use ($place): string {
                hold($place);
                return '';
            }, 1);
            $ways[$_GET['do']]();
            ob_end_clean();
            echo 'done';
    }
})) {
}
--INI--
output_buffering=0
--HOWDAH--
worker {ROOT}/test.php
option concurrency 4
var QUERY_STRING do=dump
push dump
var QUERY_STRING do=look&held=1
push look-dump
await look-dump
await dump
var QUERY_STRING do=zval_dump
push zval_dump
var QUERY_STRING do=look&held=1
push look-zval_dump
await look-zval_dump
await zval_dump
var QUERY_STRING do=equal
push equal
var QUERY_STRING do=look&held=1
push look-equal
await look-equal
await equal
var QUERY_STRING do=less
push less
var QUERY_STRING do=look&held=1
push look-less
await look-less
await less
var QUERY_STRING do=in_array
push in_array
var QUERY_STRING do=look&held=1
push look-in_array
await look-in_array
await in_array
var QUERY_STRING do=max
push max
var QUERY_STRING do=look&held=1
push look-max
await look-max
await max
var QUERY_STRING do=sort
push sort
var QUERY_STRING do=look&held=1
push look-sort
await look-sort
await sort
var QUERY_STRING do=export
push export
var QUERY_STRING do=look&held=1
push look-export
await look-export
await export
var QUERY_STRING do=serialize
push serialize
var QUERY_STRING do=look&held=1
push look-serialize
await look-serialize
await serialize
var QUERY_STRING do=long
push long
await-body long begin
stall long
var QUERY_STRING do=look
push look
await look
read long
await long
--EXPECTREGEX--
look-dump: looked
dump: done
look-zval_dump: looked
zval_dump: done
look-equal: looked
equal: done
look-less: looked
less: done
look-in_array: looked
in_array: done
look-max: looked
max: done
look-sort: looked
sort: done
look-export: looked
export: done
look-serialize: looked
serialize: done
look: looked
long: begin object\(Pair\)#\d+ \(2\) \{
  \["one"\]=>
  array\(3000\) \{
.*
    \[2999\]=>
    string\(99\) "0{95}2999"
  \}
  \["two"\]=>
  NULL
\}
