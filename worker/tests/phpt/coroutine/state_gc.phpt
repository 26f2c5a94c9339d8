--TEST--
Coroutines: the cycle collector's destructors belong to no request
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

final class Cycle
{
    public ?self $self = null;

    public function __construct(private string $who)
    {
        $this->self = $this;
    }

    public function __destruct()
    {
        echo "destroyed $this->who\n";
        $GLOBALS['place']->destroyed[] = $this->who . ($_GET ? ' in a request' : '');
        header("X-Destroyed: $this->who");
        Counter::$count++;
        if ($this->who === 'throws') {
            throw new Exception('of a destructor');
        }
    }
}

final class Counter
{
    public static int $count = 0;
}

$place = new stdClass();
$place->destroyed = [];
while (frankenphp_handle_request(function () use ($place) {
    $me = $_GET['me'];
    new Cycle($me);
    new Cycle('throws');
    meet(2, $place);
    if ($me === 'collects') {
        gc_collect_cycles();
    }
    meet(2, $place);
    sort($place->destroyed);
    echo "headers of $me: ", implode(' ', headers_list()), ', count ', Counter::$count, ', destroyed: ', implode(', ', $place->destroyed), "\n";
})) {
}
--HOWDAH--
worker {ROOT}/test.php
option concurrency 2
var QUERY_STRING me=left
push left
var QUERY_STRING me=collects
push collects
await left
await collects
--EXPECT--
left: headers of left: , count 0, destroyed: collects, left, throws, throws

collects: headers of collects: , count 0, destroyed: collects, left, throws, throws
