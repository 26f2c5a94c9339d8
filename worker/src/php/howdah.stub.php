<?php

/** @generate-class-entries */

namespace {
    /** @cvalue -4 */
    const FRANKENPHP_LOG_LEVEL_DEBUG = -4;
    /** @cvalue 0 */
    const FRANKENPHP_LOG_LEVEL_INFO = 0;
    /** @cvalue 4 */
    const FRANKENPHP_LOG_LEVEL_WARN = 4;
    /** @cvalue 8 */
    const FRANKENPHP_LOG_LEVEL_ERROR = 8;

    /**
     * Waits for a request and runs the callback with the request's superglobals, input, headers and output. Returns
     * when the response has been sent. The first call ends the boot of the worker script.
     *
     * @param callable(): mixed $callback its return value is ignored
     * @return bool false: the worker must exit, so the script should leave its loop
     * @throws RuntimeException outside a worker script, or while a request is being handled
     */
    function frankenphp_handle_request(callable $callback): bool {}

    /**
     * @alias frankenphp_handle_request
     * @param callable(): mixed $callback
     */
    function howdah_handle_request(callable $callback): bool {}

    /**
     * Registers a callback that each worker runs once before its first request. Workers are forks of one booted
     * script; use the callback to recreate resources that a fork must not share. Call this function before the first
     * frankenphp_handle_request(). If a callback throws or exits, the worker fails to start.
     *
     * @param callable(): void $callback
     * @throws RuntimeException outside the boot of a worker script
     */
    function howdah_after_fork(callable $callback): void {}

    /**
     * Registers a callback that runs at the start of each request, after its superglobals are set and before its code:
     * for tools that watch individual requests. An exception of the callback is reported as a warning; exit() ends the
     * request. Call this function before the first frankenphp_handle_request(). Callbacks run in the order of their
     * registration.
     *
     * @param callable(): void $callback
     * @throws RuntimeException outside the boot of a worker script
     */
    function howdah_on_request_start(callable $callback): void {}

    /**
     * Registers a callback that runs at the end of each request: after its code and its shutdown functions, also after
     * an exception, exit() or a fatal error, and before its response ends. The callback that was registered last runs
     * first.
     *
     * @param callable(): void $callback
     * @throws RuntimeException outside the boot of a worker script
     */
    function howdah_on_request_end(callable $callback): void {}

    /**
     * Sends the headers that have been set. With status 103 (or another 1xx) it sends an interim response, for example
     * early hints, and the response stays open; remove headers that must not be sent again. The client gets the interim
     * response immediately, except over HTTP/1.0. The statuses 100 and 101, and interim responses with more than 16 KiB
     * of headers, are not sent, and a warning is logged.
     *
     * @return int 1 after an interim response, 0 after the headers of the response
     */
    function headers_send(int $status = 200): int {}

    /**
     * Finishes the response with the output so far; the script continues. Later output is dropped and does not end the
     * script.
     *
     * @return bool false if the response was already finished
     */
    function fastcgi_finish_request(): bool {}

    /** @alias fastcgi_finish_request */
    function frankenphp_finish_request(): bool {}

    /**
     * Returns the request's headers, with names in the form "Content-Type".
     *
     * @return array<string, string>
     */
    function apache_request_headers(): array {}

    /**
     * @alias apache_request_headers
     * @return array<string, string>
     */
    function getallheaders(): array {}

    /**
     * @alias apache_request_headers
     * @return array<string, string>
     */
    function frankenphp_request_headers(): array {}

    /**
     * Returns the response's headers so far; of several headers with the same name, the last one.
     *
     * @return array<string, string>
     */
    function apache_response_headers(): array {}

    /**
     * @alias apache_response_headers
     * @return array<string, string>
     */
    function frankenphp_response_headers(): array {}

    /**
     * Writes to the server's log, with the id of the current request.
     *
     * @param int $level one of FRANKENPHP_LOG_LEVEL_*; a value in between counts as the lower one
     * @param array<string, mixed> $context written as JSON after the message; values that JSON cannot represent are
     *     replaced
     */
    function frankenphp_log(string $message, int $level = 0, array $context = []): void {}

    /** Returns the request's id as in the server's logs: 16 hexadecimal digits, empty outside a request. */
    function howdah_request_id(): string {}

    /**
     * Configures the pool of connections behind a PDO object when a worker serves several requests at a time, or creates
     * a pool of other clients: the callback creates a client whenever a request needs one and none is free. A request
     * has its client until it ends; a transaction, MULTI or pipeline that it leaves open is rolled back then.
     *
     * In a worker that serves one request at a time, the PDO object is used unchanged, and a pool has one client.
     *
     * @param PDO|callable(): object $client
     * @param array{size?: int, idle?: int|float, wait?: int|float, check?: bool} $options size: clients in each worker;
     *     idle: seconds after which an unused client is closed, 0: never; wait: seconds that a request waits for a client;
     *     check: whether to check the server's connection before a client is used. Defaults: the ini settings
     *     howdah.pool_size, howdah.pool_idle, howdah.pool_wait and howdah.pool_check
     * @return ($client is PDO ? PDO : Howdah\Pool)
     * @throws TypeError if $client is neither a PDO object nor callable
     * @throws ValueError if an option is unknown or has an invalid value
     */
    function howdah_pool(object|callable $client, array $options = []): object {}

