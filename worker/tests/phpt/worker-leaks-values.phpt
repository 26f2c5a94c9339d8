--TEST--
Worker mode: detect_leaks names values that requests leave behind
--FILE--
<?php
namespace App;

class Cart
{
    public static array $items = [];
    private static ?string $user = null;

    public static function add(string $what): void
    {
        self::$items[] = $what;
    }

    public static function login(string $name): void
    {
        self::$user = $name;
    }

    public function count(): int
    {
        static $calls = 0;
        return ++$calls;
    }
}

class Logger
{
    protected array $lines = [];
    public string $text = '';
    public ?object $context = null;

    public function log(string $line): void
    {
        $this->lines[] = $line;
        $this->text .= $line;
        $this->context = new Context(count($this->lines));
    }
}

class Context
{
    public function __construct(public int $number)
    {
    }
}

class Node
{
    public ?Node $self = null;
}

class Container
{
    public array $services = [];

    public function get(string $class): object
    {
        return $this->services[$class] ??= new $class();
    }
}

function visits(): int
{
    static $count = 0;
    return ++$count;
}

class Listener
{
    public ?\Closure $run = null;
}

$app = new Container();
$queue = new \SplQueue();
$people = new \SplQueue();
$registry = new \stdClass();
$listener = new Listener();
$storage = new \SplObjectStorage();
$array = new \ArrayObject();
$counter = function () {
    static $calls = 0;
    return ++$calls;
};
$handlers = [$counter];

$actions = [
    'static' => fn () => Cart::add('book'),
    'login' => fn () => Cart::login($_GET['name']),
    'method' => fn () => (new Cart())->count(),
    'function' => fn () => visits(),
    'closure' => fn () => $counter(),
    'service' => fn () => $app->get(Logger::class)->log('x'),
    'storage' => fn () => $storage->attach(new \stdClass()),
    'array' => fn () => $array[] = 1,
    'global' => function () {
        $GLOBALS['hits'] = ($GLOBALS['hits'] ?? 0) + 1;
    },
    'secret' => function () {
        $GLOBALS['api_token'] = ($GLOBALS['api_token'] ?? '') . 'x';
    },
    'queue' => fn () => $queue->push(1),
    'dynamic' => fn () => $registry->{'p' . uniqid()} = 1,
    'listener' => fn () => $listener->run = (fn (string $id) => fn () => $id)(uniqid()),
    'alias' => fn () => class_alias(Cart::class, 'C' . str_replace('.', '', uniqid('', true))),
    'waiting' => fn () => $people->push($_GET['name']),
    'who' => fn () => define('WHO', $_GET['name']),
    'nothing' => fn () => 0,
];

