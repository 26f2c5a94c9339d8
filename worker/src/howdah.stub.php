<?php

/** @generate-class-entries */

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
 * booted script, and what a fork must not share is made anew here. Call it before the first
 * frankenphp_handle_request(). A callback that throws or exits fails the worker's start.
 *
 * @param callable(): void $callback
 * @throws RuntimeException outside the boot of a worker script
 */
function howdah_after_fork(callable $callback): void {}

/**
 * Sends the headers that have been set. A status of 103 (or another 1xx) sends an interim response, for
 * instance early hints, and leaves the response open; remove headers that are not to be sent again. The
 * client gets it at once on HTTP/1.1, and not over HTTP/1.0 and HTTP/2. 100 and 101 are never sent, nor is
 * one with more than 16 KiB of headers; the log says so.
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
 * @param array<string, mixed> $context is written as JSON behind the message
 * @throws RuntimeException if the context cannot be written as JSON
 */
function frankenphp_log(string $message, int $level = 0, array $context = []): void {}

/** The request's id as in the server's logs: 16 hexadecimal digits, empty outside a request. */
function howdah_request_id(): string {}
