--TEST--
Coroutines: loops of several requests over one SplObjectStorage each see all of it
--FILE--
<?php
class Listener
{
    public function __construct(public string $name)
    {
    }
}

$listeners = new SplObjectStorage();
foreach (['a', 'b', 'c', 'd'] as $name) {
    $listeners[new Listener($name)] = "of $name";
}
while (frankenphp_handle_request(function () use ($listeners) {
    $found = [];
    foreach ($listeners as $i => $listener) {
        usleep(500 * (int) $_GET['n']);
        $found[] = "$i {$listener->name} " . $listeners->getInfo();
    }
    for ($listeners->rewind(); $listeners->valid(); $listeners->next()) {
        usleep(500);
        $found[] = $listeners->current()->name;
    }
    echo implode(', ', $found);
})) {
}
--HOWDAH--
show exit
option concurrency 4
worker {ROOT}/test.php
var QUERY_STRING n=1
push r1
var QUERY_STRING n=2
push r2
var QUERY_STRING n=3
push r3
await all
stop
--EXPECT--
r1: 0 a of a, 1 b of b, 2 c of c, 3 d of d, a, b, c, d
r2: 0 a of a, 1 b of b, 2 c of c, 3 d of d, a, b, c, d
r3: 0 a of a, 1 b of b, 2 c of c, 3 d of d, a, b, c, d
[worker exited with status 0]
