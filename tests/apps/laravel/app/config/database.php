<?php

declare(strict_types=1);

return [
    'default' => 'sqlite',
    'connections' => ['sqlite' => ['driver' => 'sqlite', 'database' => dirname(__DIR__) . '/data/laravel.sqlite']],
    'migrations' => 'migrations',
];
