--TEST--
Worker mode: detect_leaks finds nothing in an application that only warms up
--FILE--
<?php
namespace App;

/* What well-behaved applications do: lazy services, caches with an end, state that is reset. */
class Container
{
    private array $services = [];
    private int $depth = 0;

    public function get(string $class): object
    {
        return $this->services[$class] ??= new $class($this);
    }

    public function handle(string $route): string
    {
        $this->depth++;
        /* Emptied by each request, as translators of Octane are, and filled by some. */
        Parsed::$keys = [];
        if ($route === Page::class) {
            Parsed::$keys[] = 'page';
        }
        try {
            return $this->get($route)->run(new Request());
        } finally {
            $this->depth--;
        }
    }
}

class Request
{
    public float $time;
    public array $query;

    public function __construct()
    {
        $this->time = microtime(true);
        $this->query = $_GET;
    }
}

class Parsed
{
    public static array $keys = [];
}

class Current
{
    public ?Request $request = null;
    public array $stack = [];
}

class Context
{
    public string $uri = '';
    public ?Request $last = null;
}

class Page
{
    private static array $templates = [];
    private ?\Closure $render = null;

    public function __construct(private Container $container)
    {
    }

    public function run(Request $request): string
    {
        static $first = true;
        $current = $this->container->get(Current::class);
        $current->stack[] = $request;
        $this->container->get(Context::class)->uri = $_SERVER['REQUEST_URI'];
        self::$templates[static::class] ??= str_repeat('x', 10);
        $this->render ??= fn () => self::$templates[static::class];
        $first = false;
        array_pop($current->stack);
        $cycle = new \stdClass();
        $cycle->self = $cycle;
        return ($this->render)();
    }
}

class Other extends Page
{
}

$app = new Container();
$handle = function () use ($app) {
    echo $app->handle(__NAMESPACE__ . '\\' . $_GET['page']), "\n";
};
for ($count = 0, $more = true; $more && $count < 100; $count++) {
    $more = \frankenphp_handle_request($handle);
    $memory = memory_get_usage();
}
--HOWDAH--
worker {ROOT}/test.php
option detect_leaks_sample 1
show log
var REQUEST_METHOD GET
var REQUEST_URI /?page=Page
var QUERY_STRING page=Page
run
var REQUEST_URI /?page=Page&token=abcdef123456
var QUERY_STRING page=Page&token=abcdef123456
run
var REQUEST_URI /?page=Other
var QUERY_STRING page=Other
run
var REQUEST_URI /?page=Other&token=abcdef123456
var QUERY_STRING page=Other&token=abcdef123456
run
var REQUEST_URI /?page=Page
var QUERY_STRING page=Page
run
var REQUEST_URI /?page=Page&token=abcdef123456
var QUERY_STRING page=Page&token=abcdef123456
run
var REQUEST_URI /?page=Other
var QUERY_STRING page=Other
run
var REQUEST_URI /?page=Other&token=abcdef123456
var QUERY_STRING page=Other&token=abcdef123456
run
var REQUEST_URI /?page=Page
var QUERY_STRING page=Page
run
var REQUEST_URI /?page=Page&token=abcdef123456
var QUERY_STRING page=Page&token=abcdef123456
run
var REQUEST_URI /?page=Other
var QUERY_STRING page=Other
run
var REQUEST_URI /?page=Other&token=abcdef123456
var QUERY_STRING page=Other&token=abcdef123456
run
var REQUEST_URI /?page=Page
var QUERY_STRING page=Page
run
var REQUEST_URI /?page=Page&token=abcdef123456
var QUERY_STRING page=Page&token=abcdef123456
run
var REQUEST_URI /?page=Other
var QUERY_STRING page=Other
run
var REQUEST_URI /?page=Other&token=abcdef123456
var QUERY_STRING page=Other&token=abcdef123456
run
var REQUEST_URI /?page=Page
var QUERY_STRING page=Page
run
var REQUEST_URI /?page=Page&token=abcdef123456
var QUERY_STRING page=Page&token=abcdef123456
run
var REQUEST_URI /?page=Other
var QUERY_STRING page=Other
run
var REQUEST_URI /?page=Other&token=abcdef123456
var QUERY_STRING page=Other&token=abcdef123456
run
var REQUEST_URI /?page=Page
var QUERY_STRING page=Page
run
var REQUEST_URI /?page=Page&token=abcdef123456
var QUERY_STRING page=Page&token=abcdef123456
run
var REQUEST_URI /?page=Other
var QUERY_STRING page=Other
run
var REQUEST_URI /?page=Other&token=abcdef123456
var QUERY_STRING page=Other&token=abcdef123456
run
stop
--EXPECT--
xxxxxxxxxx

xxxxxxxxxx

xxxxxxxxxx

xxxxxxxxxx

xxxxxxxxxx

xxxxxxxxxx

xxxxxxxxxx

xxxxxxxxxx

xxxxxxxxxx

xxxxxxxxxx

xxxxxxxxxx

xxxxxxxxxx

xxxxxxxxxx

xxxxxxxxxx

xxxxxxxxxx

xxxxxxxxxx

xxxxxxxxxx

xxxxxxxxxx

xxxxxxxxxx

xxxxxxxxxx

xxxxxxxxxx

xxxxxxxxxx

xxxxxxxxxx

xxxxxxxxxx
