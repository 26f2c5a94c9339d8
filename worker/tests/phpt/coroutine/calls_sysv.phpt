--TEST--
Coroutines: semaphores and queues of System V let other requests run
--SKIPIF--
<?php
if (!extension_loaded('sysvsem') || !extension_loaded('sysvmsg')) {
    echo 'skip sysvsem or sysvmsg is not loaded';
}
--FILE--
<?php
$gate = new stdClass();
$semaphore = sem_get(ftok(__FILE__, 's'), 1, 0600);
$queue = msg_get_queue(ftok(__FILE__, 'q'), 0600);
$cases = [
    'semaphore' => [
        'a' => static function () use ($gate, $semaphore) {
            while (!isset($gate->taken)) {
                usleep(1000);
            }
            $free = sem_acquire($semaphore, true);
            $gate->tried = true;
            $result = [$free, sem_acquire($semaphore), isset($gate->given)];
            sem_release($semaphore);
            return $result;
        },
        'b' => static function () use ($gate, $semaphore) {
            sem_acquire($semaphore);
            $gate->taken = true;
            while (!isset($gate->tried)) {
                usleep(1000);
            }
            $gate->given = true;
            return sem_release($semaphore);
        },
    ],
    'queue' => [
        'a' => static function () use ($queue) {
            $got = msg_receive($queue, 5, $type, 100, $message);
            return [$got, $type, $message, msg_remove_queue($queue)];
        },
        'b' => static fn () => msg_send($queue, 5, ['a message']),
    ],
    'remove' => [
        'a' => static fn () => sem_remove($semaphore),
        'b' => static fn () => null,
    ],
];
while (frankenphp_handle_request(static function () use ($cases) {
    // In each case the first cannot end before the second has done its part.
    $result = $cases[$_GET['how']][$_GET['me']]();
    echo json_encode($result);
})) {}
--HOWDAH--
option concurrency 2
worker {ROOT}/test.php
var QUERY_STRING me=a&how=semaphore
push semaphore
var QUERY_STRING me=b&how=semaphore
push other
await semaphore
await other
var QUERY_STRING me=a&how=queue
push queue
var QUERY_STRING me=b&how=queue
push other
await queue
await other
var QUERY_STRING me=a&how=remove
push remove
var QUERY_STRING me=b&how=remove
push other
await remove
await other
stop
--EXPECT--
semaphore: [false,true,true]
other: true
queue: [true,5,["a message"],true]
other: true
remove: true
other: null
