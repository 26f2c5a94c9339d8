--TEST--
Worker mode: error and exception handlers and autoloaders are those of boot
--FILE--
<?php
final class Handlers
{
    public function __construct(private string $name)
    {
    }

    public function error(int $level, string $message): bool
    {
        echo "$this->name handles $message\n";
        return true;
    }

    public function exception(Throwable $exception): void
    {
    }

    public function load(string $class): void
    {
    }
}

$first = new Handlers('first');
$second = new Handlers('second');
set_error_handler([$first, 'error']);
set_error_handler([$second, 'error'], E_ALL & ~E_NOTICE);
set_exception_handler([$first, 'exception']);
spl_autoload_register([$first, 'load']);
spl_autoload_register([$second, 'load']);

function error_handler(): mixed
{
    $handler = set_error_handler(null);
    restore_error_handler();
    return $handler;
}

/** The handler that restore_error_handler() would bring back. */
function hidden_error_handler(): mixed
{
    $handler = error_handler();
    restore_error_handler();
    $hidden = error_handler();
    set_error_handler($handler, E_ALL & ~E_NOTICE);
    return $hidden;
}

function exception_handler(): mixed
{
    $handler = set_exception_handler(null);
    restore_exception_handler();
    return $handler;
}

function state(): array
{
    return [
        'error' => error_handler(),
        'hidden' => hidden_error_handler(),
        'exception' => exception_handler(),
        'autoload' => spl_autoload_functions(),
    ];
}

function change(): void
{
    restore_error_handler();
    restore_error_handler();
    set_error_handler(fn () => false);
    set_error_handler(fn () => true);
    restore_exception_handler();
    set_exception_handler(fn () => 0);
    set_exception_handler(fn () => 1);
    $other = fn () => null;
    spl_autoload_register($other, true, true);
    [, $first, $second] = spl_autoload_functions();
    spl_autoload_unregister($first);
    spl_autoload_register($first); // now behind the second
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
changed: error hidden exception autoload

as after boot
changed: error hidden exception autoload

as after boot
