<?php

// For the tests in tests/e2e/tests/coroutine: requests that meet, wait for each other, and end in every way, while
// others run in the same process. A request reports its arrival by a file `in-ID` with its process id, and waits for
// files. All are in the folder that `dir` names.

$dir = getenv('MEETING');
$dsn = (string) getenv('DATABASE');
$version = is_file("$dir/version") ? file_get_contents("$dir/version") : '1';

/** Waits until the condition is true. Like any wait, it lets other requests run. */
$until = static function (callable $so): void {
    while (!$so()) {
        usleep(5000);
        clearstatcache();
    }
};

$ops = [
    // All have arrived at this time.
    'meet' => static function (string $id) use ($dir, $until): string {
        $until(static fn (): bool => count(glob("$dir/in-*")) >= (int) $_GET['count']);
        return "met $id";
    },
    'wait' => static function (string $id) use ($dir, $until): string {
        $until(static fn (): bool => is_file("$dir/go"));
        return "waited $id";
    },
    'sleep' => static function (string $id): string {
        usleep((int) $_GET['us']);
        return "slept $id";
    },
    'spin' => static function (): never {
        while (true) {
        }
    },
    'compute' => static function (string $id): string {
        $end = hrtime(true) + 1000 * (int) $_GET['us'];
        while (hrtime(true) < $end) {
        }
        return "computed $id";
    },
    // A request that waits when its client disconnects. With `ignore`, it continues until there is a file `go`.
    'leave' => static function (string $id) use ($dir, $dsn, $until): string {
        register_shutdown_function(static function () use ($dir, $id): void {
            usleep(1000); // it may wait
            file_put_contents("$dir/left-$id", (string) connection_status());
        });
        ignore_user_abort($_GET['how'] === 'ignore'); // a worker script begins with true
        try {
            switch ($_GET['how']) {
                case 'sleep':
                    sleep(3600);
                    break;
                case 'ignore':
                    $until(static fn (): bool => is_file("$dir/go"));
                    file_put_contents("$dir/done-$id", 'done');
                    break;
                case 'database':
                    // The server continues the query.
                    (new PDO($dsn))->query("SELECT pg_sleep(60) /* {$_GET['mark']} */");
            }
        } catch (Throwable $error) {
            file_put_contents("$dir/caught-$id", $error->getMessage());
        }
        return "stayed $id";
    },
    // Takes minutes and cannot be interrupted.
    'block' => static function (): string {
        return (string) similar_text(str_repeat('ab', 200_000), str_repeat('cd', 200_000));
    },
    'stream' => static function (string $id) use ($dir): string {
        register_shutdown_function(static function () use ($dir, $id): void {
            file_put_contents("$dir/left-$id", (string) connection_status());
        });
        ignore_user_abort(false); // a worker script begins with true
        ob_end_flush();
        while (true) {
            echo "part\n";
            flush();
            usleep(5000);
        }
    },
    'sql' => static function () use ($dsn): string {
        $rows = (new PDO($dsn))->query($_GET['sql'])->fetchAll(PDO::FETCH_COLUMN);
        return implode(',', $rows);
    },
    'large' => static function (string $id): string {
        for ($i = 0; $i < 2000; $i++) {
            echo str_repeat($id, 10000);
        }
        return '';
    },
    'fatal' => static function (): never {
        trigger_error('on purpose', E_USER_ERROR);
    },
    'exit' => static function (string $id): never {
        exit("left $id");
    },
    'throw' => static function (): never {
        throw new RuntimeException('on purpose');
    },
];

$handler = static function () use ($ops, $dir, $version): void {
    ['op' => $op, 'id' => $id] = $_GET;
    header('X-Pid: ' . getmypid());
    header('X-Version: ' . $version);
    file_put_contents("$dir/begin-$id", (string) getmypid());
    rename("$dir/begin-$id", "$dir/in-$id");
    register_shutdown_function(static function () use ($dir, $id): void {
        file_put_contents("$dir/out-$id", "out");
    });
    echo $ops[$op]($id);
};

while (frankenphp_handle_request($handler)) {
}
