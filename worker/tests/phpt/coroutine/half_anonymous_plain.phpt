--TEST--
Coroutines: an anonymous class that two requests declare at a time, without OPcache
--FILE--
<?php
spl_autoload_register(function (string $class): void {
    usleep(5000); // a database tells where it is, say
    require __DIR__ . '/' . strtolower($class) . '.inc';
});

function make(): object
{
    return new class extends Base implements Contract {
        use Part;

        public const NAME = 'anonymous';
        public int $number = 1;
    };
}

while (frankenphp_handle_request(function (): void {
    $object = make();
    usleep(10000);
    $other = make();
    echo $object->who(), ' ', $object::NAME, ' ', $object->part(), ' ', $object instanceof Contract ? 'contract' : 'none', ' ',
        ++$object->number, ' ', get_class($object) === get_class($other) ? 'same' : 'others';
})) {
}
--FILE base.inc--
<?php
class Base
{
    public function who(): string
    {
        return 'base';
    }
}
--FILE contract.inc--
<?php
interface Contract
{
}
--FILE part.inc--
<?php
trait Part
{
    public function part(): string
    {
        return 'part';
    }
}
--INI--
opcache.enable=0
--HOWDAH--
worker {ROOT}/test.php
option concurrency 4
push a
push b
push c
await a
await b
await c
run
--EXPECT--
a: base anonymous part contract 2 same
b: base anonymous part contract 2 same
c: base anonymous part contract 2 same
base anonymous part contract 2 same
