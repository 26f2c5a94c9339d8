<?php

declare(strict_types=1);

namespace Howdah\CodeIgniter4;

use CodeIgniter\CodeIgniter;
use CodeIgniter\Config\BaseService;
use CodeIgniter\Config\Factories;
use CodeIgniter\Config\Services;
use CodeIgniter\Debug\Exceptions;
use CodeIgniter\Debug\Toolbar\Collectors\Database as QueryCollector;
use CodeIgniter\Events\Events;
use CodeIgniter\Router\RouteCollection;
use CodeIgniter\Session\Handlers\MemcachedHandler;
use CodeIgniter\Session\Handlers\RedisHandler;
use Config\App;
use Config\Session;
use Howdah\CodeIgniter4\Session\PooledMemcachedHandler;
use Howdah\CodeIgniter4\Session\PooledRedisHandler;

/**
 * State of a request that CodeIgniter stores in objects and static properties of the process.
 */
final class RequestState
{
    /** Services without state of a request. Each request creates all other services again. */
    private const PERSISTENT =
        ['autoloader', 'locator', 'exceptions', 'commands', 'codeigniter', 'routes', 'cache', 'responsecache'];

    private const OF_THE_APPLICATION =
        ['request', 'response', 'router', 'controller', 'method', 'output', 'path', 'startTime'];

    private const POOLED = [
        RedisHandler::class => PooledRedisHandler::class,
        MemcachedHandler::class => PooledMemcachedHandler::class,
    ];

    /** @var list<Property> */
    private readonly array $ofTheApplication;

    private readonly Property $services;

    private readonly Property $listeners;

    private readonly mixed $bootListeners;

    public function __construct(private readonly CodeIgniter $application)
    {
        $this->ofTheApplication = array_map(
            static fn (string $name): Property => new Property(CodeIgniter::class, $name),
            self::OF_THE_APPLICATION,
        );
        $this->services = new Property(BaseService::class, 'instances');
        $this->listeners = new Property(Events::class, 'listeners');
        // Includes Config/Events.php, whose listeners are the same for all requests.
        Events::initialize();
        $this->bootListeners = $this->listeners->get();
        $this->end();
    }

    /**
     * Before a request: its superglobals are set.
     */
    public function begin(): void
    {
        $config = Factories::config(App::class);
        if ($config instanceof App) {
            locale_set_default($config->defaultLocale);
            date_default_timezone_set($config->appTimezone);
        }
        $session = Factories::config(Session::class);
        if ($session instanceof Session) {
            $session->driver = self::POOLED[$session->driver] ?? $session->driver;
        }
        $this->forgetRoutesOfAnotherHost();

        // CodeIgniter 4.3 sets the request of the exception handler only once, at the boot.
        $exceptions = Services::exceptions();
        $request = new Property(Exceptions::class, 'request');
        if ($request->get($exceptions) !== null) {
            $request->set(Services::request(), $exceptions);
            (new Property(Exceptions::class, 'response'))->set(Services::response(), $exceptions);
        }
    }

    /**
     * After the response.
     */
    public function end(): void
    {
        foreach ($this->ofTheApplication as $property) {
            $property->set(null, $this->application);
        }
        (new Property(CodeIgniter::class, 'totalTime'))->set(0, $this->application);
        $services = $this->services->get();
        if (is_array($services)) {
            $this->services->set(array_intersect_key($services, array_flip(self::PERSISTENT)));
        }
        Factories::reset();

        // Config/Events.php also adds listeners in `pre_system`, for the debug toolbar.
        $this->listeners->set($this->bootListeners);
        (new Property(Events::class, 'performanceLog'))->set([]);
        (new Property(QueryCollector::class, 'queries'))->set([]);
    }

    /**
     * Routes with a host name depend on the host for which they were loaded.
     */
    private function forgetRoutesOfAnotherHost(): void
    {
        $services = $this->services->get();
        $routes = is_array($services) ? $services['routes'] ?? null : null;
        if (!$routes instanceof RouteCollection) {
            return;
        }
        $host = (new Property(RouteCollection::class, 'httpHost'))->get($routes);
        if ($host !== ($_SERVER['HTTP_HOST'] ?? null)) {
            Services::resetSingle('routes');
        }
    }
}
