<?php

declare(strict_types=1);

namespace Caravan\Model;

use PDO;
use RuntimeException;

/**
 * The SQLite connection; makes and seeds the database on first use.
 */
final class Database
{
    /**
     * Statements that lead from each version of the schema to the next. The number of versions is kept in
     * SQLite's user_version; add to the end, never change released versions.
     */
    private const MIGRATIONS = [
        [
            'CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, shown_name TEXT NOT NULL,
                password_hash TEXT NOT NULL) STRICT',
            'CREATE TABLE entries (id INTEGER PRIMARY KEY, author_id INTEGER NOT NULL REFERENCES users (id),
                title TEXT NOT NULL, place TEXT NOT NULL, body TEXT NOT NULL, created_at INTEGER NOT NULL) STRICT',
            'CREATE TABLE comments (id INTEGER PRIMARY KEY, entry_id INTEGER NOT NULL REFERENCES entries (id),
                author TEXT NOT NULL, body TEXT NOT NULL, created_at INTEGER NOT NULL) STRICT',
            'CREATE INDEX comments_entry ON comments (entry_id)',
            'CREATE TABLE photos (id TEXT PRIMARY KEY, entry_id INTEGER NOT NULL REFERENCES entries (id),
                type TEXT NOT NULL, bytes INTEGER NOT NULL, width INTEGER NOT NULL, height INTEGER NOT NULL,
                created_at INTEGER NOT NULL) STRICT',
            'CREATE INDEX photos_entry ON photos (entry_id)',
            'CREATE TABLE login_failures (address TEXT NOT NULL, at INTEGER NOT NULL) STRICT',
            'CREATE INDEX login_failures_address ON login_failures (address, at)',
        ],
    ];

    public static function open(DataDirectory $directory): Store
    {
        $pdo = new PDO('sqlite:' . $directory->database(), null, null, [
            PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION,
            PDO::ATTR_TIMEOUT => 10,
        ]);
        $pdo->exec('PRAGMA foreign_keys = ON; PRAGMA synchronous = NORMAL');
        $store = new Store($pdo);
        if ($store->number('PRAGMA user_version') < count(self::MIGRATIONS)) {
            self::migrate($store, $directory->lock());
        }
        return $store;
    }

    /**
     * Many first requests may arrive together: one of them does the work, the others wait for the lock and
     * then find it done. A file lock, because SQLite does not wait when the journal mode is changed.
     */
    private static function migrate(Store $store, string $lockFile): void
    {
        $lock = fopen($lockFile, 'c');
        if ($lock === false || !flock($lock, LOCK_EX)) {
            throw new RuntimeException("Cannot lock $lockFile.");
        }
        try {
            $version = $store->number('PRAGMA user_version');
            if ($version >= count(self::MIGRATIONS)) {
                return;
            }
            $store->run('PRAGMA journal_mode = WAL');
            $store->run('BEGIN IMMEDIATE');
            foreach (array_slice(self::MIGRATIONS, $version) as $statements) {
                foreach ($statements as $statement) {
                    $store->run($statement);
                }
            }
            if ($version === 0) {
                Seed::plant($store);
            }
            $store->run('PRAGMA user_version = ' . count(self::MIGRATIONS));
            $store->run('COMMIT');
        } finally {
            flock($lock, LOCK_UN);
            fclose($lock);
        }
    }
}
