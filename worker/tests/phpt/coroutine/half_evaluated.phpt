--TEST--
Coroutines: a request that needs a constant which another one is evaluating waits for it
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
$seen = new ArrayObject(); // shared, as objects are

function same(string $what, object $value): string
{
    global $seen;
    $seen[$what] ??= $value;
    usleep(10000); // the others have evaluated it too
    return $seen[$what] === $value ? 'same' : 'another';
}

while (frankenphp_handle_request(function (): void {
    require_once __DIR__ . '/classes.inc';
    try {
        switch ($_GET['do']) {
            case 'constant':
                echo Config::FULL, ' ', constant('Config::NAME');
                break;
            case 'nested':
                echo Nested::OUTER;
                break;
            case 'property':
                $one = new Properties();
                echo $one->name, ' ', Properties::$list[0], ' ', ++Properties::$count;
                break;
            case 'case':
                echo Suit::Hearts->value, ' ', same('case', Suit::Hearts);
                break;
            case 'from':
                echo Level::from('high-level')->name, ' ', same('from', Level::High);
                break;
            case 'chain':
                echo same('chain', Chain::Link), ' ', Chain::Link->value;
                break;
            case 'default':
                echo (fn (Colour $colour = Colour::DEFAULT) => $colour->value)(), ' ', same('default', Colour::DEFAULT);
                break;
            case 'warns':
                echo Warns::OUTER, ' ', same('warns', Warned::Case);
                break;
            case 'handler':
                echo same('warned from', WarnedFrom::from('twocase')), ' ', same('warned tryFrom', WarnedTry::tryFrom('twocase')), ' ',
                    same('warned cases', WarnedCases::cases()[0]), ' ', same('warned constant', constant('WarnedConstant::Case')), ' ',
                    same('warned value', (new ReflectionClassConstant(WarnedValue::class, 'Case'))->getValue()), ' ',
                    same('warned class', (new ReflectionClass(WarnedClass::class))->getConstant('Case')), ' ',
                    same('warned enum', (new ReflectionEnum(WarnedEnum::class))->getCase('Case')->getValue()), ' ',
                    same('unserialize', unserialize('E:22:"WarnedUnserialize:Case";'));
                break;
            case 'reflection':
                echo (new ReflectionClass('Reflected'))->getConstant('NAME'), ' ',
                    (new ReflectionClassConstant('Reflected', 'OTHER'))->getValue();
                break;
            case 'fails':
                echo Fails::NAME;
                break;
            case 'self':
                echo Circle::HERE;
                break;
            case 'there':
                echo Circle2::THERE;
                break;
        }
    } catch (Error $error) {
        echo $error->getMessage();
    }
    echo "\n";
})) {
}
--FILE classes.inc--
<?php
class Config
{
    public const NAME = Values::NAME . '!';
    public const FULL = self::NAME . self::NAME;
}
class Nested
{
    public const OUTER = Config2::INNER . '>';
}
class Config2
{
    public const INNER = Values2::NAME . '.';
}
class Properties
{
    public string $name = Values3::NAME . '?';
    public static array $list = [Values3::NAME . '#'];
    public static int $count = 0;
}
enum Suit: string
{
    case Hearts = Values4::NAME . '-hearts';
    case Spades = Values4::NAME . '-spades';
}
enum Level: string
{
    public const DEFAULT = self::High;
    case High = Values5::HIGH . '-level';
    case Low = 'low';
}
enum Chain: string
{
    case Link = Config3::NAME . '-link';
}
class Config3
{
    public const NAME = Config4::NAME . '-3';
}
class Config4
{
    public const NAME = Values6::NAME . '-4';
}
enum Colour: string
{
    public const DEFAULT = self::Red;
    case Red = Values7::NAME . '-red';
}
class Warns
{
    public const OUTER = self::INNER . '<';
    public const INNER = [1 => 'one'][2] . 'two';
}
enum Warned: string
{
    case Case = [1 => 'one'][2] . 'case';
}
enum WarnedFrom: string
{
    case Case = [1 => 'one'][2] . 'twocase';
}
enum WarnedTry: string
{
    case Case = [1 => 'one'][2] . 'twocase';
}
enum WarnedCases: string
{
    case Case = [1 => 'one'][2] . 'twocase';
}
enum WarnedConstant: string
{
    case Case = [1 => 'one'][2] . 'twocase';
}
enum WarnedValue: string
{
    case Case = [1 => 'one'][2] . 'twocase';
}
enum WarnedClass: string
{
    case Case = [1 => 'one'][2] . 'twocase';
}
enum WarnedEnum: string
{
    case Case = [1 => 'one'][2] . 'twocase';
}
enum WarnedUnserialize: string
{
    case Case = [1 => 'one'][2] . 'twocase';
}
class Reflected
{
    public const NAME = Values8::NAME . '!';
    public const OTHER = self::NAME . '!';
}
class Fails
{
    public const NAME = Values9::MISSING . '!';
}
class Circle
{
    public const HERE = Values10::NAME . Circle2::THERE;
}
class Circle2
{
    public const THERE = Values11::NAME . Circle::HERE;
}
--FILE values.inc--
<?php
class Values { public const NAME = 'values'; }
--FILE values2.inc--
<?php
class Values2 { public const NAME = 'values2'; }
--FILE values3.inc--
<?php
class Values3 { public const NAME = 'values3'; }
--FILE values4.inc--
<?php
class Values4 { public const NAME = 'values4'; }
--FILE values5.inc--
<?php
class Values5 { public const HIGH = 'high'; }
--FILE values6.inc--
<?php
class Values6 { public const NAME = 'values6'; }
--FILE values7.inc--
<?php
class Values7 { public const NAME = 'values7'; }
--FILE values8.inc--
<?php
class Values8 { public const NAME = 'values8'; }
--FILE values9.inc--
<?php
class Values9 { public const NAME = 'values9'; }
--FILE values10.inc--
<?php
class Values10 { public const NAME = 'values10'; }
--FILE values11.inc--
<?php
class Values11 { public const NAME = 'values11'; }
--HOWDAH--
worker {ROOT}/test.php
option concurrency 8
var QUERY_STRING do=constant
push constant1
push constant2
push constant3
await constant1
await constant2
await constant3
var QUERY_STRING do=nested
push nested1
push nested2
push nested3
await nested1
await nested2
await nested3
var QUERY_STRING do=property
push property1
push property2
push property3
await property1
await property2
await property3
var QUERY_STRING do=case
push case1
push case2
push case3
await case1
await case2
await case3
var QUERY_STRING do=from
push from1
push from2
push from3
await from1
await from2
await from3
var QUERY_STRING do=chain
push chain1
push chain2
push chain3
await chain1
await chain2
await chain3
var QUERY_STRING do=default
push default1
push default2
push default3
await default1
await default2
await default3
var QUERY_STRING do=warns
push warns1
push warns2
push warns3
await warns1
await warns2
await warns3
var QUERY_STRING do=handler
push handler1
push handler2
push handler3
await handler1
await handler2
await handler3
var QUERY_STRING do=reflection
push reflection1
push reflection2
push reflection3
await reflection1
await reflection2
await reflection3
var QUERY_STRING do=fails
push fails1
push fails2
push fails3
await fails1
await fails2
await fails3
var QUERY_STRING do=self
push self
var QUERY_STRING do=there
push there
await self
await there
--EXPECTREGEX--
constant1: values!values! values!

constant2: values!values! values!

constant3: values!values! values!

nested1: values2\.>

nested2: values2\.>

nested3: values2\.>

property1: values3\? values3# 1

property2: values3\? values3# 1

property3: values3\? values3# 1

case1: values4-hearts same

case2: values4-hearts same

case3: values4-hearts same

from1: High same

from2: High same

from3: High same

chain1: same values6-4-3-link

chain2: same values6-4-3-link

chain3: same values6-4-3-link

default1: values7-red same

default2: values7-red same

default3: values7-red same

warns1: two< same

warns2: two< same

warns3: two< same

handler1: same same same same same same same same

handler2: same same same same same same same same

handler3: same same same same same same same same

reflection1: values8! values8!!

reflection2: values8! values8!!

reflection3: values8! values8!!

fails1: Undefined constant Values9::MISSING

fails2: Undefined constant Values9::MISSING

fails3: Undefined constant Values9::MISSING

self: Cannot declare self-referencing constant (Circle::HERE|Circle2::THERE)

there: Cannot declare self-referencing constant (Circle::HERE|Circle2::THERE)
