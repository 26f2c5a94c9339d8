<?php

// What `howdah doctor --dsn` asks a database: one JSON object on standard output. The environment variable
// HOWDAH_DOCTOR_DSN has a DSN of PDO, or a URL as frameworks have it.

declare(strict_types=1);

/** @return array{string, ?string, ?string} DSN of PDO, user, password */
function dsn(string $text): array
{
    if (!str_contains($text, '://')) {
        return [$text, null, null];
    }
    $url = parse_url($text);
    if ($url === false) {
        throw new RuntimeException('the URL is malformed');
    }
    $driver = match ($url['scheme'] ?? '') {
        'mysql', 'mysqli', 'mariadb', 'pdo-mysql' => 'mysql',
        'postgresql', 'postgres', 'pgsql', 'pdo-pgsql' => 'pgsql',
        default => throw new RuntimeException('only mysql:// and postgresql:// are supported'),
    };
    $parts = ['host' => $url['host'] ?? 'localhost', 'port' => $url['port'] ?? null];
    $parts['dbname'] = trim($url['path'] ?? '', '/') ?: null;
    $parts = array_filter($parts, static fn ($value) => $value !== null);
    $pairs = array_map(static fn ($name, $value) => "$name=$value", array_keys($parts), $parts);
    $decode = static fn (?string $value) => $value === null ? null : rawurldecode($value);
    return ["$driver:" . implode(';', $pairs), $decode($url['user'] ?? null), $decode($url['pass'] ?? null)];
}

/** @return array<string, int> */
function ask(PDO $pdo): array
{
    $number = static fn (string $query) => (int) $pdo->query($query)->fetchColumn();
    if ($pdo->getAttribute(PDO::ATTR_DRIVER_NAME) === 'mysql') {
        $status = $pdo->query("SHOW GLOBAL STATUS LIKE 'Threads_connected'")->fetch(PDO::FETCH_NUM);
        return [
            'max' => $number('SELECT @@GLOBAL.max_connections'),
            // One place more is for administrators, which max_connections does not count.
            'reserved' => 0,
            'user_max' => $number('SELECT @@SESSION.max_user_connections'),
            'used' => (int) $status[1] - 1,
        ];
    }
    return [
        'max' => $number("SELECT current_setting('max_connections')"),
        // The second one is of PostgreSQL 16 and later.
        'reserved' => $number("SELECT current_setting('superuser_reserved_connections')")
            + $number("SELECT current_setting('reserved_connections', true)"),
        'user_max' => max(0, $number('SELECT rolconnlimit FROM pg_roles WHERE rolname = current_user')),
        'used' => $number("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'") - 1,
    ];
}

/** A message of the driver, which may quote parts of the DSN, without the password. */
function masked(string $message, string $dsn): string
{
    preg_match_all('/(?:password|passwd|pass|pwd)\s*=\s*([^;]*)/i', $dsn, $found);
    $url = str_contains($dsn, '://') ? parse_url($dsn) : false;
    // libpq quotes single words.
    $words = preg_split('/[\s\'"\\\\]+/', implode(' ', $found[1]) . ' ' . rawurldecode($url['pass'] ?? ''));
    $words = array_filter([...$found[1], ...$words], static fn (string $word) => strlen($word) > 2);
    return str_replace($words, '(hidden)', $message);
}

try {
    [$dsn, $user, $password] = dsn((string) getenv('HOWDAH_DOCTOR_DSN'));
    if (!preg_match('/^(mysql|pgsql):/', $dsn)) {
        throw new RuntimeException('only mysql: and pgsql: are supported');
    }
    $options = [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION, PDO::ATTR_TIMEOUT => 5];
    $found = ask(new PDO($dsn, $user, $password, $options));
} catch (Throwable $error) {
    // libpq has a line for each of its attempts, MariaDB none.
    $text = masked($error->getMessage(), (string) getenv('HOWDAH_DOCTOR_DSN'));
    $text = preg_replace('/\s+/', ' ', trim($text));
    $found = ['error' => $text, 'is_refusal' => $error instanceof PDOException && !str_contains($text, 'driver')];
}
echo json_encode($found, JSON_THROW_ON_ERROR | JSON_INVALID_UTF8_SUBSTITUTE);
