--TEST--
Coroutines: each request has its own position in a DatePeriod that all share
--FILE--
<?php
final class Named extends DatePeriod
{
}

final class Copied extends DatePeriod
{
    public static int $copies = 0;

    public function __clone()
    {
        self::$copies++;
    }
}

$arguments = [new DateTimeImmutable('2026-01-01'), new DateInterval('P1D'), 3];
$periods = [new DatePeriod(...$arguments), new Named(...$arguments)];
$copied = new Copied(...$arguments);
$place = new stdClass();
$place->here = 0;
while (frankenphp_handle_request(static function () use ($periods, $copied, $place): void {
    $place->here++;
    while ($place->here < 2) {
        usleep(500);
    }
    foreach ($periods as $period) {
        foreach ($period as $key => $day) {
            usleep(1000);
            echo $key, ':', $day->format('j'), ' ';
        }
        $iterator = $period->getIterator();
        for ($iterator->rewind(); $iterator->valid(); $iterator->next()) {
            usleep(1000);
            echo $iterator->current()->format('j'), ' ';
        }
        echo implode(' ', array_map(static fn ($day) => $day->format('D'), iterator_to_array($period))), ' ';
    }
    echo count(iterator_to_array($copied)), ' ', Copied::$copies;
})) {
}
--HOWDAH--
worker {ROOT}/test.php
option concurrency 2
push first
push second
await first
await second
--EXPECT--
first: 0:1 1:2 2:3 3:4 1 2 3 4 Thu Fri Sat Sun 0:1 1:2 2:3 3:4 1 2 3 4 Thu Fri Sat Sun 4 0
second: 0:1 1:2 2:3 3:4 1 2 3 4 Thu Fri Sat Sun 0:1 1:2 2:3 3:4 1 2 3 4 Thu Fri Sat Sun 4 0
