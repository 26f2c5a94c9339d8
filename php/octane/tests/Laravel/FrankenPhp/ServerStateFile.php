<?php

declare(strict_types=1);

namespace Laravel\Octane\FrankenPhp;

/**
 * Stand-in: the file in which Octane stores the state of a server.
 */
class ServerStateFile
{
    public function __construct(private readonly string $path)
    {
    }

    /**
     * @return array{masterProcessId: ?int, state: array<string, mixed>}
     */
    public function read(): array
    {
        $text = is_file($this->path) ? file_get_contents($this->path) : '';
        $read = json_decode((string) $text, true);
        $read = is_array($read) ? $read : [];
        return ['masterProcessId' => $read['masterProcessId'] ?? null, 'state' => $read['state'] ?? []];
    }

    /**
     * @param array<string, mixed> $state
     */
    public function writeState(array $state): void
    {
        file_put_contents($this->path, json_encode(['masterProcessId' => null, 'state' => $state]));
    }
}
