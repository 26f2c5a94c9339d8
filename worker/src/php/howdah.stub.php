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
     * Waits for a request and runs the callback for it; superglobals, input, headers and output are the
     * request's. Returns when its response has been sent. The first call ends the boot of the worker script.
     *
     * @param callable(): mixed $callback its result is ignored
     * @return bool false: the worker is to end, leave the loop
     * @throws RuntimeException outside a worker script, or while a request is handled
     */
    function frankenphp_handle_request(callable $callback): bool {}

    /**
     * @alias frankenphp_handle_request
     * @param callable(): mixed $callback
     */
    function howdah_handle_request(callable $callback): bool {}

    /**
     * Registers a callback that each worker runs once before its first request: workers are forks of one
     * booted script, and what a fork must not share is created again here. Call it before the first
     * frankenphp_handle_request(). A callback that throws or exits fails the worker's start.
     *
     * @param callable(): void $callback
     * @throws RuntimeException outside the boot of a worker script
     */
    function howdah_after_fork(callable $callback): void {}

    /**
     * Registers a callback that runs at the start of each request, when its superglobals are there and before its
     * code: for tools that watch requests one by one. What it throws is a warning, exit() ends the request. Call it
     * before the first frankenphp_handle_request(); several run in their order.
     *
     * @param callable(): void $callback
     * @throws RuntimeException outside the boot of a worker script
     */
    function howdah_on_request_start(callable $callback): void {}

    /**
     * The same for the end of each request: after its code and its shutdown functions, also after an exception, exit()
     * or a fatal error, and before its response ends. The last registered runs first.
     *
     * @param callable(): void $callback
     * @throws RuntimeException outside the boot of a worker script
     */
    function howdah_on_request_end(callable $callback): void {}

    /**
     * Sends the headers that have been set. A status of 103 (or another 1xx) sends an interim response, for
     * instance early hints, and leaves the response open; remove headers that must not be sent again. The
     * client gets it at once, and not over HTTP/1.0. 100 and 101 are never sent, nor is one with more than
     * 16 KiB of headers; the log says so.
     *
     * @return int 1 if an interim response was sent, 0 if the response's headers were
     */
    function headers_send(int $status = 200): int {}

    /**
     * Sends what was written so far as the whole response; the script goes on. Later output is dropped and
     * does not end the script.
     *
     * @return bool false if the response was finished before
     */
    function fastcgi_finish_request(): bool {}

    /** @alias fastcgi_finish_request */
    function frankenphp_finish_request(): bool {}

    /**
     * The request's headers, names in the form "Content-Type".
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
     * The response's headers so far; of headers of one name the last.
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
     * Writes to the server's log, with the id of the request in hand.
     *
     * @param int $level one of FRANKENPHP_LOG_LEVEL_*; values between them count as the lower one
     * @param array<string, mixed> $context is written as JSON behind the message; what JSON cannot say is replaced
     */
    function frankenphp_log(string $message, int $level = 0, array $context = []): void {}

    /** The request's id as in the server's logs: 16 hexadecimal digits, empty outside a request. */
    function howdah_request_id(): string {}

    /**
     * Sets how many connections stand behind a PDO object when a worker serves several requests at a time, or makes a
     * pool of other clients: the callback makes one whenever a request asks and none is free. What a request has got is
     * its own until it ends; a transaction, MULTI or pipeline that it leaves open is rolled back then.
     *
     * In a worker that serves one request at a time, the PDO object is used as it is, and a pool has one client.
     *
     * @param PDO|callable(): object $client
     * @param array{size?: int, idle?: int|float, wait?: int|float, check?: bool} $options size: clients in each worker;
     *     idle: seconds after which one that is not used is closed, 0: never; wait: seconds that a request waits for one;
     *     check: look whether the server has gone before one is used. What is not given is as the ini settings
     *     howdah.pool_size, howdah.pool_idle, howdah.pool_wait and howdah.pool_check say.
     * @return ($client is PDO ? PDO : Howdah\Pool)
     * @throws TypeError if it is neither
     * @throws ValueError if an option is not known or not a possible one
     */
    function howdah_pool(object|callable $client, array $options = []): object {}

    /**
     * Publishes an update to the Mercure hub of the site, without HTTP and without a token. It is sent on at once,
     * also when the client has gone or has its whole response. The updates of a request come in their order. If its
     * process dies, a request that is run again (with GET and the like, before anything of its response was sent)
     * may publish an update again.
     *
     * @param string|string[] $topics 1 to 1,000; the first is the canonical one
     * @param string $data bytes that are not UTF-8 are replaced
     * @param bool $private only for subscribers whose token allows one of the topics
     * @param ?string $id null or empty: a URN of a random UUID
     * @param ?string $type of the event; null or empty: none, which is "message" in browsers
     * @param ?int $retry milliseconds after which subscribers come back that were cut off
     * @return string the id
     * @throws TypeError if a topic is not a string
     * @throws ValueError if a topic, the id or the type cannot be one, or $retry is negative
     * @throws RuntimeException outside a request, if the site has no `mercure`, if the update takes more than 1 MiB,
     *     or if the request's time is over
     */
    function mercure_publish(string|array $topics, string $data = '', bool $private = false, ?string $id = null, ?string $type = null, ?int $retry = null): string {}
}

