--TEST--
Coroutines: lists, heaps, arrays and storages of PHP stay whole when requests use them while one is in the midst of it
--FILE--
<?php
/** Waits for the other request. */
function wait_for(stdClass $shared, string $what): void
{
    for ($i = 0; $i < 20000 && !isset($shared->$what); $i++) {
        usleep(100);
    }
}

final class Value implements JsonSerializable
{
    public function __construct(public string $name, private string $waits = '')
    {
    }

    private function wait(string $for): void
    {
        if ($this->waits === $for) {
            $GLOBALS['shared']->inside = true;
            wait_for($GLOBALS['shared'], 'other');
            usleep(2000); // the other one now waits, if it has to
        }
    }

    public function __destruct()
    {
        if (PHP_VERSION_ID < 80400 && $this->waits === 'destruct') {
            $GLOBALS['shared']->inside = true; // no destructor gives up the thread
        } else {
            $this->wait('destruct');
        }
    }

    public function __debugInfo(): array
    {
        $this->wait('dump');
        return ['name' => $this->name];
    }

    public function jsonSerialize(): string
    {
        $this->wait('json');
        return $this->name;
    }
}

final class Heap extends SplMinHeap
{
    protected function compare(mixed $a, mixed $b): int
    {
        usleep(500);
        return $b <=> $a;
    }
}

function dump(mixed $value): string
{
    return preg_replace('/\s+/', ' ', print_r($value, true));
}

function fill(stdClass $shared): void
{
    unset($shared->inside, $shared->other);
    $shared->list = new SplDoublyLinkedList();
    $shared->heap = new Heap();
    $shared->fixed = new SplFixedArray(2);
    $shared->array = new ArrayObject();
    $shared->storage = new SplObjectStorage();
    $shared->keys = [new Value('first', 'dump'), new Value('second')];
    foreach (['a', 'b', 'c', 'd'] as $i => $name) {
        $shared->list->push($name);
        $shared->heap->insert($i);
    }
    $shared->fixed[0] = $shared->array['0'] = new Value('first', $_GET['do'] === 'json' ? 'json' : 'dump');
    $shared->fixed[1] = $shared->array['1'] = new Value('second');
    foreach ($shared->keys as $key) {
        $shared->storage[$key] = 1;
    }
    if (in_array($_GET['do'], ['array', 'encode', 'cast', 'property', 'unset'], true)) {
        $old = ['k' => [new Value('old', 'destruct'), 'of old']];
        $shared->dropped = new ArrayObject($old, ArrayObject::ARRAY_AS_PROPS);
    }
}

function first(stdClass $shared): string
{
    switch ($_GET['do']) {
        case 'list':
            foreach ($shared->list as $name) {
                $found[] = $name;
                $shared->inside = true;
                wait_for($shared, 'other');
            }
            return implode(' ', $found);
        case 'own':
            foreach ($shared->list as $i => $name) {
                $found[] = $name;
                $shared->list->offsetUnset(0);
                usleep(200);
            }
            // PHP 8.4 ends a loop whose own element was removed.
            return implode(' ', $found) === (PHP_VERSION_ID < 80400 ? 'a b c d' : 'a') ? 'as in PHP' : 'differs';
        case 'heap':
            foreach ($shared->heap as $number) {
                $found[] = $number;
                $shared->inside = true;
            }
            return implode(' ', array_slice($found, 0, 4));
        case 'array':
        case 'encode':
        case 'cast':
            $shared->dropped['k'] = 'new';
            return 'replaced';
        case 'property':
            $shared->dropped->k = 'new';
            return 'replaced';
        case 'unset':
            unset($shared->dropped->k);
            return 'removed';
        case 'json':
            return json_encode($shared->array);
        case 'dump':
            return dump($shared->array);
        case 'fixed':
            return dump($shared->fixed);
        case 'storage':
            return dump($shared->storage);
    }
}

