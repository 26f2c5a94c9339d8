<?php

// For tests/e2e/tests/coroutine/soak.rs: requests of every kind that are in one process at a time. Each marks what
// it should have for itself, and looks after each step that it still has it.
//
// Databases are used if the environment names them: SOAK_PGSQL and SOAK_MYSQL (data source names of PDO),
// SOAK_MYSQLI (path of a socket), SOAK_REDIS, SOAK_MEMCACHED (paths of sockets), SOAK_HTTPS (an address).

$dir = getenv('MEETING');
spl_autoload_register(static function (string $class) use ($dir): void {
    if (preg_match('/^(Soak|Parent|Child|Named|Constant)[0-9]/', $class)) {
        usleep(2000); // others want the same class meanwhile
        require "$dir/$class.php";
    }
});

final class Mark
{
    public static string $id = 'boot';
    public static array $list = [];

    /** What a request has for itself: how it is set, and how it is read. */
    public static function all(): array
    {
        return [
            'static property' => [static fn ($id) => self::$id = $id, static fn () => self::$id],
            'static array' => [static fn ($id) => self::$list[] = $id, static fn () => implode(self::$list)],
            'static variable' => [self::variable(...), static fn () => self::variable()],
            'global' => [static fn ($id) => $GLOBALS['soak'] = $id, static fn () => $GLOBALS['soak'] ?? null],
            'ini' => [
                static fn ($id) => ini_set('user_agent', $id),
                static fn () => ini_get('user_agent'),
            ],
            'memory of libxml' => [
                static fn ($id) => libxml_use_internal_errors(strlen($id) % 2 === 1),
                static fn () => libxml_use_internal_errors(),
                static fn ($id) => strlen($id) % 2 === 1,
            ],
            'time zone' => [
                static fn ($id) => date_default_timezone_set(crc32($id) % 2 ? 'Asia/Tokyo' : 'America/Lima'),
                static fn () => date('T'),
                static fn ($id) => crc32($id) % 2 ? 'JST' : '-05',
            ],
            'random numbers' => [
                static fn ($id) => mt_srand(crc32($id)),
                null,
            ],
            'status' => [
                static fn ($id) => http_response_code(200 + crc32($id) % 4),
                static fn () => http_response_code(),
                static fn ($id) => 200 + crc32($id) % 4,
            ],
            'header' => [
                static fn ($id) => header("X-Id: $id"),
                static fn () => implode(preg_grep('/^X-Id: /', headers_list())),
                static fn ($id) => "X-Id: $id",
            ],
            'error handler' => [
                static fn ($id) => set_error_handler(static function () use ($id): bool {
                    self::$caught = $id;
                    return true;
                }),
                static function () {
                    trigger_error('soak', E_USER_NOTICE);
                    return self::$caught;
                },
            ],
            'superglobals' => [null, static fn () => $_GET['id']],
            'request' => [null, static fn () => $_SERVER['HTTP_X_ID']],
            'folder' => [
                static fn ($id) => chdir(crc32($id) % 2 ? '/usr' : '/etc'),
                static fn () => getcwd(),
                static fn ($id) => crc32($id) % 2 ? '/usr' : '/etc',
            ],
            'environment' => [
                static fn ($id) => putenv("SOAK_ID=$id"),
                static fn () => getenv('SOAK_ID'),
            ],
            'umask' => [
                static fn ($id) => umask(crc32($id) % 8),
                static fn () => umask(),
                static fn ($id) => crc32($id) % 8,
            ],
            'locale' => [
                static fn ($id) => setlocale(LC_CTYPE, crc32($id) % 2 ? 'C.UTF-8' : 'C'),
                static fn () => stripos((string) setlocale(LC_CTYPE, 0), 'utf') !== false,
                static fn ($id) => crc32($id) % 2 === 1,
            ],
            'encoding' => [
                static fn ($id) => mb_internal_encoding(crc32($id) % 2 ? 'UTF-8' : 'ISO-8859-15'),
                static fn () => mb_internal_encoding(),
                static fn ($id) => crc32($id) % 2 ? 'UTF-8' : 'ISO-8859-15',
            ],
            'autoloader' => [
                static fn ($id) => spl_autoload_register(static function (string $class) use ($id): void {
                    if ($class === 'NoSuchClass') {
                        self::$asked .= $id;
                    }
                }),
                static function () {
                    self::$asked = '';
                    class_exists('NoSuchClass');
                    return self::$asked;
                },
            ],
            'shutdown function' => [
                static fn ($id) => register_shutdown_function(static function () use ($id): void {
                    if ($_GET['id'] !== $id) {
                        echo " shutdown function of $id";
                    }
                }),
                null,
            ],
            'stream context' => [
                static fn ($id) => stream_context_set_default(['http' => ['user_agent' => $id]]),
                static fn () => stream_context_get_options(stream_context_get_default())['http']['user_agent'],
            ],
            'strtok' => [
                static fn ($id) => strtok("first $id", ' '),
                null,
            ],
        ];
    }

    private static string $caught = '';
    private static string $asked = '';

    private static function variable(?string $id = null): ?string
    {
        static $kept = null;
        return $id === null ? $kept : $kept = $id;
    }
}

/** A stream of which one can read who it was opened by. */
class Told
{
    public $context;
    private string $left = '';

    public function stream_open(string $path): bool
    {
        $this->left = static::class . parse_url($path, PHP_URL_HOST);
        return true;
    }

    public function stream_read(int $count): string
    {
        [$read, $this->left] = [substr($this->left, 0, $count), substr($this->left, $count)];
        return $read;
    }

    public function stream_eof(): bool
    {
        return $this->left === '';
    }

    public function stream_stat(): array
    {
        return [];
    }
}

final class ToldToOthers extends Told
{
}

/** One of which all requests ask for properties that it has not. */
final class Magic
{
    public function __get(string $name): string
    {
        usleep(500);
        return $name;
    }
}

final class Filled
{
    public string $name = '';
    public bool $done = false;
}

/** Objects that all requests of the process share, made when the first one wants them. */
$shared = new class () {
    private array $objects = [];

    public function get(string $name, callable $make): object
    {
        return $this->objects[$name] ??= $make();
    }
};
$pdo = static fn (string $name) => $shared->get($name, static function () use ($name): PDO {
    $user = $name === 'SOAK_MYSQL' ? ['root', ''] : [];
    return new PDO(getenv($name), ...$user);
});
$need = static function (bool $so, string $what): void {
    if (!$so) {
        throw new LogicException($what);
    }
};
$transaction = static function (PDO $pdo, string $id) use ($need): void {
    $pdo->beginTransaction();
    $pdo->prepare('INSERT INTO soak VALUES (?)')->execute([$id]);
    usleep(1000);
    $count = $pdo->prepare('SELECT COUNT(*) FROM soak WHERE id = ?');
    $count->execute([$id]);
    $need((int) $count->fetchColumn() === 1, 'the transaction of another one');
    $pdo->rollBack();
    $count->execute([$id]);
    $need((int) $count->fetchColumn() === 0, 'it was not rolled back');
};

