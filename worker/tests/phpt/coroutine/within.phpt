--TEST--
Coroutines: a request that uses a heap, an ArrayObject or a generator which another request's code is using waits
--FILE--
<?php
/** Returns when $count requests are here. The object is shared, as objects are. */
function meet(stdClass $place, int $count = 3): void
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

final class Heap extends SplMinHeap
{
    protected function compare(mixed $a, mixed $b): int
    {
        usleep(500);
        return $b <=> $a;
    }
}

final class Queue extends SplPriorityQueue
{
    public function compare(mixed $a, mixed $b): int
    {
        usleep(500);
        return $a <=> $b;
    }
}

$shared = new stdClass();
$shared->place = new stdClass();
$shared->heap = new Heap();
$shared->queue = new Queue();
$shared->list = new ArrayObject(['c' => 5, 'b' => 3, 'a' => 9]);
$shared->fresh = (static function () {
    usleep(2000);
    yield 7;
})();
$shared->numbers = (static function () {
    for ($i = 0; ; $i++) {
        usleep(500);
        yield $i;
    }
})();
while (frankenphp_handle_request(static function () use ($shared) {
    $n = (int) $_GET['n'];
    meet($shared->place);
    try {
        switch ($_GET['do']) {
            case 'heap':
                $shared->heap->insert($n);
                $shared->heap->insert(10 * $n);
                meet($shared->place);
                if ($n === 1) {
                    $found = [];
                    while (count($shared->heap)) {
                        $found[] = $shared->heap->extract();
                    }
                    echo implode(' ', $found);
                }
                break;
            case 'queue':
                $shared->queue->insert("a$n", $n);
                $shared->queue->insert("b$n", 10 * $n);
                meet($shared->place);
                echo $shared->queue->extract()[0];
                break;
            case 'sort':
                if ($n === 1) {
                    $shared->list->uasort(static function ($a, $b) {
                        usleep(500);
                        return $a <=> $b;
                    });
                } else {
                    usleep(700);
                    $shared->list["n$n"] = $n;
                    unset($shared->list["n$n"]);
                    $shared->list->offsetSet("m$n", $n);
                }
                meet($shared->place);
                echo implode(' ', array_slice(array_keys($shared->list->getArrayCopy()), 0, 3)), ' ', count($shared->list);
                break;
            case 'generator':
                $shared->numbers->next();
                echo gettype($shared->numbers->current());
                break;
            case 'foreach':
                foreach (new NoRewindIterator($shared->numbers) as $number) {
                    echo gettype($number);
                    break;
                }
                break;
            case 'first':
                foreach ($shared->fresh as $number) {
                    echo $number;
                    break;
                }
                break;
        }
    } catch (Throwable $error) {
        echo get_class($error), ': ', $error->getMessage();
    }
})) {
}
--HOWDAH--
worker {ROOT}/test.php
option concurrency 4
var QUERY_STRING do=heap&n=1
push heap1
var QUERY_STRING do=heap&n=2
push heap2
var QUERY_STRING do=heap&n=3
push heap3
await heap1
await heap2
await heap3
var QUERY_STRING do=queue&n=1
push queue1
var QUERY_STRING do=queue&n=2
push queue2
var QUERY_STRING do=queue&n=3
push queue3
await queue1
await queue2
await queue3
var QUERY_STRING do=sort&n=1
push sort1
var QUERY_STRING do=sort&n=2
push sort2
var QUERY_STRING do=sort&n=3
push sort3
await sort1
await sort2
await sort3
var QUERY_STRING do=generator&n=1
push generator1
var QUERY_STRING do=generator&n=2
push generator2
var QUERY_STRING do=generator&n=3
push generator3
await generator1
await generator2
await generator3
var QUERY_STRING do=foreach&n=1
push foreach1
var QUERY_STRING do=foreach&n=2
push foreach2
var QUERY_STRING do=foreach&n=3
push foreach3
await foreach1
await foreach2
await foreach3
var QUERY_STRING do=first&n=1
push first1
var QUERY_STRING do=first&n=2
push first2
var QUERY_STRING do=first&n=3
push first3
await first1
await first2
await first3
--EXPECT--
heap1: 1 2 3 10 20 30
heap2: 
heap3: 
queue1: b
queue2: b
queue3: b
sort1: b c a 5
sort2: b c a 5
sort3: b c a 5
generator1: integer
generator2: integer
generator3: integer
foreach1: integer
foreach2: integer
foreach3: integer
first1: 7
first2: 7
first3: 7
