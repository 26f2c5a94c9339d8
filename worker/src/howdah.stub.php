<?php

/** @generate-class-entries */

/**
 * Sends what was written so far as the whole response; the script goes on. Later output is dropped and
 * does not end the script.
 *
 * @return bool false if the response was finished before
 */
function fastcgi_finish_request(): bool {}

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
 * The response's headers so far; of headers of one name the last.
 *
 * @return array<string, string>
 */
function apache_response_headers(): array {}

/** The request's id as in the server's logs: 16 hexadecimal digits, empty outside a request. */
function howdah_request_id(): string {}
