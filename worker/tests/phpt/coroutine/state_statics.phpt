--TEST--
Coroutines: static properties and static variables are the request's own, objects in them are shared
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

class Base
{
    public static int $number = 1;
    public static array $list = ['boot'];
    public static ?string $nothing = null;
    public static string $expression = self::class . '!';
    public static stdClass $object;

    public static function count(): int
    {
        static $calls = 0;
        return ++$calls;
    }
}

class Child extends Base
{
    public static array $own = [];
}

trait Counts
{
    private static int $property = 0;

    public static function both(): string
    {
        static $variable = 0;
        return ++$variable . ++self::$property;
    }
}

class First
{
    use Counts;
}

class Second
{
    use Counts;
}

function calls(): int
{
    static $calls = 0;
    return ++$calls;
}

function never(): array
{
    static $list = [];
    $list[] = count($list);
    return $list;
}

Base::$object = new stdClass();
Base::$list[] = 'more';
Base::count();
calls();
$reference = &Base::$number;
$closure = function () {
    static $calls = 0;
    return ++$calls;
};
$closure();
$captured = 0;
$capturing = function () use (&$captured) {
    return ++$captured;
};

function change(string $me): void
{
    Base::$number = ord($me[0]);
    Base::$list[] = $me;
    Child::$list['child'] = $me;
    Base::$nothing = $me;
    Child::$own = [$me];
    Base::$expression .= $me;
    Base::$object->seen = ($me < ($seen = Base::$object->seen ?? 'z')) ? $me : $seen;
    Base::count();
    calls();
    never();
    First::both();
    require_once __DIR__ . '/later.inc';
    Later::$values[] = $me;
    Later::count();
    later();
}

function show(Closure $closure): string
{
    return json_encode([
        Base::$number, $GLOBALS['reference'], Child::$list, Base::$nothing, Child::$own, Base::$expression, Base::$object,
        Base::count(), Child::count(), calls(), never(), First::both(), Second::both(), $closure(),
        class_exists('Later', false) ? [Later::$values, Later::$expression, Later::count(), later()] : null,
    ]);
}

$place = new stdClass();
while (frankenphp_handle_request(function () use ($place, $closure, $capturing) {
    $me = $_GET['me'];
    if ($me !== 'plain') {
        change($me);
    }
    $count = $me === 'alone' ? 1 : 3;
    meet($count, $place);
    echo show($closure), "\n";
    meet($count, $place);
    echo show($closure), "\n";
    $capturing();
    if ($me === 'alone') {
        echo $capturing(), "\n";
    }
})) {
    Base::$list[] = 'loop';
}
--FILE later.inc--
<?php
class Later
{
    public static array $values = ['later'];
    public static int $expression = PHP_INT_SIZE * 2;

    public static function count(): int
    {
        static $calls = 0;
        return ++$calls;
    }
}

function later(): int
{
    static $calls = 10;
    return ++$calls;
}
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
var QUERY_STRING me=alone
run
--EXPECT--
plain: [1,1,["boot","more"],null,[],"Base!",{"seen":"a"},2,3,2,[0],"11","11",2,[["later"],16,1,11]]
[1,1,["boot","more"],null,[],"Base!",{"seen":"a"},4,5,3,[0,1],"22","22",3,[["later"],16,2,12]]

a: [97,1,{"0":"boot","1":"more","2":"a","child":"a"},"a",["a"],"Base!a",{"seen":"a"},3,4,3,[0,1],"22","11",2,[["later","a"],16,2,12]]
[97,1,{"0":"boot","1":"more","2":"a","child":"a"},"a",["a"],"Base!a",{"seen":"a"},5,6,4,[0,1,2],"33","22",3,[["later","a"],16,3,13]]

b: [98,1,{"0":"boot","1":"more","2":"b","child":"b"},"b",["b"],"Base!b",{"seen":"a"},3,4,3,[0,1],"22","11",2,[["later","b"],16,2,12]]
[98,1,{"0":"boot","1":"more","2":"b","child":"b"},"b",["b"],"Base!b",{"seen":"a"},5,6,4,[0,1,2],"33","22",3,[["later","b"],16,3,13]]

b2: [98,1,{"0":"boot","1":"more","2":"b","child":"b"},"b",["b"],"Base!b",{"seen":"a"},3,4,3,[0,1],"22","11",2,[["later","b"],16,2,12]]
[98,1,{"0":"boot","1":"more","2":"b","child":"b"},"b",["b"],"Base!b",{"seen":"a"},5,6,4,[0,1,2],"33","22",3,[["later","b"],16,3,13]]

plain2: [1,1,["boot","more"],null,[],"Base!",{"seen":"a"},2,3,2,[0],"11","11",2,[["later"],16,1,11]]
[1,1,["boot","more"],null,[],"Base!",{"seen":"a"},4,5,3,[0,1],"22","22",3,[["later"],16,2,12]]

plain3: [1,1,["boot","more"],null,[],"Base!",{"seen":"a"},2,3,2,[0],"11","11",2,[["later"],16,1,11]]
[1,1,["boot","more"],null,[],"Base!",{"seen":"a"},4,5,3,[0,1],"22","22",3,[["later"],16,2,12]]

[97,1,{"0":"boot","1":"more","2":"alone","child":"alone"},"alone",["alone"],"Base!alone",{"seen":"a"},3,4,3,[0,1],"22","11",2,[["later","alone"],16,2,12]]
[97,1,{"0":"boot","1":"more","2":"alone","child":"alone"},"alone",["alone"],"Base!alone",{"seen":"a"},5,6,4,[0,1,2],"33","22",3,[["later","alone"],16,3,13]]
8
