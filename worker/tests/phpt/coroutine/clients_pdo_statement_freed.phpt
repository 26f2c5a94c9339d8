--TEST--
Coroutines: a request whose result is read to its end when it ends, while another one lets go of the statement (mysql)
--SKIPIF--
<?php
if (!extension_loaded('pdo_mysql')) {
    echo 'skip pdo_mysql is not loaded';
} elseif (!getenv('HOWDAH_TEST_MYSQL')) {
    echo 'skip HOWDAH_TEST_MYSQL is not set, e.g. to "host=127.0.0.1 port=3306 user=test password=test dbname=test"';
}
--FILE--
<?php
preg_match_all('/(\w+)=(\S+)/', getenv('HOWDAH_TEST_MYSQL'), $found);
$server = array_combine($found[1], $found[2]);
$buffered = constant(PHP_VERSION_ID < 80400 ? 'PDO::MYSQL_ATTR_USE_BUFFERED_QUERY' : 'Pdo\Mysql::ATTR_USE_BUFFERED_QUERY');
$pdo = new PDO("mysql:host={$server['host']};port={$server['port']};dbname={$server['dbname']}", $server['user'], $server['password'], [$buffered => false]);
$place = new class () {
    public ?PDOStatement $first;
    public ?PDOStatement $second;
    public bool $used = false;
    public bool $over = false;
};
/** The second row comes late. */
$place->first = $pdo->prepare("SELECT REPEAT('x', 100000) UNION ALL SELECT SLEEP(0.2)");
$place->second = $pdo->prepare('SELECT 7');

/** Others run meanwhile. */
$await = static function (callable $until): void {
    while (!$until()) {
        usleep(0);
    }
};

$requests = [
    'drop' => static function () use ($place, $await): void {
        foreach ([$place->first, $place->second] as $statement) {
            $statement->execute();
            $statement->fetchAll();
        }
        unset($statement);
        $place->used = true;
        $await(static fn (): bool => $place->over);
        $place->first = $place->second = null; // the last references
    },
    'end' => static function () use ($place, $await): void {
        $await(static fn (): bool => $place->used);
        $place->second->execute();
        $place->second->fetchAll();
        $place->first->execute();
        echo strlen($place->first->fetchColumn()), ' ';
        $place->over = true;
    },
    'after' => static function () use ($pdo): void {
        echo $pdo->query('SELECT 8')->fetchColumn(), ' ';
    },
];

while (frankenphp_handle_request(static function () use ($requests): void {
    $requests[$_GET['how']]();
    echo 'done';
})) {
}
--HOWDAH--
option concurrency 3
worker {ROOT}/test.php
var QUERY_STRING how=drop
push drop
var QUERY_STRING how=end
push end
await end
await drop
var QUERY_STRING how=after
run
run
--EXPECT--
end: 100000 done
drop: done
8 done
8 done