namespace Howdah {
    /**
     * Starts a callback as a coroutine of the request: while it waits (for a database, a socket, a sleep) the
     * others run. It shares the request's superglobals, output and settings, and ends with it: what is not
     * awaited is cancelled when the request's own code is over. Where a worker runs one request at a time the
     * callback runs at once, to its end. An exception that no await() receives is reported as a warning;
     * exit() ends the request.
     *
     * @param callable(mixed...): mixed $callback
     * @param mixed ...$arguments of the callback
     */
    function spawn(callable $callback, mixed ...$arguments): Coroutine {}

    /**
     * Waits for a coroutine to end.
     *
     * @param ?float $timeout seconds; null: no limit but the request's
     * @return mixed what its callback returned
     * @throws Throwable what the callback threw
     * @throws TimeoutException it has not ended within the time; it goes on
     * @throws CancelledException it was cancelled
     */
    function await(Coroutine $coroutine, ?float $timeout = null): mixed {}

    /**
     * Runs callbacks at the same time and waits for all. The first exception ends it: it is thrown, and what was
     * started here and still runs is cancelled.
     *
     * @param array<callable(): mixed|Coroutine> $work callables are started
     * @return array<mixed> the results, with the keys of $work
     */
    function all(array $work): array {}

    /**
     * Runs callbacks at the same time and waits for the first to end; the others that were started here are
     * cancelled. Where a worker runs one request at a time only the first is run.
     *
     * @param non-empty-array<callable(): mixed|Coroutine> $work callables are started
     * @return mixed the result of the first; its exception is thrown
     */
    function race(array $work): mixed {}

    /**
     * Runs a callback for so long at most, then cancels it. Code that computes without waiting is not
     * interrupted.
     *
     * @param float $seconds 0 or more
     * @param callable(): mixed $callback
     * @return mixed what the callback returned
     * @throws TimeoutException it has not ended within the time
     */
    function timeout(float $seconds, callable $callback): mixed {}

    /** A coroutine that spawn() started. */
    final class Coroutine
    {
        /** As await(). */
        public function await(?float $timeout = null): mixed {}

        /** Ends it where it waits; its destructors and `finally` blocks run, `catch` does not. */
        public function cancel(): void {}

        /** Whether it has ended, in whatever way. */
        public function isDone(): bool {}
    }

    /**
     * Carries values from one coroutine of a request to another, first come, first served. `foreach` receives until
     * it is closed and empty.
     *
     * @implements \IteratorAggregate<int, mixed>
     */
    final class Channel implements \IteratorAggregate, \Countable
    {
        /** @param int $capacity values that it holds; 0: a sender waits until its value was received */
        public function __construct(int $capacity = 0) {}

        /**
         * Waits while the channel is full.
         *
         * @throws TimeoutException no room within so many seconds
         * @throws ChannelClosedException
         */
        public function send(mixed $value, ?float $timeout = null): void {}

        /**
         * Waits while the channel is empty.
         *
         * @throws TimeoutException nothing within so many seconds
         * @throws ChannelClosedException it is closed and empty
         */
        public function receive(?float $timeout = null): mixed {}

        /** Nothing more can be sent; what it holds can still be received. */
        public function close(): void {}

        /** Whether close() was called. */
        public function isClosed(): bool {}

        /** Values that it holds. */
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
         * The client of the request at hand: one that is free, or that the callback makes. It is the request's until
         * that ends.
         *
         * @throws SharedClientException if all are in use and none became free in time
         */
        public function get(): object {}

        /** Forgets the request's client, because it is broken: the next get() gives another one. */
        public function discard(): void {}
    }

    /** A client that requests share is in use by another one, and cannot be waited for. */
    class SharedClientException extends \RuntimeException {}
}
