<?php

declare(strict_types=1);

namespace CodeIgniter\Config;

/**
 * Stand-in: the services.
 */
class BaseService
{
    /** @var array<string, object> */
    protected static $instances = [];
}
