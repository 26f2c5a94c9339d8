--TEST--
Worker mode: detect_leaks names the property of a lazy service that has a client's data, also in large arrays and of sessions
--FILE--
<?php
class Auth
{
    public ?string $user = null;
    public ?object $account = null;
}

class Other
{
    public array $lines = [];
}

class Container
{
    private array $services = [];
    private array $settings = [
        'a' => 1, 'b' => 2, 'c' => 3, 'd' => 4, 'e' => 5, 'f' => 6, 'g' => 7, 'h' => 8, 'i' => 9, 'j' => 10, 'k' => 11,
        'l' => 12, 'm' => 13, 'n' => 14, 'o' => 15, 'p' => 16, 'q' => 17, 'name' => 'shop-name', 'tenant' => 'none',
    ];

    public function get(string $class): object
    {
        return $this->services[$class] ??= new $class();
    }

    public function set(string $name, mixed $value): void
    {
        $this->settings[$name] = $value;
    }
}

class Bag
{
    public array $services = [];
}

class Account
{
    public static ?array $first = null;
    public static array $flags = ['app' => 'shop', 'user' => null];
    public static ?array $last = null;
    public static array $names = ['robin', 'jasmin'];
}

class Session
{
    public ?string $last = null;
}

$container = new Container();
$more = new Container();
$bag = new Bag();
$bag->services['log'] = new Other();
$actions = [
    'login' => fn () => $container->get(Auth::class)->user ??= $_GET['user'],
    'other' => fn () => $container->get(Other::class),
    'tenant' => fn () => $container->set('tenant', $_GET['tenant']),
    'flags' => function () {
        Account::$flags['user'] = $_GET['user'];
        Account::$flags['page'] = 'flags';
    },
    'front' => fn () => array_unshift(Account::$names, $_GET['user']),
    'session' => function () {
        $_SESSION = ['name' => $_COOKIE['name'] === 'a' ? 'alice-from-session' : 'robert-from-session'];
        Account::$first ??= ['user' => $_SESSION['name']];
    },
    /* No leak: it is allowed, also where a container holds it. */
    'allowed' => fn () => $more->get(Session::class)->last = $_GET['user'],
    /* No leak: each request overwrites it. */
    'nested' => fn () => Account::$last = ['user' => ['name' => $_GET['user']]],
    /* Its key was there, and the code has the value. */
    'known' => fn () => $more->set('a', $_GET['count']),
    'grow' => fn () => $bag->services[] = new stdClass(),
    'lines' => fn () => $bag->services['log']->lines[] = 'x',
];
while (frankenphp_handle_request(function () use ($actions) {
    isset($_GET['do']) && $actions[$_GET['do']]();
})) {
}
--HOWDAH--
worker {ROOT}/test.php
option keep 1023
option detect_leaks_sample 1
leak-allow Session::$last
show log
var REQUEST_URI /login
var QUERY_STRING do=login&user=alice-smith
run
var REQUEST_URI /other
var QUERY_STRING do=other
run
wait-log "uri":"/login"
var REQUEST_URI /tenant
var QUERY_STRING do=tenant&tenant=acme-corp
run
var REQUEST_URI /plain
var QUERY_STRING
run
wait-log "uri":"/tenant"
var REQUEST_URI /flags
var QUERY_STRING do=flags&user=carol-jones
run
var REQUEST_URI /plain
var QUERY_STRING
run
wait-log "uri":"/flags"
var REQUEST_URI /front
var QUERY_STRING do=front&user=david-jones
run
var REQUEST_URI /plain
var QUERY_STRING
run
wait-log "uri":"/front"
var REQUEST_URI /session
var QUERY_STRING do=session
var HTTP_COOKIE name=a
run
var HTTP_COOKIE name=b
run
wait-log "uri":"/session"
var REQUEST_URI /known?name=shop-name
var QUERY_STRING do=known&name=shop-name&count=2
run
var REQUEST_URI /plain
var QUERY_STRING
run
var REQUEST_URI /grow
var QUERY_STRING do=grow
run
run
run
wait-log "uri":"/grow"
var REQUEST_URI /lines
var QUERY_STRING do=lines
run
run
run
wait-log "uri":"/lines"
var REQUEST_URI /allowed
var QUERY_STRING do=allowed&user=henry-smith
run
var REQUEST_URI /plain
var QUERY_STRING
run
run
var REQUEST_URI /nested
var QUERY_STRING do=nested&user=erika-smith
run
var QUERY_STRING do=nested&user=frank-smith
run
var QUERY_STRING do=nested&user=gerda-smith
run
stop
--EXPECT--
[log l 1] {"kind":"object property","why":"holds request data","path":"$GLOBALS['container']->services['Auth']->user","member":"Auth::$user","value":"(sent by a client)","file":"{ROOT}/test.php","line":4,"method":"GET","uri":"/login"}


[log l 3] {"kind":"object property","why":"holds request data","path":"$GLOBALS['container']->settings","member":"Container::$settings","value":"array(19)","file":"{ROOT}/test.php","line":16,"method":"GET","uri":"/tenant"}


[log l 5] {"kind":"static property","why":"holds request data","path":"Account::$flags","member":"Account::$flags","value":"array(3)","count_before":2,"count":3,"file":"{ROOT}/test.php","line":40,"method":"GET","uri":"/flags"}


[log l 7] {"kind":"static property","why":"holds request data","path":"Account::$names","member":"Account::$names","value":"array(3)","count_before":2,"count":3,"file":"{ROOT}/test.php","line":42,"method":"GET","uri":"/front"}


[log l 9] {"kind":"static property","why":"holds request data","path":"Account::$first","member":"Account::$first","value":"array(1)","count_before":0,"count":1,"file":"{ROOT}/test.php","line":39,"method":"GET","uri":"/session"}





[log l 15] {"kind":"object property","why":"grows","path":"$GLOBALS['bag']->services","member":"Bag::$services","value":"array(4)","count_before":3,"count":4,"file":"{ROOT}/test.php","line":34,"method":"GET","uri":"/grow"}



[log l 18] {"kind":"object property","why":"grows","path":"$GLOBALS['bag']->services['log']->lines","member":"Other::$lines","value":"array(3)","count_before":2,"count":3,"file":"{ROOT}/test.php","line":10,"method":"GET","uri":"/lines"}
