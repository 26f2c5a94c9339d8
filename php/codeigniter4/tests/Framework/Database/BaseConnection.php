<?php

declare(strict_types=1);

namespace CodeIgniter\Database;

use RuntimeException;

/**
 * Stand-in: a connection, with the settings that a request may change.
 *
 * @template TConnection
 * @template TResult
 */
class BaseConnection
{
    public mixed $connID = 'handle';
    /** @var list<string> */
    public array $calls = [];
    public bool $isAlive = true;
    public bool $rollsBack = true;
    public mixed $lastQuery = 'of the request';
    protected int $transDepth = 0;
    protected bool $transStatus = false;
    protected bool $transFailure = true;
    protected bool $transEnabled = false;
    /** @var list<string> */
    protected array $aliasedTables = ['a'];

    public function transBegin(): void
    {
        $this->transDepth++;
    }

    public function transRollback(): bool
    {
        $this->calls[] = 'rollback';
        if (!$this->isAlive) {
            throw new RuntimeException('gone away');
        }
        $this->transDepth--;
        return $this->rollsBack;
    }

    public function simpleQuery(string $sql): mixed
    {
        $this->calls[] = $sql;
        return $this->isAlive;
    }

    public function getPlatform(): string
    {
        return 'stand-in';
    }

    public function close(): void
    {
        $this->calls[] = 'close';
        if (!$this->isAlive) {
            throw new RuntimeException('gone away');
        }
        $this->connID = false;
    }

    /**
     * @return list<mixed>
     */
    public function settings(): array
    {
        return [
            $this->transDepth, $this->transStatus, $this->transFailure, $this->transEnabled, $this->lastQuery,
            $this->aliasedTables,
        ];
    }
}
