--TEST--
Worker mode: connection objects come and go by the hundred, are never connected, and fail
--SKIPIF--
<?php
if (!extension_loaded('pdo_sqlite')) {
    echo 'skip pdo_sqlite is not loaded';
}
--FILE--
<?php
class Lazy extends PDO
{
    public function __construct()
    {
    }
}
$kept = [];
while (frankenphp_handle_request(function () use (&$kept) {
    $open = array_filter($kept, fn ($database) => $database->inTransaction());
    echo count($kept), ' kept, ', count($open), ' open';
    $all = [];
    for ($i = 0; $i < 100; $i++) {
        $all[] = new PDO('sqlite::memory:', null, null, [PDO::ATTR_TIMEOUT => $i]);
        $all[$i]->beginTransaction();
    }
    $kept = array_filter($all, fn ($i) => $i % 3 === 0, ARRAY_FILTER_USE_KEY);
    $lazy = new Lazy();
    try {
        new PDO('sqlite:/nonexistent/file');
    } catch (PDOException $exception) {
        echo ', ', $exception->getCode();
    }
    $cycle = new stdClass();
    $cycle->database = new Lazy();
    $cycle->self = $cycle;
})) {
}
--HOWDAH--
worker {ROOT}/test.php
run
run
run
--EXPECT--
0 kept, 0 open, 14
34 kept, 0 open, 14
34 kept, 0 open, 14
