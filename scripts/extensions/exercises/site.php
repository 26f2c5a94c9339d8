<?php

// Runs one exercise: on the command line (`site.php NAME N`), for a request of classic mode, or in a worker's loop.

declare(strict_types=1);

/** @return array<string, array{what: string, run: Closure, boot?: Closure}> all exercises */
function exercises(): array
{
    $found = [];
    foreach (['builtin', 'text', 'files', 'clients'] as $file) {
        $found += require __DIR__ . "/$file.php";
    }
    return $found;
}

/** What an exercise found, as text that can be compared. */
function outcome(array $exercise, int $n, mixed $shared): string
{
    // As long as others may come in between, and never the same.
    $wait = static fn() => usleep(random_int(200, 2000));
    try {
        if ($shared instanceof Throwable) {
            throw $shared;
        }
        $found = ($exercise['run'])($n, $wait, $shared);
    } catch (Throwable $error) {
        $found = ['failed' => $error::class . ': ' . $error->getMessage(), 'at' => $error->getTraceAsString()];
    }
    return json_encode($found, JSON_INVALID_UTF8_SUBSTITUTE | JSON_PARTIAL_OUTPUT_ON_ERROR | JSON_UNESCAPED_UNICODE);
}

/** The handle that requests share. */
function shared(array $exercise): mixed
{
    try {
        return isset($exercise['boot']) ? ($exercise['boot'])() : null;
    } catch (Throwable $error) {
        return $error;
    }
}

// Differences of the command line's ini file are not differences of PHP.
error_reporting(E_ALL & ~E_DEPRECATED);
ini_set('display_errors', '0');
$exercises = exercises();
if (($argv[1] ?? '') === '--list') {
    echo json_encode(array_map(static fn(array $exercise): string => $exercise['what'], $exercises));
    return;
}
if (PHP_SAPI === 'cli') {
    $exercise = $exercises[$argv[1]];
    echo outcome($exercise, (int) $argv[2], shared($exercise));
    return;
}
$serve = static function (array $handles) use ($exercises): void {
    $name = $_GET['name'];
    $shared = $handles[$name] ?? shared($exercises[$name]);
    $outcome = outcome($exercises[$name], (int) $_GET['n'], $shared);
    header('Content-Type: application/json');
    echo $outcome;
};
if (!isset($_SERVER['EXERCISES'])) {
    $serve([]);
    return;
}
$handles = [];
foreach (explode(' ', $_SERVER['EXERCISES']) as $name) {
    $handles[$name] = shared($exercises[$name]);
}
while (frankenphp_handle_request(static fn() => $serve($handles))) {
    continue;
}
