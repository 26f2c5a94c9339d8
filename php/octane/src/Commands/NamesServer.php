<?php

declare(strict_types=1);

namespace Howdah\Octane\Commands;

/**
 * For commands with `--server`, which may be howdah.
 */
trait NamesServer
{
    private function isHowdah(): bool
    {
        return ($this->option('server') ?: config('octane.server')) === 'howdah';
    }
}
