--TEST--
Coroutines: code that cannot wait is not given a lock that another request of the process has, and does not wait for ever
--FILE--
<?php
touch('lock');
$gate = new stdClass();
while (frankenphp_handle_request(static function () use ($gate) {
    $own = fopen('lock', 'r+');
    if ($_GET['n'] === 'holder') {
        flock($own, LOCK_EX);
        $gate->held = true;
        while (!isset($gate->tried)) {
            usleep(1000);
        }
        echo 'held';
        return;
    }
    while (!isset($gate->held)) {
        usleep(1000);
    }
    // Destructors that the cycle collector calls belong to no request and cannot wait.
    $circle = new class ($own, $gate) {
        public object $self;

        public function __construct(private $own, private readonly object $gate)
        {
            $this->self = $this;
        }

        public function __destruct()
        {
            $this->gate->tried = var_export(flock($this->own, LOCK_EX), true);
        }
    };
    unset($circle);
    gc_collect_cycles();
    echo $gate->tried;
})) {}
--HOWDAH--
show exit log
option concurrency 2
worker {ROOT}/test.php
var QUERY_STRING n=holder
push holder
var QUERY_STRING n=other
push other
await other
await holder
stop
--EXPECTF--
other: false
holder: held
[log w %d] flock() fails: another request of this process holds the lock, and cannot continue while this code waits, %s
[worker exited with status 0]
