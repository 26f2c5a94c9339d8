<?php

declare(strict_types=1);

namespace Laravel\Octane;

/**
 * Stand-in.
 */
final class RequestContext
{
}
