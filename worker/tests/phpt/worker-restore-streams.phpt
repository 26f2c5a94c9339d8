--TEST--
Worker mode: stream wrappers, filters and the default context are as boot left them
--FILE--
<?php
class Boot
{
    public $context;

    public function stream_open(): bool
    {
        return true;
    }

    public function stream_read(): string|false
    {
        return false;
    }

    public function stream_write(string $bytes): int
    {
        return strlen($bytes);
    }

    public function stream_eof(): bool
    {
        return true;
    }

    public function stream_stat(): array
    {
        return [];
    }
}

class Other extends Boot
{
}

class Filter extends php_user_filter
{
}

function wrapper_class(string $url): ?string
{
    $stream = @fopen($url, 'r');
    return $stream ? get_class(stream_get_meta_data($stream)['wrapper_data']) : null;
}

function contexts(): array
{
    return [stream_context_get_options(stream_context_get_default()), stream_context_get_params(stream_context_get_default())];
}

function state(): array
{
    return [
        'wrappers' => stream_get_wrappers(),
        'filters' => stream_get_filters(),
        'context' => contexts(),
    ];
}

function change(): void
{
    stream_wrapper_register('request', 'Other');
    stream_wrapper_unregister('ftp');
    stream_filter_register('request', 'Filter');
    stream_context_set_default(['http' => ['method' => 'REQUEST']]);
    stream_context_set_params(stream_context_get_default(), ['notification' => fn () => null]);
}

function differences(array $boot): string
{
    $now = state();
    $names = array_keys(array_filter($boot, fn ($value, $name) => $now[$name] !== $value, ARRAY_FILTER_USE_BOTH));
    return $names ? implode(' ', $names) : 'as after boot';
}

$boot = state();
while (frankenphp_handle_request(function () use ($boot) {
    echo differences($boot), "\n";
    if (isset($_GET['change'])) {
        change();
        echo 'changed: ', differences($boot), "\n";
    }
})) {
}
--HOWDAH--
worker {ROOT}/test.php
var QUERY_STRING change=1
run
run
var QUERY_STRING
run
--EXPECT--
as after boot
changed: wrappers filters context

as after boot
changed: wrappers filters context

as after boot
