--TEST--
Coroutines: a DOMXPath of the boot, whose expressions call PHP code that waits, is used by one request at a time
--EXTENSIONS--
dom
--FILE--
<?php
function slow(string $text): string
{
    usleep(1000);
    return $text;
}

/** Uses the object that calls it. */
function nested(string $text): string
{
    usleep(1000);
    return $text . $GLOBALS['nodes']->evaluate('string(/r/@name)');
}

$document = new DOMDocument();
$document->loadXML('<r name="root" xmlns:f="urn:f"><i id="1"><f:a/></i><i id="2"><f:a/></i><i id="3"><f:a/></i></r>');
$nodes = new DOMXPath($document);
$nodes->registerNamespace('php', 'http://php.net/xpath');
$nodes->registerPhpFunctions();
while (frankenphp_handle_request(static function () use ($document, $nodes): void {
    $n = $_GET['n'];
    $found = [];
    for ($i = 0; $i < 5; $i++) {
        $item = $document->getElementsByTagName('i')->item($n - 1);
        $found[$nodes->evaluate('concat(php:functionString("slow", @id), string(@id))', $item)] = true;
        $list = $nodes->query("//i[php:functionString('slow', @id) and @id = '$n']");
        $found[$list->length . ' with ' . $list->item(0)?->getAttribute('id')] = true;
        $found['all ' . $nodes->evaluate("count(//i[php:functionString('slow', @id) and f:a])")] = true;
        $found[$nodes->evaluate('php:functionString("nested", @id)', $item)] = true;
    }
    echo implode(', ', array_keys($found));
})) {
}
--HOWDAH--
option concurrency 3
worker {ROOT}/test.php
var QUERY_STRING n=1
push one
var QUERY_STRING n=2
push two
var QUERY_STRING n=3
push three
await one
await two
await three
stop
--EXPECT--
one: 11, 1 with 1, all 3, 1root
two: 22, 1 with 2, all 3, 2root
three: 33, 1 with 3, all 3, 3root