    /**
     * Publishes an update to the Mercure hub of the site, without HTTP and without a token. Subscribers get it
     * immediately, even if the client has disconnected or has received its whole response. Updates of one request keep
     * their order. If the process crashes and the request is retried (safe methods only, before any part of the response
     * was sent), an update may be published twice.
     *
     * @param string|string[] $topics 1 to 1,000 topics; the first one is canonical
     * @param string $data bytes that are not UTF-8 are replaced
     * @param bool $private only for subscribers whose token allows one of the topics
     * @param ?string $id the update's id; null or empty: a URN of a random UUID
     * @param ?string $type the event's type; null or empty: none, which browsers treat as "message"
     * @param ?int $retry milliseconds after which disconnected subscribers reconnect
     * @return string the update's id
     * @throws TypeError if a topic is not a string
     * @throws ValueError if a topic, the id or the type is invalid, or $retry is negative
     * @throws RuntimeException outside a request, if the site has no `mercure`, if the update exceeds 1 MiB, or if the
     *     request's time is over
     */
    function mercure_publish(string|array $topics, string $data = '', bool $private = false, ?string $id = null, ?string $type = null, ?int $retry = null): string {}
}

namespace Howdah {
    /**
     * Starts a callback as a coroutine of the request: while it waits (for a database, a socket, a sleep) the others
     * run. It shares the request's superglobals, output and settings. A coroutine that still runs when the request's own
     * code ends is cancelled. In a worker that runs one request at a time, the callback runs immediately and to its end.
     * An exception that no await() receives is reported as a warning; exit() ends the request.
     *
     * @param callable(mixed...): mixed $callback
     * @param mixed ...$arguments arguments of the callback
     */
    function spawn(callable $callback, mixed ...$arguments): Coroutine {}

    /**
     * Waits for a coroutine to end.
     *
     * @param ?float $timeout seconds; null: only the request's own limits
     * @return mixed the return value of its callback
     * @throws Throwable the exception of its callback
     * @throws TimeoutException if it has not ended in time; it continues to run
     * @throws CancelledException if it was cancelled
     */
    function await(Coroutine $coroutine, ?float $timeout = null): mixed {}

    /**
     * Runs callbacks concurrently and waits for all of them. The first exception is thrown; callbacks that were started
     * here and still run are cancelled then.
     *
     * @param array<callable(): mixed|Coroutine> $work callables, which are started, and coroutines
     * @return array<mixed> the results, with the keys of $work
     */
    function all(array $work): array {}

    /**
     * Runs callbacks concurrently and waits for the first one to end; the others that were started here are cancelled.
     * In a worker that runs one request at a time, only the first callback runs.
     *
     * @param non-empty-array<callable(): mixed|Coroutine> $work callables, which are started, and coroutines
     * @return mixed the result of the first one to end; its exception is thrown
     */
    function race(array $work): mixed {}

    /**
     * Runs a callback with a time limit, and cancels it when the time is over. Code that computes without waiting is not
     * interrupted.
     *
     * @param float $seconds 0 or more
     * @param callable(): mixed $callback
     * @return mixed the return value of the callback
     * @throws TimeoutException if it has not ended in time
     */
    function timeout(float $seconds, callable $callback): mixed {}

    /** A coroutine that spawn() started. */
    final class Coroutine
    {
        /** The same as await(). */
        public function await(?float $timeout = null): mixed {}

        /** Ends the coroutine where it waits; destructors and `finally` blocks run, `catch` blocks do not. */
        public function cancel(): void {}

        /** Whether the coroutine has ended: returned, thrown or been cancelled. */
        public function isDone(): bool {}
    }

    /**
     * Passes values between coroutines of a request, first come, first served. `foreach` receives until the channel is
     * closed and empty.
     *
     * @implements \IteratorAggregate<int, mixed>
     */
    final class Channel implements \IteratorAggregate, \Countable
    {
        /** @param int $capacity number of values that the channel holds; 0: a sender waits until its value is received */
        public function __construct(int $capacity = 0) {}

        /**
         * Sends a value; waits while the channel is full.
         *
         * @throws TimeoutException if there is no room in time
         * @throws ChannelClosedException if the channel is closed
         */
        public function send(mixed $value, ?float $timeout = null): void {}

        /**
         * Receives a value; waits while the channel is empty.
         *
         * @throws TimeoutException if there is no value in time
         * @throws ChannelClosedException if the channel is closed and empty
         */
        public function receive(?float $timeout = null): mixed {}

        /** Closes the channel: nothing more can be sent; remaining values can still be received. */
        public function close(): void {}

        /** Whether close() was called. */
        public function isClosed(): bool {}

        /** The number of values that the channel holds. */
        public function count(): int {}

        /** For `foreach`. */
        public function getIterator(): \Iterator {}
    }

    class TimeoutException extends \RuntimeException {}

    class CancelledException extends \RuntimeException {}

    class ChannelClosedException extends \RuntimeException {}

    /**
     * A pool of clients, made by howdah_pool().
     */
    final class Pool
    {
        private function __construct() {}

        /**
         * Returns the client of the current request: a free one, or one that the callback creates. It belongs to the
         * request until that ends.
         *
         * @throws SharedClientException if all are in use and none became free in time
         */
        public function get(): object {}

        /** Drops the request's client, because it is broken: the next get() returns another one. */
        public function discard(): void {}
    }

    /** Another request uses a shared client, and waiting for it is impossible. */
    class SharedClientException extends \RuntimeException {}
}
