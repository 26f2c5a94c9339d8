--TEST--
Coroutines: a heap that its own comparison changes causes PHP's own error, and no request waits for it
--SKIPIF--
<?php
$heap = new class extends SplMinHeap {
    private int $depth = 0;

    protected function compare(mixed $a, mixed $b): int
    {
        if ($this->depth++ < 2) {
            $this->insert(1);
        }
        return 0;
    }
};
try {
    $heap->insert(1);
    $heap->insert(2);
    echo 'skip this release of PHP permits it';
} catch (RuntimeException) {
}
--FILE--
<?php
while (frankenphp_handle_request(static function () {
    $heap = new class extends SplMinHeap {
        protected function compare(mixed $a, mixed $b): int
        {
            $this->insert(1);
            return 0;
        }
    };
    try {
        $heap->insert(1);
        $heap->insert(2);
    } catch (RuntimeException $error) {
        echo get_class($error), ': ', $error->getMessage();
    }
})) {
}
--HOWDAH--
worker {ROOT}/test.php
option concurrency 4
push own1
push own2
push own3
await own1
await own2
await own3
--EXPECT--
own1: RuntimeException: Heap cannot be changed when it is already being modified.
own2: RuntimeException: Heap cannot be changed when it is already being modified.
own3: RuntimeException: Heap cannot be changed when it is already being modified.
