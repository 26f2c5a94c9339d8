--TEST--
Coroutines: destructors of singletons run in the order of their creation, also of those in cycles
--FILE--
<?php
class Service
{
    public ?Service $other = null;
    public array $services = [];
    public bool $alive = true;

    public function __construct(private string $name)
    {
    }

    public function __destruct()
    {
        $this->alive = false;
        echo "$this->name, ";
    }
}

class First
{
    public static ?Service $instance = null;
}

class Second
{
    public static ?Service $instance = null;
}

class Registry
{
    public static ?Service $kept = null;
    public array $kept_by_boot = [];
}

$registry = new Registry();
$objects = array_map(fn () => new stdClass(), range(1, 9));
foreach ([3, 5, 0, 8, 1, 7, 2, 6, 4] as $i) {
    unset($objects[$i]); /* later objects get their numbers in another order */
}

while (frankenphp_handle_request(function () use ($registry) {
    switch ($_GET['do']) {
        case 'order':
            Second::$instance = new Service('second');
            First::$instance = new Service('first');
            First::$instance->other = new Service('inner');
            return;
        case 'cycle':
            First::$instance = new Service('container');
            First::$instance->services = [new Service('a'), new Service('b')];
            foreach (First::$instance->services as $service) {
                $service->other = First::$instance;
            }
            return;
        case 'keep':
            Registry::$kept = new Service('kept');
            Registry::$kept->other = Registry::$kept;
            Registry::$kept->services = [new Service('of kept')];
            $registry->kept_by_boot[] = Registry::$kept;
            Second::$instance = new Service('second');
            Second::$instance->other = Second::$instance;
            return;
        default:
            $kept = $registry->kept_by_boot[0];
            echo json_encode([$kept->alive, $kept->services[0]->alive]);
            array_pop($registry->kept_by_boot);
            $kept->other = null;
    }
})) {
}
--HOWDAH--
show exit
option concurrency 4
worker {ROOT}/test.php
var QUERY_STRING do=order
push order1
await order1
push order2
await order2
push order3
await order3
var QUERY_STRING do=cycle
push cycle
await cycle
var QUERY_STRING do=keep
push keep
await keep
var QUERY_STRING do=read
push read
await read
stop
--EXPECT--
order1: second, first, inner, 
order2: second, first, inner, 
order3: second, first, inner, 
cycle: container, a, b, 
keep: second, 
read: [true,true]kept, of kept, 
[worker exited with status 0]
