--TEST--
Coroutines: a value that PHP shows or encodes while another request writes something else in its place
--FILE--
<?php
final class Place
{
    public mixed $value = null;
    public mixed $next = 'next';
    public bool $waits = false;

    /** Waits until another request has replaced the value. */
    public function replaced(): void
    {
        $this->waits = true;
        while ($this->waits) {
            usleep(200);
        }
    }
}

abstract class Value
{
    public string $said = '';

    public function __construct(private Place $place)
    {
    }

    protected function say(): string
    {
        if ($this->said === '') {
            $this->said = 'said';
            $this->place->replaced();
        }
        return $this->said;
    }

    public function __destruct()
    {
        $this->said = 'destructed';
    }
}

final class Shows extends Value
{
    public function __debugInfo(): array
    {
        return [$this->say()];
    }
}

final class Twice extends Value
{
    private int $times = 0;

    /** Waits once more, when the value has been replaced already. */
    public function __debugInfo(): array
    {
        $said = $this->say();
        usleep(200);
        return [$said];
    }
}

final class Json extends Value implements JsonSerializable
{
    public function jsonSerialize(): mixed
    {
        return $this->say();
    }
}

final class Itself extends Value implements JsonSerializable
{
    public function jsonSerialize(): mixed
    {
        $this->say();
        return $this;
    }
}

final class Text extends Value
{
    public function __toString(): string
    {
        return $this->say();
    }
}

function shown(Closure $run): string
{
    ob_start();
    $run();
    return ob_get_clean();
}

