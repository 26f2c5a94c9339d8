--TEST--
Coroutines: an object whose method PHP calls stays until that has returned, also where another request replaces it
--FILE--
<?php
final class Place
{
    public mixed $value = null;
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
    public array $list = [[1], [2]];
    private bool $waited = false;

    public function __construct(private Place $place, private string $name)
    {
    }

    protected function say(): string
    {
        if (!$this->waited) {
            $this->waited = true;
            $this->place->replaced();
        }
        return $this->name . count($this->list);
    }

    public function __destruct()
    {
        $this->name = 'destructed';
    }
}

final class Json extends Value implements JsonSerializable
{
    public function jsonSerialize(): mixed
    {
        return $this->say();
    }
}

final class Sleeps extends Value
{
    public string $said = '';

    public function __sleep(): array
    {
        $this->said = $this->say();
        return ['said', 'list'];
    }
}

final class Serializes extends Value
{
    public function __serialize(): array
    {
        return [$this->say()];
    }
}

final class Shows extends Value
{
    public function __debugInfo(): array
    {
        return [$this->say()];
    }
}

final class Text extends Value
{
    public function __toString(): string
    {
        return $this->say();
    }
}

final class Access extends Value implements ArrayAccess, Countable, IteratorAggregate
{
    public function offsetGet(mixed $offset): mixed
    {
        return $this->say();
    }

    public function offsetExists(mixed $offset): bool
    {
        return $this->say() !== '';
    }

    public function offsetSet(mixed $offset, mixed $value): void
    {
        echo $this->say();
    }

    public function offsetUnset(mixed $offset): void
    {
        echo $this->say();
    }

    public function count(): int
    {
        return strlen($this->say());
    }

    public function getIterator(): Iterator
    {
        return new ArrayIterator([$this->say()]);
    }

    public function __get(string $name): mixed
    {
        return $this->say();
    }

    public function __isset(string $name): bool
    {
        return $this->say() !== '';
    }

    public function __call(string $name, array $arguments): string
    {
        return $this->say();
    }

    public function __invoke(): string
    {
        return $this->say();
    }
}

final class Each extends Value implements Iterator
{
    private bool $over = false;

    public function current(): mixed
    {
        return $this->say();
    }

    public function key(): mixed
    {
        return 0;
    }

    public function next(): void
    {
        $this->over = true;
    }

    public function rewind(): void
    {
    }

    public function valid(): bool
    {
        return !$this->over;
    }
}

function shown(Closure $run): string
{
    ob_start();
    $run();
    return ob_get_clean();
}

