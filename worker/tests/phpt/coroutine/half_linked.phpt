--TEST--
Coroutines: a request that needs a class which another one is linking waits for it
--INI--
opcache.enable=0
--FILE--
<?php
spl_autoload_register(function (string $class): void {
    usleep(5000); // a database tells where it is, say
    require __DIR__ . '/' . strtolower($class) . '.inc';
});
set_error_handler(function (int $type, string $message): bool {
    usleep(5000); // a logger
    return true;
});
final class Turn
{
    public int $loads = 0;
}

while (frankenphp_handle_request(function (): void {
    try {
        switch ($_GET['do']) {
            case 'new':
                echo (new Child())->who();
                break;
            case 'exists':
                echo class_exists('Child') ? 'there' : 'missing';
                break;
            case 'unserialize':
                echo get_class(unserialize('O:5:"Child":0:{}'));
                break;
            case 'static':
                echo Child::NAME, ' ', Child::$name, ' ', Child::named();
                break;
            case 'is':
                echo (new ReflectionClass('Child'))->getParentClass()->getName();
                break;
            case 'interface':
                echo (new Implementing())->who();
                break;
            case 'trait':
                echo (new Using())->who();
                break;
            case 'enum':
                echo Suit::Hearts->who();
                break;
            case 'required':
                require_once __DIR__ . '/direct.inc';
                echo (new Direct())->who();
                break;
            case 'deprecated':
                echo count(new Outdated());
                break;
            case 'circle':
                echo (new Egg())->who();
                break;
        }
    } catch (Error $error) {
        echo $error->getMessage();
    }
    echo "\n";
})) {
}
--FILE base.inc--
<?php
class Base extends Root
{
    public const NAME = 'const';
    public static string $name = 'static';

    public static function named(): string
    {
        return static::class;
    }
}
--FILE root.inc--
<?php
class Root
{
    public function who(): string
    {
        return 'ok';
    }
}
--FILE child.inc--
<?php
class Child extends Base
{
}
--FILE direct.inc--
<?php
class Direct extends Base
{
}
--FILE contract.inc--
<?php
interface Contract extends Smaller
{
}
--FILE smaller.inc--
<?php
interface Smaller
{
}
--FILE implementing.inc--
<?php
class Implementing extends Root implements Contract
{
}
--FILE part.inc--
<?php
trait Part
{
    use Piece;
}
--FILE piece.inc--
<?php
trait Piece
{
    public function who(): string
    {
        return 'piece';
    }
}
--FILE using.inc--
<?php
class Using
{
    use Part;
}
--FILE suit.inc--
<?php
enum Suit: string implements Contract
{
    use Part;
    case Hearts = 'H';
}
--FILE outdated.inc--
<?php
class Outdated implements Countable
{
    public function count()
    {
        return 7;
    }
}
--FILE egg.inc--
<?php
class Egg extends Hen
{
}
--FILE hen.inc--
<?php
class Hen extends Egg
{
}
--HOWDAH--
worker {ROOT}/test.php
option concurrency 8
var QUERY_STRING do=new
push new1
push new2
var QUERY_STRING do=exists
push exists
var QUERY_STRING do=unserialize
push unserialize
var QUERY_STRING do=static
push static
var QUERY_STRING do=is
push is
await new1 new2
await exists
await unserialize
await static
await is
var QUERY_STRING do=interface
push interface1
push interface2
var QUERY_STRING do=trait
push trait1
push trait2
var QUERY_STRING do=enum
push enum1
push enum2
await interface1 interface2
await trait1 trait2
await enum1 enum2
var QUERY_STRING do=required
push required1
push required2
await required1 required2
var QUERY_STRING do=deprecated
push deprecated1
push deprecated2
await deprecated1 deprecated2
var QUERY_STRING do=circle
run
--EXPECTREGEX--
new1: ok

new2: ok

exists: there

unserialize: Child

static: const static Child

is: Base

interface1: ok

interface2: ok

trait1: piece

trait2: piece

enum1: piece

enum2: piece

required1: ok

required2: ok

deprecated1: 7

deprecated2: 7

Class "Egg" not found
