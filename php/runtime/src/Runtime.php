<?php

declare(strict_types=1);

namespace Howdah\Runtime;

use InvalidArgumentException;
use Symfony\Component\HttpFoundation\Response;
use Symfony\Component\HttpKernel\HttpKernelInterface;
use Symfony\Component\Runtime\RunnerInterface;
use Symfony\Component\Runtime\SymfonyRuntime;

/**
 * Symfony's runtime, with a loop around the kernel if the server runs this script as a worker.
 */
class Runtime extends SymfonyRuntime
{
    private readonly int $maxRequests;

    private readonly bool $kernelPerRequest;

    /**
     * @param array<string, mixed> $options those of SymfonyRuntime, `worker_loop_max`: requests after which the script
     *                                      ends; 0, the default: never; and `kernel_per_request`: each request gets a
     *                                      copy of the kernel, with a separate container; false by default
     *
     * @throws InvalidArgumentException if `worker_loop_max` is not a number, or `kernel_per_request` not a boolean
     */
    public function __construct(array $options = [])
    {
        $limit = self::setting($options, 'worker_loop_max', 'FRANKENPHP_LOOP_MAX') ?? 0;
        $number = filter_var($limit, FILTER_VALIDATE_INT);
        if ($number === false) {
            throw new InvalidArgumentException('worker_loop_max (FRANKENPHP_LOOP_MAX) must be a whole number.');
        }
        $this->maxRequests = max(0, $number);
        // FRANKENPHP_RESET_KERNEL is Symfony's name since 8.1.
        $copies = self::setting($options, 'kernel_per_request', 'HOWDAH_KERNEL_PER_REQUEST')
            ?? self::setting($options, 'reset_kernel', 'FRANKENPHP_RESET_KERNEL') ?? false;
        $this->kernelPerRequest = filter_var($copies, FILTER_VALIDATE_BOOL, FILTER_NULL_ON_FAILURE)
            ?? throw new InvalidArgumentException(
                'kernel_per_request (HOWDAH_KERNEL_PER_REQUEST, FRANKENPHP_RESET_KERNEL) must be 1 or 0.',
            );
        parent::__construct($options);
    }

    public function getRunner(?object $application): RunnerInterface
    {
        if (($application instanceof HttpKernelInterface || $application instanceof Response) && self::isWorker()) {
            return new WorkerRunner($application, $this->maxRequests, $this->kernelPerRequest);
        }
        return parent::getRunner($application);
    }

    /**
     * @param array<string, mixed> $options
     */
    private static function setting(array $options, string $name, string $variable): mixed
    {
        return $options[$name] ?? $_SERVER[$variable] ?? $_ENV[$variable] ?? null;
    }

    private static function isWorker(): bool
    {
        return (bool) ($_SERVER['FRANKENPHP_WORKER'] ?? false) && function_exists('frankenphp_handle_request');
    }
}
