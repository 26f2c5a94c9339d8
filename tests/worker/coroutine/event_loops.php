<?php

// For tests/e2e/tests/coroutine/loops.rs: requests of one process, each with a separate event loop of a library whose
// autoloader AUTOLOAD names. No loop can end before those of all other requests run: each waits for its timers and
// futures, until all requests have arrived, and for a message of the previous request on a socket.

// Packaged libraries may be older than PHP.
error_reporting(E_ALL & ~E_DEPRECATED);
require getenv('AUTOLOAD');
foreach (['functions.php', 'Internal/functions.php'] as $file) {
    $file = dirname(getenv('AUTOLOAD')) . "/$file";
    if (is_file($file)) {
        require_once $file; // which Debian's autoloader of AMPHP leaves out
    }
}

$dir = getenv('MEETING');

/** A socket to which the neighbour connects. */
$listen = static function (int $me) use ($dir) {
    $server = stream_socket_server("unix://$dir/loop-$me");
    stream_set_blocking($server, false);
    file_put_contents("$dir/in-$me", (string) getmypid());
    return $server;
};

$accept = static function ($server) {
    $peer = stream_socket_accept($server, 0);
    stream_set_blocking($peer, false);
    return $peer;
};

$all = static fn (int $of): bool => count(glob("$dir/in-*")) === $of;

$speak = static function (int $me, int $of) use ($dir): void {
    usleep(100); // a call of PHP's that waits, within a loop
    $peer = stream_socket_client("unix://$dir/loop-" . ($me + 1) % $of);
    fwrite($peer, (string) $me);
    fclose($peer);
};

/** Events of a request. Timers may be late on a busy machine and therefore in any order. */
$answer = static function (array $timers, string $heard, string $future): string {
    sort($timers);
    return implode(' ', [...$timers, "heard $heard", $future]);
};

