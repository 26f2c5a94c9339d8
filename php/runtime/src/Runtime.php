<?php

declare(strict_types=1);

namespace Howdah\Runtime;

use InvalidArgumentException;
use Symfony\Component\HttpKernel\HttpKernelInterface;
use Symfony\Component\Runtime\RunnerInterface;
use Symfony\Component\Runtime\SymfonyRuntime;

/**
 * Symfony's own runtime, with a loop around the kernel where the server runs this script as a worker.
 */
class Runtime extends SymfonyRuntime
{
    private readonly int $maxRequests;

    private readonly bool $kernelPerRequest;

    /**
     * @param array<string, mixed> $options those of SymfonyRuntime, `worker_loop_max`: requests after which the script
     *                                      ends; 0, the default: never; and `kernel_per_request`: each request gets a
     *                                      copy of the kernel, with a container of its own; false by default
     *
     * @throws InvalidArgumentException if `worker_loop_max` is no number, or `kernel_per_request` neither yes nor no
     */
    public function __construct(array $options = [])
    {
        $limit = $options['worker_loop_max']
            ?? $_SERVER['FRANKENPHP_LOOP_MAX'] ?? $_ENV['FRANKENPHP_LOOP_MAX'] ?? 0;
        $number = filter_var($limit, FILTER_VALIDATE_INT);
        if ($number === false) {
            throw new InvalidArgumentException('worker_loop_max (FRANKENPHP_LOOP_MAX) must be a whole number.');
        }
        $this->maxRequests = max(0, $number);
        $copies = $options['kernel_per_request']
            ?? $_SERVER['HOWDAH_KERNEL_PER_REQUEST'] ?? $_ENV['HOWDAH_KERNEL_PER_REQUEST'] ?? false;
        $this->kernelPerRequest = filter_var($copies, FILTER_VALIDATE_BOOL, FILTER_NULL_ON_FAILURE)
            ?? throw new InvalidArgumentException(
                'kernel_per_request (HOWDAH_KERNEL_PER_REQUEST) must be 1 or 0.',
            );
        parent::__construct($options);
    }

    public function getRunner(?object $application): RunnerInterface
    {
        if ($application instanceof HttpKernelInterface && self::isWorker()) {
            return new WorkerRunner($application, $this->maxRequests, $this->kernelPerRequest);
        }
        return parent::getRunner($application);
    }

    private static function isWorker(): bool
    {
        return (bool) ($_SERVER['FRANKENPHP_WORKER'] ?? false) && function_exists('frankenphp_handle_request');
    }
}