$place = new Place();
$dump = static fn () => shown(static fn () => var_dump($place));
$zval = static fn () => shown(static fn () => debug_zval_dump($place));
$print = static fn () => print_r($place, true);
$json = static fn () => json_encode($place) ?: json_last_error_msg();
$compare = static function () use ($place): string {
    $same = new Place();
    $same->value = (object) ['a' => 'said'];
    return json_encode($place == $same);
};
$ways = [
    'dump' => [Shows::class, $dump],
    'zval' => [Shows::class, $zval],
    'print' => [Shows::class, $print],
    'dump-twice' => [Twice::class, $dump],
    'print-twice' => [Twice::class, $print],
    'json' => [Json::class, $json],
    'itself' => [Itself::class, $json],
    'compare' => [Text::class, $compare],
];
/* Where the object is. */
$puts = [
    'property' => static function (Value $value) use ($place): void {
        $place->value = $value;
    },
    'reference' => static function (Value $value) use ($place): void {
        $place->value = &$GLOBALS['kept'];
        $place->value = $value;
    },
    'element' => static function (Value $value) use ($place): void {
        $place->value = [$value, 'last'];
    },
    'array' => static function (Value $value) use ($place): void {
        $place->value = &$GLOBALS['kept'];
        $place->value = ['a' => $value, 'b' => 'last'];
    },
    'object' => static function (Value $value) use ($place): void {
        $place->value = (object) ['a' => $value];
    },
];
$replacements = [
    'property' => static function () use ($place): void {
        $place->value = 5;
    },
    'reference' => static function () use ($place): void {
        $place->value = 5;
        unset($place->value);
    },
    'element' => static function () use ($place): void {
        $place->value = 5;
    },
    'array' => static function () use ($place): void {
        for ($i = 0; $i < 100; $i++) {
            $place->value["more $i"] = $i;
        }
        $place->value['a'] = 5;
        $place->value = 5;
    },
    'object' => static function () use ($place): void {
        $place->value->a = 5;
        $place->value = 5;
    },
];
while (frankenphp_handle_request(static function () use ($place, $ways, $puts, $replacements): void {
    [$way, $put] = explode(' ', $_GET['do']);
    if ($way === 'replace') {
        echo $place->waits ? 'replaced' : 'nobody waits';
        $replacements[$put]();
        $place->waits = false;
        return;
    }
    unset($place->value);
    [$class, $run] = $ways[$way];
    $puts[$put](new $class($place));
    $shown = preg_replace('/#\d+|[\s\0]|refcount\(\d+\)/', '', $run());
    usleep(200);
    echo $shown, ' ', json_encode($place->value ?? null), ' marks ', substr_count(print_r($place, true), 'RECURSION');
})) {
}
--HOWDAH--
worker {ROOT}/test.php
option concurrency 4
var QUERY_STRING do=dump+property
push dump-property
var QUERY_STRING do=replace+property
run
await dump-property
var QUERY_STRING do=zval+property
push zval-property
var QUERY_STRING do=replace+property
run
await zval-property
var QUERY_STRING do=print+property
push print-property
var QUERY_STRING do=replace+property
run
await print-property
var QUERY_STRING do=dump-twice+property
push dump-twice-property
var QUERY_STRING do=replace+property
run
await dump-twice-property
var QUERY_STRING do=print-twice+property
push print-twice-property
var QUERY_STRING do=replace+property
run
await print-twice-property
var QUERY_STRING do=json+property
push json-property
var QUERY_STRING do=replace+property
run
await json-property
var QUERY_STRING do=itself+property
push itself-property
var QUERY_STRING do=replace+property
run
await itself-property
var QUERY_STRING do=dump+reference
push dump-reference
var QUERY_STRING do=replace+reference
run
await dump-reference
var QUERY_STRING do=print+reference
push print-reference
var QUERY_STRING do=replace+reference
run
await print-reference
var QUERY_STRING do=dump-twice+reference
push dump-twice-reference
var QUERY_STRING do=replace+reference
run
await dump-twice-reference
var QUERY_STRING do=itself+reference
push itself-reference
var QUERY_STRING do=replace+reference
run
await itself-reference
var QUERY_STRING do=dump+element
push dump-element
var QUERY_STRING do=replace+element
run
await dump-element
var QUERY_STRING do=print+element
push print-element
var QUERY_STRING do=replace+element
run
await print-element
var QUERY_STRING do=print-twice+element
push print-twice-element
var QUERY_STRING do=replace+element
run
await print-twice-element
var QUERY_STRING do=dump+array
push dump-array
var QUERY_STRING do=replace+array
run
await dump-array
var QUERY_STRING do=print+array
push print-array
var QUERY_STRING do=replace+array
run
await print-array
var QUERY_STRING do=print-twice+array
push print-twice-array
var QUERY_STRING do=replace+array
run
await print-twice-array
var QUERY_STRING do=json+array
push json-array
var QUERY_STRING do=replace+array
run
await json-array
var QUERY_STRING do=dump+object
push dump-object
var QUERY_STRING do=replace+object
run
await dump-object
var QUERY_STRING do=print+object
push print-object
var QUERY_STRING do=replace+object
run
await print-object
var QUERY_STRING do=dump-twice+object
push dump-twice-object
var QUERY_STRING do=replace+object
run
await dump-twice-object
var QUERY_STRING do=json+object
push json-object
var QUERY_STRING do=replace+object
run
await json-object
var QUERY_STRING do=itself+object
push itself-object
var QUERY_STRING do=replace+object
run
await itself-object
var QUERY_STRING do=compare+object
push compare-object
var QUERY_STRING do=replace+object
run
await compare-object
--EXPECT--
replaced
dump-property: object(Place)(3){["value"]=>object(Shows)(1){[0]=>string(4)"said"}["next"]=>string(4)"next"["waits"]=>bool(false)} 5 marks 0
replaced
zval-property: object(Place)(3){["value"]=>object(Shows)(1){[0]=>string(4)"said"}["next"]=>string(4)"next"interned["waits"]=>bool(false)} 5 marks 0
replaced
print-property: PlaceObject([value]=>ShowsObject([0]=>said)[next]=>next[waits]=>) 5 marks 0
replaced
dump-twice-property: object(Place)(3){["value"]=>object(Twice)(1){[0]=>string(4)"said"}["next"]=>string(4)"next"["waits"]=>bool(false)} 5 marks 0
replaced
print-twice-property: PlaceObject([value]=>TwiceObject([0]=>said)[next]=>next[waits]=>) 5 marks 0
replaced
json-property: {"value":"said","next":"next","waits":false} 5 marks 0
replaced
itself-property: {"value":{"said":"said"},"next":"next","waits":false} 5 marks 0
replaced
dump-reference: object(Place)(3){["value"]=>&object(Shows)(1){[0]=>string(4)"said"}["next"]=>string(4)"next"["waits"]=>bool(false)} null marks 0
replaced
print-reference: PlaceObject([value]=>ShowsObject([0]=>said)[next]=>next[waits]=>) null marks 0
replaced
dump-twice-reference: object(Place)(3){["value"]=>&object(Twice)(1){[0]=>string(4)"said"}["next"]=>string(4)"next"["waits"]=>bool(false)} null marks 0
replaced
itself-reference: {"value":{"said":"said"},"next":"next","waits":false} null marks 0
replaced
dump-element: object(Place)(3){["value"]=>array(2){[0]=>object(Shows)(1){[0]=>string(4)"said"}[1]=>string(4)"last"}["next"]=>string(4)"next"["waits"]=>bool(false)} 5 marks 0
replaced
print-element: PlaceObject([value]=>Array([0]=>ShowsObject([0]=>said)[1]=>last)[next]=>next[waits]=>) 5 marks 0
replaced
print-twice-element: PlaceObject([value]=>Array([0]=>TwiceObject([0]=>said)[1]=>last)[next]=>next[waits]=>) 5 marks 0
replaced
dump-array: object(Place)(3){["value"]=>&array(2){["a"]=>object(Shows)(1){[0]=>string(4)"said"}["b"]=>string(4)"last"}["next"]=>string(4)"next"["waits"]=>bool(false)} 5 marks 0
replaced
print-array: PlaceObject([value]=>Array([a]=>ShowsObject([0]=>said)[b]=>last)[next]=>next[waits]=>) 5 marks 0
replaced
print-twice-array: PlaceObject([value]=>Array([a]=>TwiceObject([0]=>said)[b]=>last)[next]=>next[waits]=>) 5 marks 0
replaced
json-array: {"value":{"a":"said","b":"last"},"next":"next","waits":false} 5 marks 0
replaced
dump-object: object(Place)(3){["value"]=>object(stdClass)(1){["a"]=>object(Shows)(1){[0]=>string(4)"said"}}["next"]=>string(4)"next"["waits"]=>bool(false)} 5 marks 0
replaced
print-object: PlaceObject([value]=>stdClassObject([a]=>ShowsObject([0]=>said))[next]=>next[waits]=>) 5 marks 0
replaced
dump-twice-object: object(Place)(3){["value"]=>object(stdClass)(1){["a"]=>object(Twice)(1){[0]=>string(4)"said"}}["next"]=>string(4)"next"["waits"]=>bool(false)} 5 marks 0
replaced
json-object: {"value":{"a":"said"},"next":"next","waits":false} 5 marks 0
replaced
itself-object: {"value":{"a":{"said":"said"}},"next":"next","waits":false} 5 marks 0
replaced
compare-object: true 5 marks 0
