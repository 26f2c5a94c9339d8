<?php

// Extensions that are compiled into PHP.

declare(strict_types=1);

return [
    'Core' => [
        'what' => 'closures, generators, exceptions',
        'run' => static function (int $n, Closure $wait): array {
            $generator = (static function () use ($n, $wait): Generator {
                foreach (range(1, 3) as $step) {
                    $wait();
                    yield $step * $n;
                }
            })();
            try {
                throw new RuntimeException("error $n");
            } catch (RuntimeException $error) {
                $wait();
                return [iterator_to_array($generator), $error->getMessage(), func_get_args()[0]];
            }
        },
    ],
    'date' => [
        'what' => 'time zone of a request, dates, intervals',
        'run' => static function (int $n, Closure $wait): array {
            $zones = ['Europe/Vienna', 'Asia/Tokyo', 'America/New_York'];
            date_default_timezone_set($zones[$n % 3]);
            $wait();
            $day = (new DateTimeImmutable('@' . (86400 * 400 * $n)))->setTimezone(new DateTimeZone($zones[$n % 3]));
            $wait();
            $parsed = date_parse("2024-02-$n is wrong");
            $wait();
            return [date_default_timezone_get(), date('c', $n * 1000000), $day->format('c'), $parsed['error_count'],
                DateTimeImmutable::getLastErrors()];
        },
    ],
    'filter' => [
        'what' => '`filter_var()` and input of the request',
        'run' => static function (int $n, Closure $wait): array {
            $valid = filter_var("$n@example.org", FILTER_VALIDATE_EMAIL);
            $wait();
            $input = PHP_SAPI === 'cli' ? $n : filter_input(INPUT_GET, 'n', FILTER_VALIDATE_INT);
            return [$valid, $input, filter_var("0x$n", FILTER_VALIDATE_INT, FILTER_FLAG_ALLOW_HEX)];
        },
    ],
    'hash' => [
        'what' => 'incremental hashes',
        'run' => static function (int $n, Closure $wait): array {
            $found = [];
            foreach (['sha256', 'xxh3', 'md5'] as $name) {
                $hash = hash_init($name);
                foreach (range(1, 3) as $step) {
                    hash_update($hash, "$n $step");
                    $wait();
                }
                $found[] = hash_final($hash);
            }
            return [$found, hash_hmac('sha512', 'text', "$n")];
        },
    ],
    'json' => [
        'what' => 'encode and decode, `json_last_error()`',
        'run' => static function (int $n, Closure $wait): array {
            json_decode($n % 2 === 0 ? '{"a": [1' : '{"a": 1}');
            $wait();
            $error = json_last_error_msg();
            $object = new class ($n, $wait) implements JsonSerializable {
                public function __construct(private int $n, private Closure $wait)
                {
                }

                public function jsonSerialize(): array
                {
                    ($this->wait)();
                    return ['n' => $this->n];
                }
            };
            return [$error, json_encode([$object, $object])];
        },
    ],
    'libxml' => [
        'what' => 'errors of a request',
        'run' => static function (int $n, Closure $wait): array {
            libxml_use_internal_errors($n % 2 === 0);
            $wait();
            $mode = libxml_use_internal_errors(true);
            libxml_clear_errors();
            if (function_exists('simplexml_load_string')) {
                simplexml_load_string("<a$n>");
            }
            $wait();
            return [$mode, array_map(static fn(LibXMLError $error): string => $error->message, libxml_get_errors())];
        },
    ],
    'openssl' => [
        'what' => 'keys, signatures, encryption, the queue of errors',
        'run' => static function (int $n, Closure $wait): array {
            while (openssl_error_string() !== false) {
                continue;
            }
            $key = openssl_pkey_new(['private_key_type' => OPENSSL_KEYTYPE_EC, 'curve_name' => 'prime256v1']);
            $wait();
            openssl_sign("text $n", $signature, $key, 'sha256');
            $wait();
            $public = openssl_pkey_get_details($key)['key'];
            $verified = openssl_verify("text $n", $signature, $public, 'sha256');
            $broken = @openssl_pkey_get_private($n % 2 === 0 ? 'nonsense' : $key);
            $wait();
            $errors = 0;
            while (openssl_error_string() !== false) {
                $errors++;
            }
            $text = openssl_encrypt("secret $n", 'aes-256-gcm', str_repeat('k', 32), 0, str_repeat('i', 12), $tag);
            return [$verified, $broken === false, $errors > 0, $text, bin2hex($tag)];
        },
    ],
    'pcntl' => [
        'what' => 'fork, and wait for the child',
        'run' => static function (int $n, Closure $wait): array {
            $child = pcntl_fork();
            if ($child === 0) {
                posix_kill(posix_getpid(), $n % 2 === 0 ? SIGKILL : SIGTERM);
                sleep(60);
            }
            $wait();
            $reaped = pcntl_waitpid($child, $status);
            return [$reaped === $child, pcntl_wifsignaled($status), pcntl_wtermsig($status)];
        },
    ],
    'pcre' => [
        'what' => 'callbacks that wait, `preg_last_error()`',
        'run' => static function (int $n, Closure $wait): array {
            $text = preg_replace_callback('/\d+/', static function (array $match) use ($n, $wait): string {
                $wait();
                preg_match('/./u', "\xff");
                return (string) ($match[0] * $n);
            }, 'a 1 b 2 c 3');
            preg_match('/./u', $n % 2 === 0 ? "\xff" : 'a');
            $wait();
            return [$text, preg_last_error_msg(), preg_split("/$n/", "a{$n}b{$n}c")];
        },
    ],
    'random' => [
        'what' => 'a seeded sequence',
        'run' => static function (int $n, Closure $wait): array {
            mt_srand($n);
            $found = [];
            foreach (range(1, 5) as $step) {
                $found[] = mt_rand();
                $wait();
            }
            $engine = class_exists('Random\Engine\Mt19937') ? new Random\Engine\Mt19937($n) : null;
            return [$found, $engine === null ? null : bin2hex($engine->generate()), strlen(random_bytes(8))];
        },
    ],
    'Reflection' => [
        'what' => 'properties and parameters',
        'run' => static function (int $n, Closure $wait): array {
            $object = new class ($n) {
                public function __construct(private int $n)
                {
                }
            };
            $property = new ReflectionProperty($object, 'n');
            $wait();
            $names = array_map(
                static fn(ReflectionParameter $each): string => $each->getName(),
                (new ReflectionFunction('strtr'))->getParameters(),
            );
            return [$property->getValue($object), $names];
        },
    ],
    'session' => [
        'what' => 'a session for each visitor, on files',
        'run' => static function (int $n, Closure $wait): array {
            if (PHP_SAPI === 'cli') {
                ini_set('session.use_cookies', '0');
                ini_set('session.cache_limiter', '');
            }
            session_id("visitor$n");
            session_start();
            $_SESSION = ['n' => $n];
            $wait();
            session_write_close();
            $wait();
            session_start();
            $read = $_SESSION['n'];
            $wait();
            $id = session_id();
            session_destroy();
            return [$id, $read];
        },
    ],
    'SPL' => [
        'what' => 'autoloaders, heaps, iterators',
        'run' => static function (int $n, Closure $wait): array {
            $asked = [];
            spl_autoload_register($loader = static function (string $class) use (&$asked, $wait): void {
                $wait();
                $asked[] = $class;
            });
            class_exists("None$n");
            spl_autoload_unregister($loader);
            $heap = new SplMinHeap();
            foreach ([3, 1, 2] as $value) {
                $heap->insert($value * $n);
                $wait();
            }
            return [$asked, iterator_to_array($heap, false), (new ArrayObject([$n]))->count()];
        },
    ],
    'sodium' => [
        'what' => 'secret boxes, hashes',
        'run' => static function (int $n, Closure $wait): array {
            $key = str_repeat(chr($n), SODIUM_CRYPTO_SECRETBOX_KEYBYTES);
            $nonce = str_repeat('n', SODIUM_CRYPTO_SECRETBOX_NONCEBYTES);
            $box = sodium_crypto_secretbox("text $n", $nonce, $key);
            $wait();
            $state = sodium_crypto_generichash_init();
            sodium_crypto_generichash_update($state, "a$n");
            $wait();
            return [bin2hex($box), sodium_crypto_secretbox_open($box, $nonce, $key),
                bin2hex(sodium_crypto_generichash_final($state))];
        },
    ],
    'standard' => [
        'what' => 'output, environment, locale, `strtok()`, programs, streams',
        'run' => static function (int $n, Closure $wait): array {
            ob_start();
            echo "first $n ";
            $token = strtok("a$n b$n c$n", ' ');
            putenv("EXERCISE=$n");
            setlocale(LC_ALL, $n % 2 === 0 ? 'C' : 'C.UTF-8');
            ini_set('precision', (string) ($n % 10 + 1));
            $wait();
            echo 'second';
            $pipe = popen("echo \$EXERCISE; sleep 0.01; echo $n", 'r');
            $read = stream_get_contents($pipe);
            pclose($pipe);
            $wait();
            [$one, $other] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
            fwrite($one, "pair $n\n");
            $wait();
            return [ob_get_clean(), $token, strtok(' '), getenv('EXERCISE'), setlocale(LC_ALL, '0'),
                (string) (1 / 3), $read, fgets($other), serialize([$n, [$n => null]])];
        },
    ],
    'zlib' => [
        'what' => 'incremental compression, streams',
        'run' => static function (int $n, Closure $wait): array {
            $deflate = deflate_init(ZLIB_ENCODING_GZIP);
            $data = '';
            foreach (range(1, 3) as $step) {
                $data .= deflate_add($deflate, str_repeat("$n $step ", 500), ZLIB_SYNC_FLUSH);
                $wait();
            }
            $data .= deflate_add($deflate, '', ZLIB_FINISH);
            return [md5($data), strlen(gzdecode($data)), gzuncompress(gzcompress("n $n"))];
        },
    ],
];
