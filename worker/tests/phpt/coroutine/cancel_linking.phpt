--TEST--
Coroutines: a request that is cancelled while a trait of a class is loaded has the class linked first
--FILE--
<?php
spl_autoload_register(static function (string $class): void {
    usleep(5000);
    require __DIR__ . '/' . strtolower($class) . '.inc';
});
while (frankenphp_handle_request(static function (): void {
    try {
        Howdah\timeout(0.007, static function (): void {
            new Uses();
            usleep(1);
            echo 'not cancelled ';
        });
    } catch (Howdah\TimeoutException) {
        echo 'cancelled ';
    }
    usleep(30000);
    echo class_exists('Uses', false) ? (new Uses())->name() : 'not linked';
})) {
}
--FILE uses.inc--
<?php
final class Uses
{
    use Name;
}
--FILE name.inc--
<?php
trait Name
{
    public function name(): string
    {
        return self::class;
    }
}
--HOWDAH--
worker {ROOT}/test.php
option concurrency 4
run
--EXPECT--
cancelled Uses
