--TEST--
Coroutines: while a method of a shared SplObjectStorage calls getHash(), other requests wait for the storage
--FILE--
<?php
final class Hashed extends SplObjectStorage
{
    public bool $other = false;

    public function getHash(object $object): string
    {
        for ($i = 0; $i < 10000 && !$this->other; $i++) {
            usleep(100);
        }
        return spl_object_hash($object);
    }
}

[$a, $b] = [new stdClass(), new stdClass()];
$storage = new SplObjectStorage();
$storage->attach($a);
$kept = new Hashed();
while (frankenphp_handle_request(static function () use ($storage, $kept, $a, $b) {
    switch ($_GET['step']) {
        case 'remove':
            $storage->removeAllExcept($kept);
            echo 'removed';
            break;
        case 'add':
            $kept->other = true;
            $storage->detach($a);
            $storage->attach($b);
            echo 'added';
            break;
        default:
            echo count($storage), $storage->contains($b) ? ' kept' : ' LOST';
    }
})) {
}
--HOWDAH--
show exit
option concurrency 2
worker {ROOT}/test.php
var QUERY_STRING step=remove
push one
var QUERY_STRING step=add
push two
await one
await two
var QUERY_STRING step=look
push three
await three
stop
--EXPECT--
one: removed
two: added
three: 1 kept
[worker exited with status 0]
