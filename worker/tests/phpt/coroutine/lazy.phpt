--TEST--
Coroutines: a request that uses a lazy object which another one is initializing waits until it is complete
--SKIPIF--
<?php
if (PHP_VERSION_ID < 80400) {
    echo 'skip PHP has no lazy objects before 8.4';
}
--FILE--
<?php
class Service
{
    public string $name = 'default';
    protected array $list = [];
    public ?Service $other = null;

    public function fill(int $n): void
    {
        $this->name = "begun by $n";
        usleep(1000);
        $this->list[] = 1;
        usleep(1000);
        $this->list[] = 2;
        usleep(1000);
        $this->name = 'whole';
    }

    public function sum(): string
    {
        return "$this->name " . array_sum($this->list);
    }
}

#[AllowDynamicProperties]
final class Open extends Service
{
}

$class = new ReflectionClass(Service::class);
$fill = static function (Service $made) use (&$calls): void {
    $calls++;
    $made->fill((int) $_GET['n']);
};
$shared = new stdClass();
$shared->place = new stdClass();
$shared->calls = &$calls;
foreach (['read', 'method', 'isset', 'write', 'append', 'reference', 'each', 'json', 'serialize', 'clone',
    'compare', 'fails', 'unset'] as $name) {
    $shared->$name = $class->newLazyGhost($fill);
}
$shared->dynamic = (new ReflectionClass(Open::class))->newLazyGhost($fill);
$shared->proxy = $class->newLazyProxy(static function () use (&$calls): Service {
    $calls++;
    $made = new Service();
    $made->fill((int) $_GET['n']);
    return $made;
});
$shared->fails = $class->newLazyGhost(static function (Service $made) use (&$calls): void {
    $made->fill((int) $_GET['n']);
    if (++$calls % 2) {
        throw new DomainException('once');
    }
});
$first = $second = null;
$shared->first = $first = $class->newLazyGhost(static function (Service $made) use (&$second): void {
    usleep(3000);
    $made->fill(1);
    $made->name = 'first with ' . $second->name;
});
$shared->second = $second = $class->newLazyGhost(static function (Service $made) use (&$first): void {
    usleep(3000);
    $made->fill(2);
    $made->name = 'second with ' . $first->name;
});

/** Returns when both requests are here. */
function meet(stdClass $place): void
{
    $place->round ??= 0;
    $round = $place->round;
    $place->here = ($place->here ?? 0) + 1;
    if ($place->here === 2) {
        $place->here = 0;
        $place->round++;
    }
    while ($place->round === $round) {
        usleep(200);
    }
}

$uses = [
    'read' => static fn (Service $object) => $object->name,
    'method' => static fn (Service $object) => $object->sum(),
    'isset' => static fn (Service $object) => isset($object->other) ? 'set' : "not set, $object->name",
    'write' => static function (Service $object) {
        $object->name .= '!';
        return substr($object->name, 0, 6);
    },
    'append' => static function (Service $object) {
        $object->fill(3);
        return $object->name;
    },
    'reference' => static function (Service $object) {
        $name = &$object->name;
        return $name;
    },
    'each' => static function (Service $object) {
        foreach ($object as $name => $value) {
            return "$name is $value";
        }
    },
    'json' => static fn (Service $object) => json_encode($object),
    'serialize' => static fn (Service $object) => unserialize(serialize($object))->sum(),
    'clone' => static fn (Service $object) => (clone $object)->sum(),
    'compare' => static function (Service $object) {
        $same = new Service();
        $same->fill(4);
        return $object == $same ? 'equal' : 'not equal';
    },
    'unset' => static function (Service $object) {
        unset($object->other);
        return $object->sum();
    },
    'dynamic' => static function (Service $object) {
        $fresh = new Open(); // PHP notes here how the property is written
        foreach ([$fresh, $object] as $to) {
            $to->{'of ' . $_GET['n']} = $_GET['n'];
            $to->added = 'yes';
        }
        return $object->sum() . ' ' . $object->added . ' ' . $object->{'of ' . $_GET['n']};
    },
    'proxy' => static fn (Service $object) => $object->sum(),
    'fails' => static fn (Service $object) => $object->sum(),
];
while (frankenphp_handle_request(static function () use ($shared, $uses) {
    foreach ($uses as $name => $use) {
        meet($shared->place);
        $shared->calls = 0;
        meet($shared->place);
        try {
            $said = $use($shared->$name);
        } catch (Throwable $thrown) {
            $said = get_class($thrown) . ' ' . $thrown->getMessage();
        }
        $shared->said[$name][] = $said;
        meet($shared->place);
        if ($_GET['n'] === '1') {
            sort($shared->said[$name]);
            echo "$name, $shared->calls: ", implode(', ', $shared->said[$name]), "\n";
        }
    }
    meet($shared->place);
    try {
        $said = ($_GET['n'] === '1' ? $shared->first : $shared->second)->name;
    } catch (Error $error) {
        $said = $error->getMessage();
    }
    $shared->said['circle'][] = strtr($said, ['first' => 'one', 'second' => 'one']);
    meet($shared->place);
    if ($_GET['n'] === '1') {
        sort($shared->said['circle']);
        echo implode("\n", $shared->said['circle']);
    }
})) {
}
--HOWDAH--
option concurrency 2
worker {ROOT}/test.php
var QUERY_STRING n=1
push r1
var QUERY_STRING n=2
push r2
await r1
await r2
stop
--EXPECT--
r1: read, 1: whole, whole
method, 1: whole 3, whole 3
isset, 1: not set, whole, not set, whole
write, 1: whole!, whole!
append, 1: whole, whole
reference, 1: whole, whole
each, 1: name is whole, name is whole
json, 1: {"name":"whole","other":null}, {"name":"whole","other":null}
serialize, 1: whole 3, whole 3
clone, 1: whole 3, whole 3
compare, 1: equal, equal
unset, 1: whole 3, whole 3
dynamic, 1: whole 3 yes 1, whole 3 yes 2
proxy, 1: whole 3, whole 3
fails, 2: DomainException once, whole 3
Cannot use lazy object of class Service: the request that is initializing it waits for this one
one with one with whole
r2:
