<?php

// Extensions that talk to a service. Where its kind has a handle that requests may share, the boot makes it. The
// services are named by tests/databases.sh and services.py; clients without one get the error of a closed port.

declare(strict_types=1);

/** `host=… port=…` as an array. */
$words = static function (string $name): array {
    preg_match_all('/(\w+)=(\S+)/', (string) getenv($name), $found);
    return array_combine($found[1], $found[2]);
};
$address = static fn(string $name): array => explode(':', (string) getenv($name));
/** The message of what fails, without what differs from run to run. */
$failure = static function (Closure $call): array {
    try {
        return [$call()];
    } catch (Throwable $error) {
        return [$error::class, preg_replace('/\d{2,}|0x\w+/', '#', $error->getMessage())];
    }
};
/** A row that each visitor has, in a transaction that is rolled back. */
$rows = static function (PDO $pdo, int $n, Closure $wait): array {
    $pdo->beginTransaction();
    $pdo->exec("CREATE TEMPORARY TABLE IF NOT EXISTS visits (n INTEGER, step INTEGER)");
    $insert = $pdo->prepare('INSERT INTO visits VALUES (?, ?)');
    foreach (range(1, 3) as $step) {
        $insert->execute([$n, $step]);
        $wait();
    }
    $select = $pdo->prepare('SELECT n * 10 + step AS value FROM visits WHERE n = ? ORDER BY step');
    $select->execute([$n]);
    $wait();
    $found = array_map(intval(...), $select->fetchAll(PDO::FETCH_COLUMN));
    $pdo->rollBack();
    return [$found, $pdo->inTransaction(), (int) $pdo->query("SELECT $n")->fetchColumn()];
};
$mysql = static fn(): string => sprintf(
    'mysql:host=%s;port=%s;dbname=test;charset=utf8mb4',
    $words('HOWDAH_TEST_MYSQL')['host'],
    $words('HOWDAH_TEST_MYSQL')['port'],
);

return [
    'amqp' => [
        'what' => 'messages, the error of a closed port',
        'run' => static function (int $n, Closure $wait) use ($failure): array {
            $connection = new AMQPConnection(['host' => '127.0.0.1', 'port' => 1, 'login' => "visitor$n"]);
            $wait();
            return [$connection->getLogin(), $failure(static fn() => $connection->connect())];
        },
    ],
    'curl' => [
        'what' => 'requests over HTTP, several at once, on a handle of the boot and on one of the request',
        'boot' => static fn(): CurlHandle => curl_init(),
        'run' => static function (int $n, Closure $wait, ?CurlHandle $shared): array {
            $base = getenv('EXERCISE_HTTP');
            curl_reset($shared);
            curl_setopt_array($shared, [CURLOPT_URL => "$base/shared/$n", CURLOPT_RETURNTRANSFER => true]);
            $wait();
            $found = [curl_exec($shared), curl_getinfo($shared, CURLINFO_RESPONSE_CODE)];
            curl_reset($shared);
            $handles = [];
            $multi = curl_multi_init();
            foreach (range(1, 3) as $step) {
                $handles[] = $handle = curl_init("$base/multi/$n/$step");
                curl_setopt($handle, CURLOPT_RETURNTRANSFER, true);
                curl_multi_add_handle($multi, $handle);
            }
            do {
                curl_multi_exec($multi, $running);
                curl_multi_select($multi, 0.1);
            } while ($running > 0);
            return [...$found, ...array_map(curl_multi_getcontent(...), $handles)];
        },
    ],
    'ftp' => [
        'what' => 'the error of a closed port',
        'run' => static function (int $n, Closure $wait): array {
            $connection = @ftp_connect('127.0.0.1', 1, 1);
            $wait();
            return [$connection, $n];
        },
    ],
    'gearman' => [
        'what' => 'background jobs and their handles at a server',
        'run' => static function (int $n, Closure $wait) use ($address): array {
            $client = new GearmanClient();
            [$host, $port] = $address('EXERCISE_GEARMAN');
            $client->addServer($host, (int) $port);
            $wait();
            $echo = @$client->ping("text $n");
            $job = @$client->doBackground("function$n", "load $n");
            $wait();
            return [$echo, str_starts_with((string) $job, 'H:'), $client->returnCode()];
        },
    ],
    'http' => [
        'what' => 'requests over HTTP, messages, URLs',
        'run' => static function (int $n, Closure $wait): array {
            $client = new http\Client();
            $client->enqueue(new http\Client\Request('GET', getenv('EXERCISE_HTTP') . "/http/$n"));
            $wait();
            $client->send();
            $response = $client->getResponse();
            return [(string) $response->getBody(), $response->getResponseCode(),
                (string) new http\Url("http://a/b?c=$n", ['path' => '/d'])];
        },
    ],
    'ice' => [
        'what' => 'communicators, proxies, the error of a closed port',
        'run' => static function (int $n, Closure $wait) use ($failure): array {
            require_once 'Ice.php';
            $communicator = Ice\initialize();
            $proxy = $communicator->stringToProxy("visitor$n:tcp -h 127.0.0.1 -p 1 -t 100");
            $wait();
            $error = $failure(static fn() => $proxy->ice_ping());
            $communicator->destroy();
            return [$proxy->ice_getIdentity()->name, $error[0]];
        },
    ],
    'imap' => [
        'what' => 'headers, addresses, encodings, composed messages, errors',
        'run' => static function (int $n, Closure $wait): array {
            $headers = imap_rfc822_parse_headers("Subject: n $n\r\nFrom: a$n@example.org\r\n\r\n");
            imap_rfc822_parse_adrlist($n % 2 === 0 ? '<' : "a$n@example.org", 'example.org');
            $wait();
            $errors = imap_errors();
            @imap_open("/none/$n", '', '', OP_READONLY);
            $wait();
            $message = imap_mail_compose(['subject' => "n $n"], [['type' => TYPETEXT, 'contents.data' => "body $n"]]);
            return [$headers->subject, $headers->from[0]->mailbox, imap_utf7_encode("a $n"), $errors,
                imap_last_error(), $message];
        },
    ],
    'ldap' => [
        'what' => 'escape, parse names, bind to a server or the error of a closed port',
        'run' => static function (int $n, Closure $wait): array {
            $link = ldap_connect('ldap://127.0.0.1:1');
            ldap_set_option($link, LDAP_OPT_PROTOCOL_VERSION, 3);
            $wait();
            $bound = @ldap_bind($link, "cn=visitor$n", 'secret');
            $wait();
            return [$bound, ldap_error($link), ldap_escape("a($n)*", '', LDAP_ESCAPE_FILTER),
                ldap_explode_dn("cn=visitor$n,dc=example", 1)];
        },
    ],
    'libvirt-php' => [
        'what' => 'version, the error of a hypervisor that is not there',
        'run' => static function (int $n, Closure $wait): array {
            $link = @libvirt_connect("none$n:///", true);
            $wait();
            return [$link, (string) libvirt_get_last_error() !== ''];
        },
    ],
    'memcache' => [
        'what' => 'set, get, increment',
        'run' => static function (int $n, Closure $wait) use ($address): array {
            [$host, $port] = $address('HOWDAH_TEST_MEMCACHED');
            $cache = new Memcache();
            $cache->addServer($host, (int) $port);
            $cache->set("memcache$n", $n);
            $wait();
            $cache->increment("memcache$n", 5);
            $wait();
            return [$cache->get("memcache$n"), $cache->get("none$n")];
        },
    ],
    'memcached' => [
        'what' => 'set, get, result codes, on a handle of the boot and on one of the request',
        'boot' => static function () use ($address): Memcached {
            [$host, $port] = $address('HOWDAH_TEST_MEMCACHED');
            $cache = new Memcached();
            $cache->addServer($host, (int) $port);
            return $cache;
        },
        'run' => static function (int $n, Closure $wait, ?Memcached $shared) use ($address): array {
            $shared->set("shared$n", $n);
            $wait();
            $found = [$shared->get("shared$n"), $shared->getMulti(["shared$n", "none$n"])];
            [$host, $port] = $address('HOWDAH_TEST_MEMCACHED');
            $own = new Memcached();
            $own->addServer($host, (int) $port);
            $own->get("none$n");
            $wait();
            return [...$found, $own->getResultMessage()];
        },
    ],
    'mongodb' => [
        'what' => 'BSON, the error of a closed port',
        'run' => static function (int $n, Closure $wait) use ($failure): array {
            $values = ['n' => $n, 'id' => new MongoDB\BSON\ObjectId(str_repeat('ab', 12))];
            $document = class_exists(MongoDB\BSON\Document::class) ? MongoDB\BSON\Document::fromPHP($values) : null;
            $data = $document ? (string) $document : MongoDB\BSON\fromPHP($values);
            $wait();
            $manager = new MongoDB\Driver\Manager('mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=50');
            $command = new MongoDB\Driver\Command(['ping' => $n]);
            $error = $failure(static fn() => $manager->executeCommand('test', $command));
            return [bin2hex($data), $document ? $document->toPHP()->n : MongoDB\BSON\toPHP($data)->n, $error[0]];
        },
    ],
    'mysqli' => [
        'what' => 'statements and transactions, on a link of the boot and on one of the request',
        'boot' => static fn(): mysqli => new mysqli(
            $words('HOWDAH_TEST_MYSQL')['host'],
            'test',
            'test',
            'test',
            (int) $words('HOWDAH_TEST_MYSQL')['port'],
        ),
        'run' => static function (int $n, Closure $wait, ?mysqli $shared) use ($words): array {
            $shared->begin_transaction();
            $shared->query("SET @n = $n");
            $wait();
            $found = [$shared->query("SELECT @n, $n")->fetch_row()];
            $shared->rollback();
            $settings = $words('HOWDAH_TEST_MYSQL');
            $own = new mysqli($settings['host'], 'test', 'test', 'test', (int) $settings['port']);
            $statement = $own->prepare('SELECT ? + 1, SLEEP(0.01)');
            $statement->bind_param('i', $n);
            $statement->execute();
            $wait();
            return [...$found, $statement->get_result()->fetch_row()];
        },
    ],
    'mysqlnd' => [
        'what' => 'the driver below mysqli: large results',
        'run' => static function (int $n, Closure $wait) use ($words): array {
            $settings = $words('HOWDAH_TEST_MYSQL');
            $own = new mysqli($settings['host'], 'test', 'test', 'test', (int) $settings['port']);
            $text = $own->query("SELECT REPEAT('$n', 300000)", MYSQLI_USE_RESULT)->fetch_row()[0];
            $wait();
            return [strlen($text), md5($text), is_array(mysqli_get_client_stats())];
        },
    ],
    'oauth' => [
        'what' => 'signatures, a request over HTTP',
        'run' => static function (int $n, Closure $wait): array {
            $oauth = new OAuth("key$n", 'secret');
            $oauth->setToken("token$n", 'secret');
            $oauth->setNonce('nonce');
            $oauth->setTimestamp('1000');
            $wait();
            $signature = $oauth->generateSignature('GET', "http://example.org/$n");
            $oauth->setRequestEngine(OAUTH_REQENGINE_STREAMS);
            $oauth->fetch(getenv('EXERCISE_HTTP') . "/oauth/$n");
            $wait();
            return [$signature, $oauth->getLastResponse()];
        },
    ],
    'odbc' => [
        'what' => 'statements by the driver of SQLite',
        'run' => static function (int $n, Closure $wait): array {
            $link = odbc_connect('Driver=SQLITE3;Database=:memory:', '', '');
            odbc_exec($link, 'CREATE TABLE visits (n INTEGER)');
            $wait();
            odbc_exec($link, "INSERT INTO visits VALUES ($n)");
            @odbc_exec($link, "SELECT none$n");
            $wait();
            $error = odbc_errormsg($link);
            return [odbc_result(odbc_exec($link, 'SELECT n * 10 FROM visits'), 1), $error];
        },
    ],
    'pdo' => [
        'what' => 'drivers, errors',
        'run' => static function (int $n, Closure $wait) use ($failure): array {
            $wait();
            return [is_array(PDO::getAvailableDrivers()), $failure(static fn() => new PDO("none$n:"))];
        },
    ],
    'pdo_dblib' => [
        'what' => 'the error of a closed port',
        'run' => static function (int $n, Closure $wait) use ($failure): array {
            $wait();
            return $failure(static fn() => new PDO("dblib:host=127.0.0.1:1;dbname=n$n", 'a', 'b'));
        },
    ],
    'pdo_firebird' => [
        'what' => 'the error of a closed port',
        'run' => static function (int $n, Closure $wait) use ($failure): array {
            $wait();
            return $failure(static fn() => new PDO("firebird:dbname=127.0.0.1/1:/n$n.fdb", 'a', 'b'));
        },
    ],
    'pdo_mysql' => [
        'what' => 'transactions and prepared statements on an object of the boot',
        'boot' => static fn(): PDO => new PDO($mysql(), 'test', 'test'),
        'run' => static fn(int $n, Closure $wait, ?PDO $shared): array => $rows($shared, $n, $wait),
    ],
    'pdo_odbc' => [
        'what' => 'transactions and prepared statements by the driver of SQLite',
        'run' => static fn(int $n, Closure $wait): array
            => $rows(new PDO('odbc:Driver=SQLITE3;Database=:memory:'), $n, $wait),
    ],
    'pdo_pgsql' => [
        'what' => 'transactions and prepared statements on an object of the boot',
        'boot' => static fn(): PDO => new PDO('pgsql:' . getenv('HOWDAH_TEST_PGSQL')),
        'run' => static fn(int $n, Closure $wait, ?PDO $shared): array => $rows($shared, $n, $wait),
    ],
    'pdo_sqlite' => [
        'what' => 'transactions and prepared statements on an object of the boot',
        'boot' => static fn(): PDO => new PDO('sqlite:' . tempnam(sys_get_temp_dir(), 'sqlite')),
        'run' => static fn(int $n, Closure $wait, ?PDO $shared): array => $rows($shared, $n, $wait),
    ],
    'pgsql' => [
        'what' => 'statements and transactions, on a connection of the boot and on one of the request',
        'boot' => static fn(): PgSql\Connection => pg_connect(
            (string) getenv('HOWDAH_TEST_PGSQL'),
            PGSQL_CONNECT_FORCE_NEW,
        ),
        'run' => static function (int $n, Closure $wait, ?PgSql\Connection $shared): array {
            pg_query($shared, 'BEGIN');
            $first = pg_fetch_row(pg_query_params($shared, 'SELECT $1::int + 1, pg_sleep(0.01)', [$n]));
            $wait();
            pg_query($shared, 'ROLLBACK');
            $own = pg_connect((string) getenv('HOWDAH_TEST_PGSQL'));
            @pg_query($own, "SELECT none$n");
            $wait();
            return [$first, pg_last_error($own)];
        },
    ],
    'php-remctl' => [
        'what' => 'the error of a closed port',
        'run' => static function (int $n, Closure $wait): array {
            $result = @remctl('127.0.0.1', 1, "host/n$n", ['test', (string) $n]);
            $wait();
            return [is_object($result) ? (string) $result->error !== '' : $result];
        },
    ],
    'pinba' => [
        'what' => 'timers',
        'run' => static function (int $n, Closure $wait): array {
            $timer = pinba_timer_start(['n' => "tag$n"]);
            $wait();
            pinba_timer_stop($timer);
            return [pinba_timer_get_info($timer)['tags']];
        },
    ],
    'pq' => [
        'what' => 'statements and errors on a connection of the request',
        'run' => static function (int $n, Closure $wait) use ($failure): array {
            $connection = new pq\Connection((string) getenv('HOWDAH_TEST_PGSQL'));
            $wait();
            $row = $connection->execParams('SELECT $1::int + 1, pg_sleep(0.01)', [$n])->fetchRow();
            $wait();
            return [(int) $row[0], $failure(static fn() => $connection->exec("SELECT none$n"))[0]];
        },
    ],
    'raphf' => [
        'what' => 'counts of persistent handles',
        'run' => static function (int $n, Closure $wait): array {
            $wait();
            return [is_object(raphf\stat_persistent_handles()) || raphf\stat_persistent_handles() === false, $n];
        },
    ],
    'redis' => [
        'what' => 'commands, MULTI and pipelines, on a handle of the boot and on one of the request',
        'boot' => static function () use ($address): Redis {
            [$host, $port] = $address('HOWDAH_TEST_REDIS');
            $redis = new Redis();
            $redis->connect($host, (int) $port);
            return $redis;
        },
        'run' => static function (int $n, Closure $wait, ?Redis $shared) use ($address): array {
            $shared->multi();
            $shared->set("shared$n", $n);
            $wait();
            $shared->get("shared$n");
            $found = $shared->exec();
            [$host, $port] = $address('HOWDAH_TEST_REDIS');
            $own = new Redis();
            $own->connect($host, (int) $port);
            $own->select($n % 16);
            $pipeline = $own->pipeline();
            $pipeline->set('own', "own $n");
            $wait();
            $pipeline->get('own');
            return [$found, $pipeline->exec(), $own->getDbNum()];
        },
    ],
    'smbclient' => [
        'what' => 'the error of a closed port',
        'run' => static function (int $n, Closure $wait): array {
            $state = smbclient_state_new();
            smbclient_state_init($state, null, "user$n", 'password');
            $wait();
            $opened = @smbclient_opendir($state, "smb://127.0.0.1:1/n$n");
            return [$opened, smbclient_state_errno($state) !== 0];
        },
    ],
    'snmp' => [
        'what' => 'the error of a port where nobody listens',
        'run' => static function (int $n, Closure $wait): array {
            $session = new SNMP(SNMP::VERSION_2C, '127.0.0.1:1', "community$n", 20000, 0);
            $wait();
            $got = @$session->get('1.3.6.1.2.1.1.1.0');
            return [$got, $session->getErrno(), $n];
        },
    ],
    'soap' => [
        'what' => 'a client over HTTP, a server whose method waits, a class map',
        'run' => static function (int $n, Closure $wait): array {
            $server = new SoapServer(null, ['uri' => 'urn:exercise']);
            $server->setObject(new class ($wait) {
                public function __construct(private Closure $wait)
                {
                }

                public function double(int $value): int
                {
                    ($this->wait)();
                    return 2 * $value;
                }
            });
            ob_start();
            $server->handle('<e:Envelope xmlns:e="http://schemas.xmlsoap.org/soap/envelope/"><e:Body>'
                . "<m:double xmlns:m='urn:exercise'><value>$n</value></m:double></e:Body></e:Envelope>");
            $response = ob_get_clean();
            $client = new SoapClient(null, [
                'location' => getenv('EXERCISE_HTTP') . "/soap/$n",
                'uri' => 'urn:exercise',
            ]);
            try {
                $called = $client->double($n);
            } catch (SoapFault $fault) {
                $called = $fault->faultcode;
            }
            return [strip_tags($response), $called];
        },
    ],
    'sockets' => [
        'what' => 'a server and a client of a request, errors',
        'run' => static function (int $n, Closure $wait): array {
            $server = socket_create_listen(0, 5);
            socket_getsockname($server, $host, $port);
            $client = socket_create(AF_INET, SOCK_STREAM, SOL_TCP);
            socket_connect($client, '127.0.0.1', $port);
            $accepted = socket_accept($server);
            socket_write($client, "line $n\n");
            $wait();
            $read = socket_read($accepted, 100);
            @socket_connect(socket_create(AF_INET, SOCK_STREAM, SOL_TCP), '127.0.0.1', $n % 2 === 0 ? 1 : $port);
            $wait();
            return [$read, $n % 2 === 0 ? socket_strerror(socket_last_error()) : ''];
        },
    ],
    'solr' => [
        'what' => 'queries, documents, the error of a response',
        'run' => static function (int $n, Closure $wait) use ($failure): array {
            $query = new SolrQuery("n:$n");
            $query->setStart((string) $n)->setRows('5');
            $document = new SolrInputDocument();
            $document->addField('n', (string) $n);
            $wait();
            $port = (int) parse_url((string) getenv('EXERCISE_HTTP'), PHP_URL_PORT);
            $client = new SolrClient(['hostname' => '127.0.0.1', 'port' => $port, 'path' => "solr/$n"]);
            $error = $failure(static fn() => $client->query($query));
            return [(string) $query, $document->getField('n')->values, $error[0]];
        },
    ],
    'sqlite3' => [
        'what' => 'statements, functions that wait, on a database of the boot and on one of the request',
        'boot' => static fn(): SQLite3 => new SQLite3(':memory:'),
        'run' => static function (int $n, Closure $wait, ?SQLite3 $shared): array {
            $first = $shared->querySingle("SELECT $n + 1");
            $own = new SQLite3(':memory:');
            $own->createFunction('waits', static function (int $value) use ($wait): int {
                $wait();
                return 2 * $value;
            });
            $statement = $own->prepare('SELECT waits(:n) AS value');
            $statement->bindValue(':n', $n);
            $wait();
            return [$first, $statement->execute()->fetchArray(SQLITE3_ASSOC)];
        },
    ],
    'ssh2' => [
        'what' => 'the fingerprint of a server, or the error of a closed port',
        'run' => static function (int $n, Closure $wait): array {
            $wait();
            return [@ssh2_connect('127.0.0.1', 1), $n];
        },
    ],
    'stomp' => [
        'what' => 'frames, the error of a closed port',
        'run' => static function (int $n, Closure $wait) use ($failure): array {
            $frame = new StompFrame('SEND', ['n' => "$n"], "body $n");
            $wait();
            return [$frame->body, $frame->headers, $failure(static fn() => new Stomp('tcp://127.0.0.1:1'))];
        },
    ],
    'zmq' => [
        'what' => 'a pair of sockets in a request',
        'run' => static function (int $n, Closure $wait): array {
            $context = new ZMQContext(1, false);
            $one = new ZMQSocket($context, ZMQ::SOCKET_PAIR);
            $one->bind("inproc://pair$n");
            $other = new ZMQSocket($context, ZMQ::SOCKET_PAIR);
            $other->connect("inproc://pair$n");
            $one->send("message $n");
            $wait();
            return [$other->recv()];
        },
    ],
];
