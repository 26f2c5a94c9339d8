<?php

namespace Laravel\Octane {
    final class Worker
    {
    }
}

namespace {
    require __DIR__ . '/laravel.inc';
}
