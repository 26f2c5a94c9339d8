<?php

// Three slow calls at the same time, fifty concurrent requests in one process. README.md has the commands to run it.

declare(strict_types=1);

/** Seconds that each of the slow services takes to answer. */
const SLOW = 0.3;

/**
 * Stands for a database, an API or a mail server: something that answers late. It waits as stream_select(), PDO or
 * curl_exec() would, and other coroutines run meanwhile.
 */
function slow_service(string $name, float $seconds, string $who): string
{
    usleep((int) ($seconds * 1_000_000));
    return "$name of $who";
}

/** The page: all it uses is made for this request. */
function page(): void
{
    $who = (string) ($_GET['who'] ?? 'nobody');
    $seconds = min(5.0, max(0.0, (float) ($_GET['seconds'] ?? SLOW)));
    $begin = hrtime(true);
    $call = fn(string $name): Closure => fn(): string => slow_service($name, $seconds, $who);
    $work = ['prices' => $call('prices'), 'stock' => $call('stock'), 'reviews' => $call('reviews')];
    // Outside of Howdah, one after the other.
    $answers = function_exists('Howdah\all')
        ? Howdah\all($work)
        : array_map(fn(Closure $slow): string => $slow(), $work);

    header('Content-Type: application/json');
    echo json_encode([
        'answers' => $answers,
        'milliseconds' => intdiv(hrtime(true) - $begin, 1_000_000),
        'process' => getmypid(),
    ], JSON_THROW_ON_ERROR | JSON_INVALID_UTF8_SUBSTITUTE), "\n";
}

if (!isset($_SERVER['FRANKENPHP_WORKER'])) {
    page();
    return;
}

ignore_user_abort(true);
while (frankenphp_handle_request(page(...))) {
    gc_collect_cycles();
}