while (\frankenphp_handle_request(function () use ($actions) {
    $actions[$_GET['do']]();
    echo $_GET['do'], "\n";
})) {
}
--HOWDAH--
worker {ROOT}/test.php
option detect_leaks_sample 1
show log
var REQUEST_METHOD GET
var REQUEST_URI /static
var QUERY_STRING do=static
run
run
run
wait-log $items
run
var REQUEST_URI /method
var QUERY_STRING do=method
run
run
run
wait-log $calls
run
var REQUEST_URI /function
var QUERY_STRING do=function
run
run
run
wait-log $count
run
var REQUEST_URI /closure
var QUERY_STRING do=closure
run
run
run
wait-log {closure
run
var REQUEST_URI /service
var QUERY_STRING do=service
run
run
run
run
wait-log $context
var REQUEST_URI /storage
var QUERY_STRING do=storage
run
run
run
wait-log $GLOBALS['storage
run
var REQUEST_URI /array
var QUERY_STRING do=array
run
run
run
wait-log $GLOBALS['array
run
var REQUEST_URI /global
var QUERY_STRING do=global
run
run
run
wait-log hits
run
var REQUEST_URI /secret
var QUERY_STRING do=secret
run
run
run
wait-log token
run
var REQUEST_URI /login?name=alice
var QUERY_STRING do=login&name=alice
run
var REQUEST_URI /nothing
var QUERY_STRING do=nothing
run
wait-log "uri":"/login"
run
var REQUEST_URI /queue
var QUERY_STRING do=queue
run
run
run
wait-log $GLOBALS['queue
run
var REQUEST_URI /dynamic
var QUERY_STRING do=dynamic
run
run
run
wait-log {properties}
run
var REQUEST_URI /listener
var QUERY_STRING do=listener
run
run
run
wait-log ->run
run
var REQUEST_URI /alias
var QUERY_STRING do=alias
run
run
run
wait-log alias of
run
var REQUEST_URI /waiting?name=robert
var QUERY_STRING do=waiting&name=robert
run
var REQUEST_URI /nothing
var QUERY_STRING do=nothing
run
wait-log "uri":"/waiting"
var REQUEST_URI /who?name=robert
var QUERY_STRING do=who&name=robert
run
var REQUEST_URI /nothing
var QUERY_STRING do=nothing
run
wait-log "uri":"/who"
stop
--EXPECTF--
static

static

static

[log l 3] {"kind":"static property","why":"grows","path":"App\\Cart::$items","member":"App\\Cart::$items","value":"array(3)","count_before":2,"count":3,"file":"{ROOT}/test.php","line":6,"method":"GET","uri":"/static"}
static

method

method

method

[log l 7] {"kind":"static variable of a method","why":"counts","path":"App\\Cart::count()::$calls","member":"App\\Cart::count()::$calls","value":"3","file":"{ROOT}/test.php","line":21,"method":"GET","uri":"/method"}
method

function

function

function

[log l 11] {"kind":"static variable of a function","why":"counts","path":"App\\visits()::$count","member":"App\\visits()::$count","value":"3","file":"{ROOT}/test.php","line":64,"method":"GET","uri":"/function"}
function

closure

closure

closure

[log l 15] {"kind":"variable of a closure","why":"counts","path":"$GLOBALS['counter']::$calls","member":"%S{closure%S}()::$calls","value":"3","file":"{ROOT}/test.php","line":%d,"method":"GET","uri":"/closure"}
closure

service

service

service

service

[log l 20] {"kind":"object property","why":"grows","path":"$GLOBALS['app']->services['App\\Logger']->lines","member":"App\\Logger::$lines","value":"array(4)","count_before":3,"count":4,"file":"{ROOT}/test.php","line":28,"method":"GET","uri":"/service"}
[log l 20] {"kind":"object property","why":"grows","path":"$GLOBALS['app']->services['App\\Logger']->text","member":"App\\Logger::$text","value":"\"xxxx\"","count_before":3,"count":4,"file":"{ROOT}/test.php","line":29,"method":"GET","uri":"/service"}
[log l 20] {"kind":"object property","why":"changes","path":"$GLOBALS['app']->services['App\\Logger']->context","member":"App\\Logger::$context","value":"object(App\\Context)","file":"{ROOT}/test.php","line":30,"method":"GET","uri":"/service"}
storage

storage

storage

[log l 23] {"kind":"object storage","why":"grows","path":"$GLOBALS['storage']{elements}","member":"$GLOBALS['storage']","value":"3 elements","count_before":2,"count":3,"method":"GET","uri":"/storage"}
storage

array

array

array

[log l 27] {"kind":"object storage","why":"grows","path":"$GLOBALS['array']{0}","member":"$GLOBALS['array']","value":"array(3)","count_before":2,"count":3,"method":"GET","uri":"/array"}
array

global

global

global

[log l 31] {"kind":"global variable","why":"counts","path":"$GLOBALS['hits']","member":"$GLOBALS['hits']","value":"3","method":"GET","uri":"/global"}
global

secret

secret

secret

[log l 35] {"kind":"global variable","why":"grows","path":"$GLOBALS['api_token']","member":"$GLOBALS['api_token']","value":"(hidden)","count_before":2,"count":3,"method":"GET","uri":"/secret"}
secret

login

nothing

[log l 37] {"kind":"static property","why":"holds request data","path":"App\\Cart::$user","member":"App\\Cart::$user","value":"(sent by a client)","count_before":0,"count":5,"file":"{ROOT}/test.php","line":7,"method":"GET","uri":"/login"}
nothing

queue

queue

queue

[log l 42] {"kind":"object storage","why":"grows","path":"$GLOBALS['queue']{elements}","member":"$GLOBALS['queue']","value":"3 elements","count_before":2,"count":3,"method":"GET","uri":"/queue"}
queue

dynamic

dynamic

dynamic

[log l 46] {"kind":"object property","why":"grows","path":"$GLOBALS['registry']->{properties}","member":"$GLOBALS['registry']","value":"3 properties","count_before":2,"count":3,"method":"GET","uri":"/dynamic"}
dynamic

listener

listener

listener

[log l 50] {"kind":"object property","why":"changes","path":"$GLOBALS['listener']->run","member":"App\\Listener::$run","value":"object(Closure)","file":"{ROOT}/test.php","line":70,"method":"GET","uri":"/listener"}
listener

alias

alias

alias

[log l 54] {"kind":"class","why":"grows","path":"classes","value":"c%s, alias of App\\Cart","count_before":%d,"count":%d,"method":"GET","uri":"/alias"}
alias

waiting

nothing

[log l 56] {"kind":"object storage","why":"holds request data","path":"$GLOBALS['people']{elements}","member":"$GLOBALS['people']","value":"1 element","count_before":0,"count":1,"method":"GET","uri":"/waiting"}
who

nothing

[log l 58] {"kind":"constant","why":"holds request data","path":"constants","value":"WHO","count_before":%d,"count":%d,"method":"GET","uri":"/who"}
