--TEST--
Coroutines: values that msgpack packs and unpacks are the request's, while its methods wait
--SKIPIF--
<?php
if (!extension_loaded('msgpack')) {
    echo 'skip msgpack is not loaded';
}
--FILE--
<?php
class Node
{
    public ?Node $other = null;

    public function __construct(public string $name)
    {
    }

    public function __sleep(): array
    {
        usleep(500);
        return ['other', 'name'];
    }

    public function __wakeup(): void
    {
        usleep(500);
    }
}

while (frankenphp_handle_request(function () {
    $n = $_GET['n'];
    [$a, $b] = [new Node("a$n"), new Node("b$n")];
    [$a->other, $b->other] = [$b, $a];
    $found = msgpack_unpack(msgpack_pack([$a, $b, $a]));
    echo $found[0]->name, ' ', $found[1]->name, ' ', json_encode([
        $found[0]->other === $found[1], $found[1]->other === $found[0], $found[2] === $found[0],
    ]);
})) {
}
--HOWDAH--
show exit
option concurrency 6
worker {ROOT}/test.php
var REQUEST_URI /1
var QUERY_STRING n=1
push r1
var REQUEST_URI /2
var QUERY_STRING n=2
push r2
var REQUEST_URI /3
var QUERY_STRING n=3
push r3
var REQUEST_URI /4
var QUERY_STRING n=4
push r4
var REQUEST_URI /5
var QUERY_STRING n=5
push r5
var REQUEST_URI /6
var QUERY_STRING n=6
push r6
await all
stop
--EXPECT--
r1: a1 b1 [true,true,true]
r2: a2 b2 [true,true,true]
r3: a3 b3 [true,true,true]
r4: a4 b4 [true,true,true]
r5: a5 b5 [true,true,true]
r6: a6 b6 [true,true,true]
[worker exited with status 0]
