--TEST--
Worker mode: a stream that outlives its request keeps its wrapper
--FILE--
<?php
class Wrapper
{
    public $context;

    public function stream_open(): bool
    {
        return true;
    }

    public function stream_write(string $bytes): int
    {
        return strlen($bytes);
    }
}

$kept = null;
while (frankenphp_handle_request(function () use (&$kept) {
    if ($kept) {
        echo fwrite($kept, 'four'), ' bytes, ', in_array('request', stream_get_wrappers()) ? 'registered' : 'not registered', "\n";
        $kept = null;
    } else {
        stream_wrapper_register('request', 'Wrapper');
        $kept = fopen('request://x', 'w');
        echo in_array('request', stream_get_wrappers()) ? 'registered' : 'not registered', "\n";
    }
})) {
}
--HOWDAH--
worker {ROOT}/test.php
run
run
run
run
--EXPECT--
registered

4 bytes, not registered

registered

4 bytes, not registered
