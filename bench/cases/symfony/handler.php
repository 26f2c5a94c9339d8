<?php

declare(strict_types=1);

// What app/worker.php does, for servers without FrankenPHP's loop.
use App\Kernel;
use Symfony\Component\HttpFoundation\Request;

require __DIR__.'/app/bootstrap.php';
$kernel = new Kernel('prod', false);

return static function () use ($kernel): void {
    $request = Request::createFromGlobals();
    $response = $kernel->handle($request);
    $response->send();
    $kernel->terminate($request, $response);
};
