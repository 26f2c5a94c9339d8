<?php

// For tests/e2e/tests/coroutine/soak.rs: requests of every kind in one process at the same time. Each sets its own
// state, and checks after each step that it is unchanged. The steps are in the folder soak.
//
// Databases are used if the environment names them: SOAK_PGSQL and SOAK_MYSQL (data source names of PDO),
// SOAK_MYSQLI (path of a socket), SOAK_REDIS, SOAK_MEMCACHED (paths of sockets), SOAK_HTTPS (an address).

// Classes of each sort. The first request that needs one loads it.
const CLASSES = 20;

function need(bool $so, string $what): void
{
    if (!$so) {
        throw new LogicException($what);
    }
}

require __DIR__ . '/mark.php';

$dir = getenv('MEETING');
spl_autoload_register(static function (string $class) use ($dir): void {
    if (preg_match('/^[A-Z][a-z]+[0-9]+$/', $class)) {
        usleep(2000); // others want the same class meanwhile
        require "$dir/$class.php";
    }
});

/** Objects that all requests of the process share. The first request that needs one creates it. */
$shared = new class () {
    private array $objects = [];

    public function get(string $name, callable $make): object
    {
        return $this->objects[$name] ??= $make();
    }

    public function drop(string $name, object $object): void
    {
        if (($this->objects[$name] ?? null) === $object) {
            unset($this->objects[$name]);
        }
    }
};

$ops = [];
foreach (glob(__DIR__ . '/soak/*.php') as $file) {
    $ops += (require $file)($shared, $dir);
}

/** Errors that were found. */
$check = static function (string $id, string $when): array {
    $wrong = [];
    foreach (Mark::all() as $name => $mark) {
        if ($mark[1] === null) {
            continue;
        }
        $expected = isset($mark[2]) ? $mark[2]($id) : $id;
        $found = $mark[1]();
        if ($found !== $expected) {
            $wrong[] = "$name $when: " . var_export($found, true) . ' for ' . var_export($expected, true);
        }
    }
    return $wrong;
};

$handler = static function () use ($ops, $check): void {
    ['op' => $op, 'id' => $id] = $_GET;
    if ($op === 'echo') {
        usleep(1000);
        echo $id;
        return;
    }
    if ($op === 'engine') {
        $status = opcache_get_status(false) ?: [];
        echo 'OPcache ', $status['opcache_enabled'] ?? false ? 'on' : 'off';
        echo ', JIT ', $status['jit']['on'] ?? false ? 'on' : 'off';
        return;
    }
    if (isset($_GET['heeds'])) {
        ignore_user_abort(false);
    }
    header('X-Pid: ' . getmypid());
    foreach (Mark::all() as $mark) {
        if ($mark[0] !== null) {
            $mark[0]($id);
        }
    }
    mt_srand(crc32($id));
    $first = mt_rand();
    $wrong = [];
    foreach (explode(',', $op) as $step) {
        try {
            $ops[$step]($id);
        } catch (LogicException $wrongStep) {
            $wrong[] = "$step: " . $wrongStep->getMessage();
        }
        array_push($wrong, ...$check($id, "after $step"));
    }
    $second = mt_rand();
    mt_srand(crc32($id));
    if ([$first, $second] !== [mt_rand(), mt_rand()]) {
        $wrong[] = 'the random numbers of another one';
    }
    if (strtok(' ') !== $id) {
        $wrong[] = 'the strtok() of another one';
    }
    echo $wrong === [] ? "ok $id" : implode("\n", $wrong);
};

while (frankenphp_handle_request($handler)) {
    gc_collect_cycles();
}
