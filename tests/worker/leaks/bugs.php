<?php

// Bugs of applications that were written for php-fpm, one on each page: state of one visitor that the next one gets.

declare(strict_types=1);

namespace Bugs;

final class Request
{
    public readonly string $user;
    public readonly array $server;

    public function __construct()
    {
        $this->user = $_GET['user'] ?? '';
        $this->server = $_SERVER;
    }
}

final class User
{
    public function __construct(public readonly string $name)
    {
    }
}

final class Container
{
    public static ?self $instance = null;
    /** @var array<string, mixed> */
    private array $instances = [];
    /** @var array<string, \Closure> */
    private array $bindings = [];

    public function instance(string $name, mixed $value): void
    {
        $this->instances[$name] = $value;
    }

    public function bind(string $name, \Closure $make): void
    {
        $this->bindings[$name] = $make;
    }
}

final class Dispatcher
{
    /** @var array<string, list<callable>> */
    private array $listeners = [];

    public function listen(string $event, callable $listener): void
    {
        $this->listeners[$event][] = $listener;
    }
}

/** Keeps the listeners by priority, and a sorted list of them. */
final class SortingDispatcher
{
    private array $listeners = [];
    private array $sorted = [];

    public function listen(string $event, callable $listener): void
    {
        $this->listeners[$event][0][] = $listener;
        $this->sorted[$event] = array_merge(...$this->listeners[$event]);
    }
}

abstract class Model
{
    public static ?Dispatcher $dispatcher = null;
    protected static array $booted = [];

    public static function boot(): void
    {
        static::$booted[static::class][] = uniqid();
    }
}

final class Post extends Model
{
}

trait Macroable
{
    protected static array $macros = [];

    public static function macro(string $name, \Closure $code): void
    {
        static::$macros[$name] = $code;
    }
}

final class Str
{
    use Macroable;
}

final class Clock
{
    private static ?\DateTimeImmutable $testNow = null;

    public static function setTestNow(string $time): void
    {
        self::$testNow = new \DateTimeImmutable($time);
    }
}

final class Auth
{
    private ?User $user = null;
    private static ?User $current = null;

    public function login(): void
    {
        $this->user = new User($_GET['user']);
    }

    public static function remember(): void
    {
        self::$current = new User($_GET['user']);
    }

    /** The first visitor stays logged in for all. */
    public static function user(): User
    {
        static $user = null;
        return $user ??= new User($_GET['user']);
    }
}

final class Services
{
    private string $locale = 'en';
    private array $shared = [];
    private array $config = ['app' => ['tenant' => 'none', 'debug' => false]];
    private ?string $root = null;
    private array $from = [];
    private array $queries = [];
    private array $identities = [];
    private array $processors = [];
    private array $middleware = [];
    private array $context = [];
    private array $headers = [];
    private int $depth = 0;
    private string $buffer = '';
    private ?Request $request = null;
    private ?string $session = null;
    private \WeakMap $owners;
    private \SplObjectStorage $jobs;
    private \ArrayObject $registry;
    private \SplPriorityQueue $queue;
    private \SplFixedArray $recent;
    private \Generator $ids;
    private ?\Generator $export = null;
    private ?\Fiber $task = null;
    private ?\Iterator $rows = null;

    public function __construct()
    {
        $this->owners = new \WeakMap();
        $this->jobs = new \SplObjectStorage();
        $this->registry = new \ArrayObject();
        $this->queue = new \SplPriorityQueue();
        $this->recent = new \SplFixedArray(2);
        $this->ids = (function () {
            $given = [];
            while (true) {
                $given[] = yield count($given);
            }
        })();
    }

    public function page(string $name): void
    {
        match ($name) {
            'locale' => $this->locale = $_GET['lang'],
            'share' => $this->shared['user'] = $_GET['user'],
            'config' => $this->config['app']['tenant'] = $_GET['user'],
            'root' => $this->root = 'https://' . $_SERVER['HTTP_HOST'],
            'mail' => $this->from = ['address' => $_GET['user'] . '@example.com', 'name' => $_GET['user']],
            'query' => $this->queries[] = 'SELECT 1',
            'identity' => $this->identities[User::class][] = new User('x'),
            'processor' => $this->processors[] = fn (array $record) => $record,
            'middleware' => $this->middleware[] = 'auth',
            'context' => $this->context['request_id'] = uniqid(),
            'header' => $this->headers[] = 'Set-Cookie: a=b',
            'depth' => $this->depth++,
            'buffer' => $this->buffer .= '<p>',
            'request' => $this->request = new Request(),
            'session' => $this->session ??= $_COOKIE['session'],
            'owner' => $this->owners[$this] = $_GET['user'],
            'job' => $this->jobs->attach(new User('x')),
            'registry' => $this->registry['user'] = $_GET['user'],
            'queue' => $this->queue->insert('mail', 1),
            'recent' => $this->recent[0] = $_GET['user'],
            'ids' => $this->ids->send('x'),
            'export' => ($this->export = $this->rowsOf($_GET['user']))->current(),
            'task' => ($this->task = new \Fiber($this->suspend(...)))->start($_GET['user']),
            'rows' => $this->rows = new \ArrayIterator([$_GET['user']]),
        };
    }

    private function rowsOf(string $user): \Generator
    {
        yield 1;
        yield $user;
    }

    private function suspend(string $user): string
    {
        \Fiber::suspend();

        return $user;
    }
}

enum Level
{
    case Debug;

    public function seen(): int
    {
        static $count = 0;
        return ++$count;
    }
}

$services = new Services();
Container::$instance = new Container();
Model::$dispatcher = new Dispatcher();
$sorting = new SortingDispatcher();
$auth = new Auth();
$pages = [
    'instance' => fn () => Container::$instance->instance('request', new Request()),
    'bind' => function () {
        $user = $_GET['user'];
        Container::$instance->bind('user', fn () => $user);
    },
    'listener' => fn () => Model::$dispatcher->listen('saved', fn () => null),
    'sorted' => fn () => $sorting->listen('saved', fn () => null),
    'boot' => fn () => Post::boot(),
    'macro' => function () {
        $user = $_GET['user'];
        Str::macro('greet', fn () => 'Hello ' . $user);
    },
    'clock' => fn () => Clock::setTestNow($_GET['user'] === 'alice' ? '2001-01-01' : '2002-02-02'),
    'auth' => fn () => $auth->login(),
    'current' => fn () => Auth::remember(),
    'static' => fn () => Auth::user(),
    'level' => fn () => Level::Debug->seen(),
    'global' => function () {
        global $tenant;
        $tenant = $_GET['user'];
    },
    'nothing' => fn () => null,
];
while (\frankenphp_handle_request(function () use ($pages, $services) {
    $page = basename(parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH));
    isset($pages[$page]) ? $pages[$page]() : $services->page($page);
    echo 'done';
})) {
}
