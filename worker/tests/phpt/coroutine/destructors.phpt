--TEST--
Coroutines: destructors of objects in a request's globals and static values run after its shutdown functions, before its output, headers and session
--FILE--
<?php
final class Page
{
    public static ?Page $page = null;
    /** @var list<Page> */
    public static array $list = [];
    public ?Page $inner = null;
    public ?stdClass $boot = null;

    public function __construct(public string $name)
    {
    }

    public function __destruct()
    {
        usleep(500);
        header("X-$this->name: " . (self::$page->name ?? 'none'));
        $_SESSION[$this->name] = $_GET['n'];
        echo "~$this->name ";
        if ($this->name === 'maker') {
            self::$list[] = new Page('made');
        }
        if ($this->name === 'throws') {
            throw new RuntimeException('of a destructor');
        }
    }
}

final class Circle
{
    public ?Circle $self = null;

    public function __destruct()
    {
        echo '~circle ';
    }
}

function variable(?Page $page = null): void
{
    static $kept;
    $kept ??= $page;
}

$boot = new stdClass();
$shared = new Page('boot');
while (frankenphp_handle_request(function () use ($boot) {
    session_id($_GET['id'] ?? $_GET['n']);
    session_start();
    if ($_GET['n'] === 'read') {
        echo json_encode($_SESSION), "\n";
        return;
    }
    global $first, $second, $shared;
    register_shutdown_function(static function () { echo 'shutdown '; });
    ob_start(static fn ($text) => "[$text" . (isset(Page::$page) ? ' page' : ' no page') . ']');
    $first = new Page('first');
    $second = new Page('second');
    Page::$page = new Page('single');
    Page::$page->inner = new Page('inner');
    Page::$page->boot = $boot;
    Page::$list = [Page::$page, new Page('listed'), new Page('maker')];
    variable(new Page('variable'));
    $circle = new Circle();
    $circle->self = $circle;
    if ($_GET['n'] === 'throws') {
        Page::$list[] = new Page('throws');
    }
    echo "body\n";
})) {
}
--INI--
session.save_path={ROOT}
session.use_cookies=0
session.cache_limiter=
session.use_strict_mode=0
display_errors=0
--HOWDAH--
worker {ROOT}/test.php
option concurrency 2
show headers
var QUERY_STRING n=a
push a
var QUERY_STRING n=b
push b
await a
await b
var QUERY_STRING n=read&id=a
run
var QUERY_STRING n=throws
run
--EXPECTF--
a: Status: 200
X-first: single
X-second: single
X-single: single
X-inner: single
X-listed: single
X-maker: single
X-variable: single
X-made: single
Content-type: text/html; charset=UTF-8

[body
shutdown ~first ~second ~single ~inner ~listed ~maker ~variable ~made  page]
b: Status: 200
X-first: single
X-second: single
X-single: single
X-inner: single
X-listed: single
X-maker: single
X-variable: single
X-made: single
Content-type: text/html; charset=UTF-8

[body
shutdown ~first ~second ~single ~inner ~listed ~maker ~variable ~made  page]
Status: 200
Content-type: text/html; charset=UTF-8

{"first":"a","second":"a","single":"a","inner":"a","listed":"a","maker":"a","variable":"a","made":"a"}

--
Status: 500 Internal Server Error
%AX-made: single
Content-type: text/html; charset=UTF-8

[body
shutdown %A~made  page]
