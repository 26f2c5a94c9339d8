--TEST--
Coroutines: each request has its session; two of the same one wait for each other
--FILE--
<?php
ini_set('session.save_path', __DIR__);
ini_set('session.use_cookies', '0');
ini_set('session.cache_limiter', '');
/** Returns when $count requests are here. The object is shared, as objects are. */
function meet(int $count, stdClass $place): void
{
    $place->round ??= 0;
    $place->here = ($place->here ?? 0) + 1;
    $round = $place->round;
    if ($place->here === $count) {
        $place->here = 0;
        $place->round++;
    }
    while ($place->round === $round) {
        usleep(500);
    }
}

final class Handler implements SessionHandlerInterface
{
    public function __construct(private string $who)
    {
    }

    public function open(string $path, string $name): bool
    {
        return true;
    }

    public function close(): bool
    {
        return true;
    }

    public function read(string $id): string|false
    {
        usleep(2000);
        return "who|s:1:\"$this->who\";";
    }

    public function write(string $id, string $data): bool
    {
        usleep(2000);
        file_put_contents(__DIR__ . "/written-$this->who", "$id $data");
        return true;
    }

    public function destroy(string $id): bool
    {
        return true;
    }

    public function gc(int $lifetime): int|false
    {
        return 0;
    }
}

final class Service
{
    public bool $configured = false;
}

$place = new stdClass();
$service = new Service();
while (frankenphp_handle_request(function () use ($place, $service) {
    $me = $_GET['me'];
    if ($_GET['do'] === 'own') {
        session_id($me);
        session_start();
        $_SESSION['me'] = $me;
        meet(2, $place);
        echo session_id(), ' ', json_encode($_SESSION), ' ', session_status() === PHP_SESSION_ACTIVE ? 'active' : 'none', "\n";
    } elseif ($_GET['do'] === 'none') {
        meet(2, $place);
        echo var_export(session_id(), true), ' ', isset($_SESSION) ? 'set' : 'not set', ' ', session_status() === PHP_SESSION_ACTIVE ? 'active' : 'none', "\n";
    } elseif ($_GET['do'] === 'same') {
        meet(2, $place);
        session_id('same');
        session_start();
        $before = $_SESSION['count'] ?? 0;
        usleep(3000);
        $_SESSION['count'] = $before + 1;
        session_write_close();
        meet(2, $place);
        echo file_get_contents(__DIR__ . '/sess_same'), "\n";
    } elseif ($_GET['do'] === 'handler') {
        session_set_save_handler(new Handler($me), true);
        session_id("h$me");
        meet(2, $place);
        session_start();
        echo json_encode($_SESSION), "\n";
        $_SESSION['written'] = $me;
    } elseif ($_GET['do'] === 'written') {
        echo file_get_contents(__DIR__ . "/written-$me"), ' ', ini_get('session.save_handler'), "\n";
    } else {
        if (!$service->configured) {
            $service->configured = true;
            ini_set('session.name', 'CONFIGURED');
        }
        meet(2, $place);
        echo session_name(), ' ', ini_get('session.name'), "\n";
    }
})) {
}
--INI--
session.gc_probability=0
--HOWDAH--
worker {ROOT}/test.php
option concurrency 2
var QUERY_STRING do=own&me=a
push one
var QUERY_STRING do=none&me=b
push two
await one
await two
var QUERY_STRING do=own&me=c
push three
var QUERY_STRING do=own&me=d
push four
await three
await four
var QUERY_STRING do=same&me=a
push five
push six
await five
await six
var QUERY_STRING do=handler&me=a
push seven
var QUERY_STRING do=handler&me=b
push eight
await seven
await eight
var QUERY_STRING do=written&me=a
run
var QUERY_STRING do=written&me=b
run
var QUERY_STRING do=name&me=a
push nine
push ten
await nine
await ten
push eleven
push twelve
await eleven
await twelve
--EXPECT--
one: a {"me":"a"} active

two: '' not set none

three: c {"me":"c"} active

four: d {"me":"d"} active

five: count|i:2;

six: count|i:2;

seven: {"who":"a"}

eight: {"who":"b"}

ha who|s:1:"a";written|s:1:"a"; files

hb who|s:1:"b";written|s:1:"b"; files

nine: CONFIGURED CONFIGURED

ten: PHPSESSID PHPSESSID

eleven: PHPSESSID PHPSESSID

twelve: PHPSESSID PHPSESSID