$place = new Place();
$other = new Place();
$ways = [
    'json' => [Json::class, static fn () => json_encode($place)],
    'sleep' => [Sleeps::class, static fn () => serialize($place)],
    'serialize' => [Serializes::class, static fn () => serialize($place)],
    'dump' => [Shows::class, static fn () => shown(static fn () => var_dump($place))],
    'zval' => [Shows::class, static fn () => shown(static fn () => debug_zval_dump($place))],
    'print' => [Shows::class, static fn () => print_r($place, true)],
    'string' => [Text::class, static fn () => (string) $place->value],
    'concat' => [Text::class, static fn () => "-$place->value-"],
    'compare' => [Text::class, static fn () => json_encode($place->value == 'Text2')],
    'implode' => [Text::class, static fn () => implode(',', get_object_vars($place))],
    'get' => [Access::class, static fn () => $place->value['a']],
    'isset' => [Access::class, static fn () => json_encode(isset($place->value['a']))],
    'empty' => [Access::class, static fn () => json_encode(empty($place->value['a']))],
    'set' => [Access::class, static fn () => $place->value['a'] = 'set'],
    'unset' => [Access::class, static function () use ($place): void {
        unset($place->value['a']);
    }],
    'count' => [Access::class, static fn () => count($place->value)],
    'iterator' => [Access::class, static function () use ($place): void {
        foreach ($place->value as $value) {
            echo $value;
        }
    }],
    'each' => [Each::class, static function () use ($place): void {
        foreach ($place->value as $value) {
            echo $value;
        }
    }],
    'property' => [Access::class, static fn () => $place->value->a],
    'property-is' => [Access::class, static fn () => json_encode(isset($place->value->a))],
    'call' => [Access::class, static fn () => $place->value->a()],
    'invoke' => [Access::class, static fn () => ($place->value)()],
    'array_map' => [Access::class, static fn () => implode(array_map($place->value, [1]))],
    'column' => [Access::class, static fn () => implode(array_column([$place->value], 'a'))],
];
while (frankenphp_handle_request(static function () use ($place, $other, $ways): void {
    if ($_GET['do'] === 'move') {
        $other->value = $place->value;
    }
    if ($_GET['do'] === 'moved') {
        echo substr_count(shown(static fn () => var_dump($other)), 'RECURSION'), ' marks left';
        return;
    }
    if ($_GET['do'] === 'replace' || $_GET['do'] === 'move') {
        echo $place->waits ? 'replaced' : 'nobody waits';
        $class = get_class($place->value);
        $place->value = new $class($place, 'other');
        $place->waits = false;
        return;
    }
    [$class, $way] = $ways[$_GET['do']];
    $place->value = new $class($place, $class);
    echo preg_replace('/#\d+|[\s\0]|refcount\(\d+\)/', '', (string) $way());
})) {
}
--HOWDAH--
worker {ROOT}/test.php
option concurrency 4
var QUERY_STRING do=json
push json
var QUERY_STRING do=replace
run
await json
var QUERY_STRING do=sleep
push sleep
var QUERY_STRING do=replace
run
await sleep
var QUERY_STRING do=serialize
push serialize
var QUERY_STRING do=replace
run
await serialize
var QUERY_STRING do=dump
push dump
var QUERY_STRING do=replace
run
await dump
var QUERY_STRING do=zval
push zval
var QUERY_STRING do=replace
run
await zval
var QUERY_STRING do=print
push print
var QUERY_STRING do=replace
run
await print
var QUERY_STRING do=string
push string
var QUERY_STRING do=replace
run
await string
var QUERY_STRING do=concat
push concat
var QUERY_STRING do=replace
run
await concat
var QUERY_STRING do=compare
push compare
var QUERY_STRING do=replace
run
await compare
var QUERY_STRING do=implode
push implode
var QUERY_STRING do=replace
run
await implode
var QUERY_STRING do=get
push get
var QUERY_STRING do=replace
run
await get
var QUERY_STRING do=isset
push isset
var QUERY_STRING do=replace
run
await isset
var QUERY_STRING do=empty
push empty
var QUERY_STRING do=replace
run
await empty
var QUERY_STRING do=set
push set
var QUERY_STRING do=replace
run
await set
var QUERY_STRING do=unset
push unset
var QUERY_STRING do=replace
run
await unset
var QUERY_STRING do=count
push count
var QUERY_STRING do=replace
run
await count
var QUERY_STRING do=iterator
push iterator
var QUERY_STRING do=replace
run
await iterator
var QUERY_STRING do=each
push each
var QUERY_STRING do=replace
run
await each
var QUERY_STRING do=property
push property
var QUERY_STRING do=replace
run
await property
var QUERY_STRING do=property-is
push property-is
var QUERY_STRING do=replace
run
await property-is
var QUERY_STRING do=call
push call
var QUERY_STRING do=replace
run
await call
var QUERY_STRING do=invoke
push invoke
var QUERY_STRING do=replace
run
await invoke
var QUERY_STRING do=array_map
push array_map
var QUERY_STRING do=replace
run
await array_map
var QUERY_STRING do=column
push column
var QUERY_STRING do=replace
run
await column
var QUERY_STRING do=dump
push moves
var QUERY_STRING do=move
run
await moves
var QUERY_STRING do=moved
run
--EXPECT--
replaced
json: {"value":"Json2","waits":false}
replaced
sleep: O:5:"Place":2:{s:5:"value";O:6:"Sleeps":2:{s:4:"said";s:7:"Sleeps2";s:4:"list";a:2:{i:0;a:1:{i:0;i:1;}i:1;a:1:{i:0;i:2;}}}s:5:"waits";b:0;}
replaced
serialize: O:5:"Place":2:{s:5:"value";O:10:"Serializes":1:{i:0;s:11:"Serializes2";}s:5:"waits";b:0;}
replaced
dump: object(Place)(2){["value"]=>object(Shows)(1){[0]=>string(6)"Shows2"}["waits"]=>bool(false)}
replaced
zval: object(Place)(2){["value"]=>object(Shows)(1){[0]=>string(6)"Shows2"}["waits"]=>bool(false)}
replaced
print: PlaceObject([value]=>ShowsObject([0]=>Shows2)[waits]=>)
replaced
string: Text2
replaced
concat: -Text2-
replaced
compare: true
replaced
implode: Text2,
replaced
get: Access2
replaced
isset: true
replaced
empty: false
replaced
set: Access2set
replaced
unset: Access2
replaced
count: 7
replaced
iterator: Access2
replaced
each: Each2
replaced
property: Access2
replaced
property-is: true
replaced
call: Access2
replaced
invoke: Access2
replaced
array_map: Access2
replaced
column: Access2
replaced
moves: object(Place)(2){["value"]=>object(Shows)(1){[0]=>string(6)"Shows2"}["waits"]=>bool(false)}
0 marks left
