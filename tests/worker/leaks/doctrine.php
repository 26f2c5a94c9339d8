<?php

// Stands for Doctrine in Symfony, whose bundle clears the entity manager at the start of each request.

namespace Symfony\Contracts\Service {
    interface ResetInterface
    {
    }
}

namespace Doctrine\ORM {
    final class UnitOfWork
    {
        /** @var array<int, string> */
        public array $originalEntityData = [];
    }
}

namespace {
    $unit = new Doctrine\ORM\UnitOfWork();

    function handle(): void
    {
        global $unit;
        if (!isset($_GET['keep'])) {
            $unit->originalEntityData = [];
        }
        $unit->originalEntityData[random_int(1, 1 << 40)] = $_GET['user'] ?? 'nobody';
    }
    while (frankenphp_handle_request('handle'));
}
