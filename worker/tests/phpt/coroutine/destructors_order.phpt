--TEST--
Coroutines: destructors at the end of a request run in PHP's order: objects that a global object holds follow it
--FILE--
<?php
final class Part
{
    public mixed $first = null;
    public mixed $second = null;

    public function __construct(private string $name)
    {
    }

    public function __destruct()
    {
        echo "~$this->name ";
        if ($this->name === 'moves') {
            $GLOBALS['place'] = [$this->first];
        }
    }
}

function make(): void
{
    global $one, $two;
    $one = new Part('one');
    $two = new Part('two');
    $GLOBALS['three'] = new Part('three');
    $GLOBALS['list'] = [new Part('first of list'), new Part('second of list')];
    $GLOBALS['plain'] = new stdClass();
    $GLOBALS['plain']->inner = new Part('of plain');
    $GLOBALS['shared'] = $GLOBALS['again'] = new Part('shared');
    $GLOBALS['moves'] = new Part('moves');
    $GLOBALS['moves']->first = new Part('moved');
    $GLOBALS['tree'] = new Part('tree');
    $GLOBALS['tree']->first = [new Part('leaf 1'), new ArrayObject([new Part('leaf 2')])];
    $GLOBALS['tree']->second = new Part('leaf 3');
    static $static;
    $static = new Part('static');
}

while (frankenphp_handle_request(make(...))) {
}
--HOWDAH--
worker {ROOT}/test.php
option concurrency 2
run
--EXPECT--
~tree ~leaf 1 ~leaf 2 ~leaf 3 ~moves ~of plain ~three ~one ~two ~first of list ~second of list ~shared ~moved ~static
