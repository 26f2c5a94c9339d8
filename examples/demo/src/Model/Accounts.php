<?php

declare(strict_types=1);

namespace Caravan\Model;

use Caravan\Typed;

/**
 * Who may write, and how often somebody may guess a password.
 */
final class Accounts
{
    /** Failed logins that one address may have within the window. */
    private const FAILURES = 10;

    private const WINDOW_SECONDS = 300;

    /** Hash of an unknown password. */
    private const UNKNOWN_HASH = '$2y$10$X5OG3wNZAWYAik7SJxV8n.0Vd3a4WfiFg0j3lF7PsbO1DzzWB50fu';

    public function __construct(private readonly Store $store)
    {
    }

    /**
     * @return array{id: int, name: string}|null
     */
    public function check(string $name, #[\SensitiveParameter] string $password): ?array
    {
        $row = $this->store->row('SELECT id, shown_name, password_hash FROM users WHERE name = ?', $name);
        // An unknown name costs the same time as a wrong password, and so cannot be distinguished from it.
        $hash = $row === null ? self::UNKNOWN_HASH : Typed::string($row, 'password_hash');
        if (!password_verify($password, $hash) || $row === null) {
            return null;
        }
        return ['id' => Typed::int($row, 'id'), 'name' => Typed::string($row, 'shown_name')];
    }

    /**
     * Counts a login attempt before the password is looked at, so that parallel guesses count too.
     *
     * @return int 0, or the seconds to wait when the address has failed too often
     */
    public function attempt(string $address): int
    {
        $now = time();
        $this->store->run('BEGIN IMMEDIATE');
        $this->store->run('DELETE FROM login_failures WHERE at <= ?', $now - self::WINDOW_SECONDS);
        $failures = $this->store->number('SELECT COUNT(*) FROM login_failures WHERE address = ?', $address);
        $wait = 0;
        if ($failures >= self::FAILURES) {
            $first = $this->store->number('SELECT MIN(at) FROM login_failures WHERE address = ?', $address);
            $wait = max(1, $first + self::WINDOW_SECONDS - $now);
        } else {
            $this->store->run('INSERT INTO login_failures (address, at) VALUES (?, ?)', $address, $now);
        }
        $this->store->run('COMMIT');
        return $wait;
    }

    /**
     * A login that went well makes up for the failures before it.
     */
    public function forgive(string $address): void
    {
        $this->store->run('DELETE FROM login_failures WHERE address = ?', $address);
    }

    public static function hash(#[\SensitiveParameter] string $password): string
    {
        return password_hash($password, PASSWORD_DEFAULT);
    }
}
