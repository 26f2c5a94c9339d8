--TEST--
Coroutines: a class is loaded once when two requests need it at the same time, and so is a file of include_once
--FILE--
<?php
/** Returns when $count requests are here. The object is shared, as objects are. */
function meet(int $count, stdClass $place): void
{
    $place->round ??= 0;
    $place->here = ($place->here ?? 0) + 1;
    $round = $place->round;
    if ($place->here === $count) {
        $place->here = 0;
        $place->round++;
    }
    while ($place->round === $round) {
        usleep(500);
    }
}

final class Load
{
    /** @var list<string> */
    public array $loads = [];
    /** @var list<string> */
    public array $circle = [];
}

$log = new Load();
$place = new stdClass();
$circle = new stdClass();
spl_autoload_register(function (string $class) use ($log, $place, $circle) {
    $log->loads[] = $class;
    if (!file_exists(__DIR__ . "/$class.inc")) {
        return;
    }
    if ($class === 'Left' || $class === 'Right') {
        meet(2, $circle); /* one request loads each of them */
    } else {
        usleep(3000); /* a database tells where it is, say */
    }
    require __DIR__ . "/$class.inc";
});

while (frankenphp_handle_request(function () use ($place, $log) {
    meet(2, $place);
    if ($_GET['do'] === 'class') {
        echo (new Child())->who(), ' ', class_exists('Missing') ? 'found' : 'missing', "\n";
    } elseif ($_GET['do'] === 'include') {
        echo (include_once __DIR__ . '/slow.inc') === true ? '' : 'first ', defined('SLOW_DONE') ? slow() : 'not done', "\n";
    } elseif ($_GET['do'] === 'fails') {
        try {
            new Fails();
        } catch (Throwable $thrown) {
            echo get_class($thrown), "\n";
        }
    } else {
        new $_GET['do']();
    }
    meet(2, $place);
    if (isset($_GET['log'])) {
        sort($log->loads);
        sort($log->circle);
        echo implode(' ', $log->loads), "\n";
        echo implode(', ', $log->circle), "\n";
        $log->loads = [];
    }
})) {
}
--FILE Child.inc--
<?php
class Child extends ParentOfChild
{
}
--FILE ParentOfChild.inc--
<?php
class ParentOfChild
{
    public function who(): string
    {
        return static::class;
    }
}
--FILE Fails.inc--
<?php
throw new DomainException();
--FILE Left.inc--
<?php
$GLOBALS['log']->circle[] = class_exists('Right') ? 'there' : 'not yet';
if (true) {
    class Left
    {
    }
}
--FILE Right.inc--
<?php
$GLOBALS['log']->circle[] = class_exists('Left') ? 'there' : 'not yet';
if (true) {
    class Right
    {
    }
}
--FILE slow.inc--
<?php
gc_collect_cycles(); /* the state is exchanged for that while this code runs */
usleep(5000);
function slow(): string
{
    return 'slow';
}
define('SLOW_DONE', true);
--HOWDAH--
worker {ROOT}/test.php
option concurrency 2
var QUERY_STRING do=class
push one
var QUERY_STRING do=class&log=1
push two
await one
await two
var QUERY_STRING do=include
push three
push four
await three
await four
var QUERY_STRING do=fails
push five
var QUERY_STRING do=fails&log=1
push six
await five
await six
var QUERY_STRING do=Left
push seven
var QUERY_STRING do=Right&log=1
push eight
await seven
await eight
--EXPECT--
one: Child missing

two: Child missing
Child Missing Missing ParentOfChild


three: slow

four: first slow

five: DomainException

six: DomainException
Fails Fails


seven: 
eight: Left Right
not yet, there
