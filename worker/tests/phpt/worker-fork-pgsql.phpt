--TEST--
Worker mode: workers have private PostgreSQL connections, with the settings that the server reports
--SKIPIF--
<?php
if (!extension_loaded('pdo_pgsql') || !extension_loaded('pgsql')) {
    echo 'skip pgsql or pdo_pgsql is not loaded';
} elseif (!getenv('HOWDAH_TEST_PGSQL')) {
    echo 'skip HOWDAH_TEST_PGSQL is not set, e.g. to "host=127.0.0.1 port=5432 user=test dbname=test"';
}
--FILE--
<?php
$server = getenv('HOWDAH_TEST_PGSQL');
$pdo = new PDO("pgsql:$server");
$pdo->exec("SET TIME ZONE 'Asia/Tokyo'");
$plain = pg_connect($server);
$boot = [$pdo->query('SELECT pg_backend_pid()')->fetchColumn(), pg_get_pid($plain)];
while (frankenphp_handle_request(function () use ($pdo, $plain, $boot) {
    $own = [$pdo->query('SELECT pg_backend_pid()')->fetchColumn(), pg_get_pid($plain)];
    $alive = $pdo->query('SELECT count(*) FROM pg_stat_activity WHERE pid IN (' . implode(',', $boot) . ')')->fetchColumn();
    echo count(array_intersect($boot, $own)), ' shared, ', $alive, ' of the zygote alive, ', $pdo->query('SHOW TIME ZONE')->fetchColumn();
})) {
}
--HOWDAH--
worker {ROOT}/test.php
max-requests 1
run
wait-exit
respawn
run
--EXPECT--
0 shared, 2 of the zygote alive, Asia/Tokyo
0 shared, 2 of the zygote alive, Asia/Tokyo