function second(stdClass $shared): string
{
    wait_for($shared, 'inside');
    $shared->other = true;
    switch ($_GET['do']) {
        case 'list':
            $shared->list->offsetUnset(0);
            $shared->list->offsetUnset(0);
            $shared->reuse = [str_repeat('x', 7), str_repeat('y', 7), str_repeat('z', 7)];
            return implode(' ', iterator_to_array($shared->list));
        case 'heap':
            $shared->heap->insert(9);
            return 'inserted';
        case 'array':
            $value = $shared->dropped['k'];
            foreach ($shared->dropped as $each) {
                $value .= $each;
            }
            return $value;
        case 'encode':
            return json_encode($shared->dropped);
        case 'cast':
            return dump((array) $shared->dropped);
        case 'property':
            return json_encode([isset($shared->dropped->k), $shared->dropped->k]);
        case 'unset':
            return json_encode([isset($shared->dropped->k), count((array) $shared->dropped)]);
        case 'json':
        case 'dump':
        case 'fixed':
            unset($shared->array['1']);
            for ($i = 0; $i < 100; $i++) {
                $shared->array[] = new Value("other $i");
            }
            $shared->fixed[1] = new Value('other');
            return strlen(dump($shared->fixed)) . ' ' . count($shared->array);
        case 'storage':
            unset($shared->storage[$shared->keys[1]], $shared->keys[1]);
            $shared->reuse = array_map(fn ($i) => new Value('other'), range(1, 20));
            return (string) count($shared->storage);
    }
}

$shared = new stdClass();
while (frankenphp_handle_request(static function () use ($shared) {
    $GLOBALS['shared'] = $shared;
    if ($_GET['n'] === '1') {
        fill($shared);
    }
    try {
        echo $_GET['n'] === '1' ? first($shared) : second($shared);
    } catch (Throwable $error) {
        echo get_class($error), ': ', $error->getMessage();
    }
})) {
}
--HOWDAH--
show exit
option concurrency 4
worker {ROOT}/test.php
var QUERY_STRING do=list&n=1
push list1
var QUERY_STRING do=list&n=2
push list2
await list1
await list2
var QUERY_STRING do=own&n=1
run
var QUERY_STRING do=heap&n=1
push heap1
var QUERY_STRING do=heap&n=2
push heap2
await heap1
await heap2
var QUERY_STRING do=array&n=1
push array1
var QUERY_STRING do=array&n=2
push array2
await array1
await array2
var QUERY_STRING do=encode&n=1
push encode1
var QUERY_STRING do=encode&n=2
push encode2
await encode1
await encode2
var QUERY_STRING do=cast&n=1
push cast1
var QUERY_STRING do=cast&n=2
push cast2
await cast1
await cast2
var QUERY_STRING do=property&n=1
push property1
var QUERY_STRING do=property&n=2
push property2
await property1
await property2
var QUERY_STRING do=unset&n=1
push unset1
var QUERY_STRING do=unset&n=2
push unset2
await unset1
await unset2
var QUERY_STRING do=json&n=1
push json1
var QUERY_STRING do=json&n=2
push json2
await json1
await json2
var QUERY_STRING do=dump&n=1
push dump1
var QUERY_STRING do=dump&n=2
push dump2
await dump1
await dump2
var QUERY_STRING do=fixed&n=1
push fixed1
var QUERY_STRING do=fixed&n=2
push fixed2
await fixed1
await fixed2
var QUERY_STRING do=storage&n=1
push storage1
var QUERY_STRING do=storage&n=2
push storage2
await storage1
await storage2
stop
--EXPECT--
list1: a
list2: c d
as in PHP
heap1: 0 1 2 3
heap2: inserted
array1: replaced
array2: newnew
encode1: replaced
encode2: {"k":"new"}
cast1: replaced
cast2: Array ( [k] => new ) 
property1: replaced
property2: [true,"new"]
unset1: removed
unset2: [false,0]
json1: {"0":"first","1":"second"}
json2: 105 101
dump1: ArrayObject Object ( [storage:ArrayObject:private] => Array ( [0] => Value Object ( [name] => first ) [1] => Value Object ( [name] => second ) ) ) 
dump2: 105 101
fixed1: SplFixedArray Object ( [0] => Value Object ( [name] => first ) [1] => Value Object ( [name] => second ) ) 
fixed2: 105 101
storage1: SplObjectStorage Object ( [storage:SplObjectStorage:private] => Array ( [0] => Array ( [obj] => Value Object ( [name] => first ) [inf] => 1 ) [1] => Array ( [obj] => Value Object ( [name] => second ) [inf] => 1 ) ) ) 
storage2: 1
[worker exited with status 0]
