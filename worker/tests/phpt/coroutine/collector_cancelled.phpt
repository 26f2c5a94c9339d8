--TEST--
Coroutines: the cycle collector runs destructors of other requests to their end although the running request is cancelled
--FILE--
<?php
final class Left
{
    private Left $self;

    public function __construct(private string $how)
    {
        $this->self = $this;
    }

    public function __destruct()
    {
        for ($i = 0; $i < 1000; $i++) {
        }
        error_log("destructor: $this->how");
        if ($this->how === 'exit') {
            exit;
        }
        if ($this->how === 'exception') {
            throw new RuntimeException('from the destructor');
        }
    }
}

while (frankenphp_handle_request(static function (): void {
    [$what, $how] = explode('-', $_SERVER['QUERY_STRING']);
    if ($what === 'leave') {
        new Left($how);
        return;
    }
    register_shutdown_function(static fn () => error_log("shutdown: $what"));
    if ($what === 'collect') {
        // When it is cancelled it releases its children, before its next instruction.
        $child = Howdah\spawn(Howdah\all(...), array_fill(0, 200, static fn (): int => sleep(3600)));
        usleep(1);
        $held = [];
        while (gc_status()['roots'] < gc_status()['threshold'] - 100) {
            $object = new stdClass();
            $held[] = $object;
            unset($object);
        }
        $runs = gc_status()['runs'];
        $child->cancel();
        usleep(1);
        error_log(gc_status()['runs'] > $runs ? 'the collector ran' : 'the collector did not run');
        echo $child->isDone() ? 'cancelled' : 'not cancelled';
    }
})) {
}
--INI--
log_errors=1
output_buffering=0
--HOWDAH--
show exit state log
option concurrency 2
worker {ROOT}/test.php
var QUERY_STRING leave-end
run
var QUERY_STRING collect-
run
var QUERY_STRING leave-exit
run
var QUERY_STRING collect-
run
var QUERY_STRING leave-exception
run
var QUERY_STRING collect-
run
stop
--EXPECT--
[state] ready
cancelled
[log n 0] destructor: end
[log n 2] the collector ran
[log n 2] shutdown: collect

cancelled
[log n 0] destructor: exit
[log n 4] the collector ran
[log n 4] shutdown: collect

cancelled
[log n 0] destructor: exception
[log e 0] PHP Fatal error:  Uncaught RuntimeException: from the destructor in {ROOT}/test.php:20
Stack trace:
#0 [internal function]: Left->__destruct()
#1 [internal function]: Howdah\all()
#2 {main}
  thrown in {ROOT}/test.php on line 20
[log i 0] Fatal error: Uncaught RuntimeException: from the destructor in {ROOT}/test.php:20
[log i 0] Stack trace:
[log i 0] #0 [internal function]: Left->__destruct()
[log i 0] #1 [internal function]: Howdah\all()
[log i 0] #2 {main}
[log i 0]   thrown in {ROOT}/test.php on line 20
[log n 6] the collector ran
[log n 6] shutdown: collect
[worker exited with status 0]
