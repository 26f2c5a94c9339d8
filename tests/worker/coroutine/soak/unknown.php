<?php

// An extension that Howdah does not know (worker/tests/probe.c). Each of its functions waits, and records whether
// another request is inside it.

declare(strict_types=1);

return static fn (): array => [
    'unknown' => static function (string $id): void {
        $probe = new Howdah\Probe($id);
        $copy = clone $probe;
        need($probe->name() === $id && $copy->name() === $id, 'the object of another one');
        unset($probe);
        need($copy->name() === $id, 'the copy of another one');
        unset($copy);
        need(!howdah_probe_met(), 'two requests in the extension');
    },
];
