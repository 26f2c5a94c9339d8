--TEST--
Coroutines: settings of libxml that PHP changes for a call belong to its request
--EXTENSIONS--
dom
--FILE--
<?php
class SlowStream
{
    public $context;

    public function stream_open(string $path): bool
    {
        return true;
    }

    public function stream_write(string $data): int
    {
        usleep(5000);
        return strlen($data);
    }

    public function stream_close(): void
    {
        usleep(5000);
    }
}

while (frankenphp_handle_request(static function () {
    $document = new DOMDocument();
    $document->loadXML('<a><b/></a>');
    if ($_GET['n'] === 'save') {
        stream_wrapper_register('slow', 'SlowStream');
        $document->save('slow://file', LIBXML_NOEMPTYTAG);
        echo 'saved';
        return;
    }
    for ($i = 0, $texts = []; $i < 20; $i++) {
        usleep(500);
        $texts[$document->saveXML($document->documentElement)] = true;
    }
    echo implode(' ', array_keys($texts));
})) {
}
--HOWDAH--
option concurrency 2
worker {ROOT}/test.php
var QUERY_STRING n=save
push one
var QUERY_STRING n=show
push two
await one
await two
stop
--EXPECT--
one: saved
two: <a><b/></a>
