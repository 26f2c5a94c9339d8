--TEST--
Coroutines: a request that is cancelled while a heap compares leaves the heap intact
--FILE--
<?php
final class Heap extends SplMinHeap
{
    public float $pause = 0;

    protected function compare(mixed $a, mixed $b): int
    {
        usleep((int) (1e6 * $this->pause));
        return $b <=> $a;
    }
}

final class Queue extends SplPriorityQueue
{
    public float $pause = 0;

    public function compare(mixed $a, mixed $b): int
    {
        usleep((int) (1e6 * $this->pause));
        return $a <=> $b;
    }
}

[$heap, $queue] = [new Heap(), new Queue()];
foreach ([5, 3, 9, 1, 7] as $number) {
    $heap->insert($number);
    $queue->insert($number, $number);
}
while (frankenphp_handle_request(static function () use ($heap, $queue) {
    $heap->pause = $queue->pause = 0.005;
    foreach ([static fn () => $heap->insert(0), static fn () => $queue->insert(10, 10)] as $insert) {
        try {
            Howdah\timeout(0.001, static function () use ($insert): void {
                $insert();
                usleep(1_000_000);
                echo 'never ';
            });
        } catch (Howdah\TimeoutException) {
            echo 'cancelled ';
        }
    }
    $heap->pause = $queue->pause = 0;
    echo var_export($heap->isCorrupted() || $queue->isCorrupted(), true);
    while (count($heap)) {
        echo ' ', $heap->extract(), ' ', $queue->extract();
    }
})) {
}
--HOWDAH--
worker {ROOT}/test.php
option concurrency 4
run
--EXPECT--
cancelled cancelled false 0 10 1 9 3 7 5 5 7 3 9 1
