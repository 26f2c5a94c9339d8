<?php

declare(strict_types=1);

namespace Laravel\Octane\Contracts;

/**
 * Stand-in.
 */
interface Client
{
}