$ops = [
    'sleep' => static fn (string $id) => usleep(crc32($id) % 5000),
    'yield' => static fn (string $id) => usleep(0),
    'buffer' => static function (string $id) use ($need): void {
        ob_start();
        echo $id;
        usleep(2000);
        $need(ob_get_clean() === $id, 'another output buffer');
    },
    'fiber' => static function (string $id) use ($need): void {
        $inner = new Fiber(static function () use ($id): string {
            usleep(1000);
            $got = Fiber::suspend("$id-1");
            usleep(1000);
            return $got;
        });
        $outer = new Fiber(static function () use ($inner, $id): string {
            $first = $inner->start();
            usleep(1000);
            $inner->resume("$first-$id");
            return $inner->getReturn();
        });
        $outer->start();
        $need($outer->getReturn() === "$id-1-$id", 'another fiber');
    },
    'generator' => static function (string $id) use ($need): void {
        $parts = (static function () use ($id) {
            foreach (str_split($id) as $part) {
                usleep(500);
                yield $part;
            }
        })();
        $need(implode('', iterator_to_array($parts, false)) === $id, 'another generator');
    },
    'callback' => static function (string $id) use ($need): void {
        $parts = str_split($id);
        usort($parts, static function ($a, $b): int {
            usleep(200);
            return $a <=> $b;
        });
        $expected = str_split($id);
        sort($expected);
        $need($parts === $expected, 'another sort');
    },
    'autoload' => static function (string $id) use ($need): void {
        $class = 'Soak' . crc32($id) % 20;
        $need((new $class())->name() === $class, 'another class');
    },
    'link' => static function (string $id) use ($need): void {
        $n = crc32($id) % 20;
        $class = "Child$n"; // loads its parent while it is linked
        $need((new $class())->name() === "Parent$n", 'another parent');
    },
    'constant' => static function (string $id) use ($need): void {
        $n = crc32($id) % 20;
        $need(constant("Constant$n::NAME") === "Named$n", 'another constant');
    },
    'magic' => static function (string $id) use ($need, $shared): void {
        $magic = $shared->get('magic', static fn (): object => new Magic());
        $need($magic->$id === $id, 'the property of another one');
    },
    'lazy' => static function (string $id) use ($need, $shared): void {
        if (PHP_VERSION_ID < 80400) {
            return;
        }
        $object = $shared->get('lazy' . crc32($id) % 500, static function (): object {
            return (new ReflectionClass(Filled::class))->newLazyGhost(static function (Filled $object): void {
                usleep(500);
                $object->name = 'filled';
                usleep(500);
                $object->done = true;
            });
        });
        $need($object->name === 'filled' && $object->done, 'half an object');
    },
    'mbregex' => static function (string $id) use ($need): void {
        mb_ereg_search_init($id, '[0-9]+');
        usleep(500);
        preg_match('/\d+/', $id, $found);
        $need(mb_ereg_search_regs()[0] === $found[0], 'the search of another one');
    },
    'name' => static function (string $id) use ($need): void {
        session_name("n$id");
        usleep(500);
        $need(session_name() === "n$id", "the session's name of another one");
    },
    'apcu' => static function (string $id) use ($need): void {
        if (!function_exists('apcu_enabled') || !apcu_enabled()) {
            return;
        }
        $key = 'soak' . crc32($id) % 500;
        $made = apcu_entry($key, static function (string $key): string {
            usleep(500);
            return "made for $key";
        });
        $need($made === "made for $key", 'the entry of another one');
    },
    'cancel' => static function (string $id) use ($need, $shared): void {
        $cancelled = false;
        try {
            Howdah\timeout(0.001, static function () use ($id, $shared): void {
                spl_object_id($shared);
                spl_object_id(sleep(60)); // is left out, and the shared object stays
                throw new LogicException("$id was not cancelled");
            });
        } catch (Howdah\TimeoutException) {
            $cancelled = true;
        }
        $need($cancelled, 'was not cancelled');
    },
    'include' => static function (string $id) use ($need, $dir): void {
        $n = crc32($id) % 4;
        include_once "$dir/late$n.php";
        $need(function_exists("late$n"), 'another one includes it');
    },
    'compile' => static function (string $id) use ($need, $dir): void {
        usleep(2000); // others are on their way when the first one compiles it
        $need((require "$dir/lazy.php") === $id, 'another superglobal');
    },
    'wrapper' => static function (string $id) use ($need): void {
        $class = crc32($id) % 2 ? Told::class : ToldToOthers::class;
        stream_wrapper_register('soak', $class);
        usleep(2000);
        $need(@file_get_contents("soak://$id") === "$class$id", 'another stream wrapper');
        stream_wrapper_unregister('soak');
    },
    'session' => static function (string $id) use ($need): void {
        session_id(md5($_GET['client']));
        session_start(['use_cookies' => 0, 'cache_limiter' => '']);
        $need(($_SESSION['client'] ?? $_GET['client']) === $_GET['client'], 'another session');
        $_SESSION['client'] = $_GET['client'];
        usleep(1000);
        $need(session_id() === md5($_GET['client']), 'the id of another session');
        session_write_close();
    },
    'file' => static function (string $id) use ($need, $dir): void {
        $name = "$dir/file-$id";
        file_put_contents($name, $id);
        usleep(500);
        $need(file_get_contents($name) === $id, 'another file');
        unlink($name);
    },
    'lock' => static function (string $id) use ($need, $dir): void {
        $file = fopen("$dir/lock", 'c+');
        flock($file, LOCK_EX);
        ftruncate($file, 0);
        rewind($file);
        fwrite($file, $id);
        usleep(500);
        rewind($file);
        $need(stream_get_contents($file) === $id, 'the lock of another one');
        flock($file, LOCK_UN);
        fclose($file);
    },
    'http' => static function (string $id) use ($need): void {
        $target = "http://{$_SERVER['HTTP_HOST']}/?op=echo&id=$id&client={$_GET['client']}";
        $context = stream_context_create(['http' => ['header' => "X-Id: $id"]]);
        $got = file_get_contents($target, false, $context);
        $need($got === $id, 'the answer of another one: ' . var_export($got, true));
    },
    'curl' => static function (string $id) use ($need): void {
        $curl = curl_init("http://{$_SERVER['HTTP_HOST']}/?op=echo&id=$id&client={$_GET['client']}");
        curl_setopt_array($curl, [CURLOPT_RETURNTRANSFER => true, CURLOPT_HTTPHEADER => ["X-Id: $id"]]);
        $got = curl_exec($curl);
        $need($got === $id, 'the answer of another one: ' . var_export($got, true) . ' ' . curl_error($curl));
    },
    'process' => static fn (string $id) => $need(shell_exec("echo $id") === "$id\n", 'the output of another one'),
    'sqlite' => static function (string $id) use ($need): void {
        $pdo = new PDO('sqlite::memory:');
        $got = $pdo->query('SELECT ' . $pdo->quote($id))->fetchColumn();
        usleep(500);
        $need($got === $id, 'another row');
    },
    'upload' => static function (string $id) use ($need): void {
        $need(($_POST['field'] ?? '') === $id, 'another form');
        usleep(1000);
        $need(file_get_contents($_FILES['file']['tmp_name']) === str_repeat($id, 1000), 'another upload');
    },
    'exit' => static function (string $id): never {
        usleep(500);
        echo "ok $id";
        exit;
    },
    'throw' => static function (string $id): never {
        usleep(500);
        http_response_code(200); // for PHP to make 500 of it
        throw new RuntimeException('on purpose');
    },
    'fatal' => static function (string $id): never {
        usleep(500);
        restore_error_handler();
        http_response_code(200);
        trigger_error('on purpose', E_USER_ERROR);
    },
    'pgsql' => static function (string $id) use ($need, $pdo, $transaction): void {
        $pdo = $pdo('SOAK_PGSQL');
        $statement = $pdo->prepare('SELECT pg_sleep(0.002), ?::text');
        $statement->execute([$id]);
        $need($statement->fetchColumn(1) === $id, 'another row of PostgreSQL');
        $transaction($pdo, $id);
    },
    'mysql' => static function (string $id) use ($need, $pdo, $transaction): void {
        $pdo = $pdo('SOAK_MYSQL');
        $statement = $pdo->prepare('SELECT SLEEP(0.002), ?');
        $statement->execute([$id]);
        $need($statement->fetchColumn(1) === $id, 'another row of MySQL');
        $transaction($pdo, $id);
    },
    'mysqli' => static function (string $id) use ($need, $shared): void {
        $make = static fn () => new mysqli('localhost', 'root', '', 'bench', 0, getenv('SOAK_MYSQLI'));
        $mysqli = $shared->get('mysqli', $make);
        $result = $mysqli->query("SELECT SLEEP(0.001), '$id'");
        $need($result->fetch_row()[1] === $id, 'another row of mysqli');
    },
    'redis' => static function (string $id) use ($need, $shared): void {
        $redis = $shared->get('redis', static function (): Redis {
            $redis = new Redis();
            $redis->connect(getenv('SOAK_REDIS'));
            return $redis;
        });
        $redis->set("soak:$id", $id, 10);
        $need($redis->get("soak:$id") === $id, 'another value of Redis');
        $got = $redis->multi()->get("soak:$id")->del("soak:$id")->exec();
        $need($got === [$id, 1], 'the transaction of another one in Redis');
    },
    'memcached' => static function (string $id) use ($need, $shared): void {
        $memcached = $shared->get('memcached', static function (): Memcached {
            $memcached = new Memcached();
            $memcached->addServer(getenv('SOAK_MEMCACHED'), 0);
            return $memcached;
        });
        // Without getResultMessage(): with a time slice another request may have used the object by then.
        $need($memcached->set("soak:$id", $id, 10), 'memcached refused');
        $need($memcached->get("soak:$id") === $id, 'another value of memcached');
    },
    'https' => static function (string $id) use ($need): void {
        $context = stream_context_create(['ssl' => ['verify_peer' => false, 'verify_peer_name' => false]]);
        $page = file_get_contents(getenv('SOAK_HTTPS'), false, $context);
        $need(str_contains((string) $page, 'Cipher'), 'no answer over TLS');
    },
];

/** What is not as it should be. */
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