$ops = [
    'react' => static function (int $me, int $of) use ($listen, $accept, $all, $speak, $answer): string {
        $loop = React\EventLoop\Loop::get();
        header('X-Loop: ' . spl_object_id($loop));
        $timers = [];
        foreach ([3, 1, 2] as $n) {
            $loop->addTimer($n / 1000, static function () use (&$timers, $me, $n): void {
                $timers[] = "$me.$n";
            });
        }
        $heard = new React\Promise\Deferred();
        $loop->addReadStream($listen($me), static function ($server) use ($loop, $accept, $heard): void {
            $loop->removeReadStream($server);
            $text = '';
            $read = static function ($peer) use ($loop, $heard, &$text): void {
                $text .= fread($peer, 100);
                if (feof($peer)) {
                    $loop->removeReadStream($peer);
                    $heard->resolve($text);
                }
            };
            $loop->addReadStream($accept($server), $read);
        });
        $spoken = new React\Promise\Deferred();
        $look = static function ($timer) use ($loop, $me, $of, $all, $speak, $spoken): void {
            if ($all($of)) {
                $loop->cancelTimer($timer);
                $speak($me, $of);
                $loop->futureTick(static fn () => $spoken->resolve("future $me"));
            }
        };
        $loop->addPeriodicTimer(0.005, $look);
        $result = [];
        React\Promise\all([$heard->promise(), $spoken->promise()])->then(
            static function (array $values) use (&$result): void {
                $result = $values;
            }
        );
        React\EventLoop\Loop::run();
        return $answer($timers, ...$result);
    },

    'amphp2' => static function (int $me, int $of) use ($listen, $accept, $all, $speak, $answer): string {
        // The library sets a loop when its class is loaded. It belongs to the request that loads the class.
        Amp\Loop::set((new Amp\Loop\DriverFactory())->create());
        $result = '';
        Amp\Loop::run(static function () use ($me, $of, $listen, $accept, $all, $speak, $answer, &$result) {
            header('X-Loop: ' . spl_object_id(Amp\Loop::get()));
            Amp\Loop::setState('request', $me);
            $timers = [];
            $over = new Amp\Deferred();
            foreach ([3, 1, 2] as $n) {
                Amp\Loop::delay($n, static function () use (&$timers, $over, $n): void {
                    $timers[] = Amp\Loop::getState('request') . ".$n";
                    if (count($timers) === 3) {
                        $over->resolve();
                    }
                });
            }
            $heard = new Amp\Deferred();
            Amp\Loop::onReadable($listen($me), static function ($watcher, $server) use ($accept, $heard): void {
                Amp\Loop::cancel($watcher);
                $text = '';
                Amp\Loop::onReadable($accept($server), static function ($watcher, $peer) use ($heard, &$text): void {
                    $text .= fread($peer, 100);
                    if (feof($peer)) {
                        Amp\Loop::cancel($watcher);
                        $heard->resolve($text);
                    }
                });
            });
            $spoken = Amp\call(static function () use ($me, $of, $all, $speak) {
                while (!$all($of)) {
                    yield new Amp\Delayed(5);
                }
                $speak($me, $of);
                return yield new Amp\Delayed(1, "future $me");
            });
            $values = yield [$heard->promise(), $spoken];
            yield $over->promise();
            $result = $answer($timers, ...$values);
        });
        return $result;
    },

    'revolt' => static function (int $me, int $of) use ($listen, $accept, $all, $speak, $answer): string {
        header('X-Loop: ' . spl_object_id(Revolt\EventLoop::getDriver()));
        $timers = [];
        foreach ([3, 1, 2] as $n) {
            Revolt\EventLoop::delay($n / 1000, static function () use (&$timers, $me, $n): void {
                $timers[] = "$me.$n";
            });
        }
        $heard = Revolt\EventLoop::getSuspension();
        Revolt\EventLoop::onReadable($listen($me), static function ($watcher, $server) use ($accept, $heard): void {
            Revolt\EventLoop::cancel($watcher);
            $text = '';
            $read = static function ($watcher, $peer) use ($heard, &$text): void {
                $text .= fread($peer, 100);
                if (feof($peer)) {
                    Revolt\EventLoop::cancel($watcher);
                    $heard->resume($text);
                }
            };
            Revolt\EventLoop::onReadable($accept($server), $read);
        });
        $look = static function ($watcher) use ($me, $of, $all, $speak): void {
            if ($all($of)) {
                Revolt\EventLoop::cancel($watcher);
                $speak($me, $of);
            }
        };
        Revolt\EventLoop::repeat(0.005, $look);
        $text = $heard->suspend();
        $queued = '';
        Revolt\EventLoop::queue(static function () use (&$queued, $me): void {
            $queued = "future $me";
        });
        Revolt\EventLoop::run();
        return $answer($timers, $text, $queued);
    },

    'amphp' => static function (int $me, int $of) use ($listen, $accept, $all, $speak, $answer): string {
        header('X-Loop: ' . spl_object_id(Revolt\EventLoop::getDriver()));
        $timers = [];
        $futures = [];
        foreach ([3, 1, 2] as $n) {
            $futures[] = Amp\async(static function () use (&$timers, $me, $n): void {
                Amp\delay($n / 1000);
                $timers[] = "$me.$n";
                usleep(100);
            });
        }
        $heard = Amp\async(static function () use ($me, $listen, $accept): string {
            $suspension = Revolt\EventLoop::getSuspension();
            $resume = static function ($watcher, $stream) use ($suspension): void {
                $suspension->resume();
            };
            $server = $listen($me);
            $watcher = Revolt\EventLoop::onReadable($server, $resume);
            $suspension->suspend();
            Revolt\EventLoop::cancel($watcher);
            $peer = $accept($server);
            $watcher = Revolt\EventLoop::onReadable($peer, $resume);
            for ($text = ''; !feof($peer); $text .= fread($peer, 100)) {
                $suspension->suspend();
            }
            Revolt\EventLoop::cancel($watcher);
            return $text;
        });
        $spoken = Amp\async(static function () use ($me, $of, $all, $speak): string {
            while (!$all($of)) {
                Amp\delay(0.005);
            }
            $speak($me, $of);
            return "future $me";
        });
        Amp\Future\await($futures);
        $deferred = new Amp\DeferredFuture();
        Revolt\EventLoop::defer(static function () use ($deferred, $heard, $spoken): void {
            $deferred->complete([$heard->await(), $spoken->await()]);
        });
        return $answer($timers, ...$deferred->getFuture()->await());
    },
];

$handler = static function () use ($ops): void {
    header('X-Pid: ' . getmypid());
    echo $ops[$_GET['op']]((int) $_GET['id'], (int) $_GET['of']);
};

while (frankenphp_handle_request($handler)) {
    gc_collect_cycles();
}
