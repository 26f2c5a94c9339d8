--TEST--
Coroutines: extensions that observe functions see exit() as PHP's, not as an exception
--FILE--
<?php
function observed_return(): string
{
    return "done\n";
}

function observed_exit(): void
{
    exit("exit\n");
}

function observed_finally(): void
{
    try {
        observed_exit();
    } finally {
        echo "finally\n";
    }
}

function observed_exception(): void
{
    throw new LogicException();
}

function observed_fiber(): void
{
    try {
        Fiber::suspend();
    } finally {
        echo "destroyed\n";
    }
}

final class Service
{
    public function observed_method(): void
    {
        array_map(observed_finally(...), [1]);
    }
}

function observed_child(): void
{
    usleep(1000000);
}

while (frankenphp_handle_request(static function () {
    $child = Howdah\spawn(observed_child(...));
    usleep(1000);
    $child->cancel();
    echo observed_return();
    try {
        observed_exception();
    } catch (LogicException) {
    }
    $fiber = new Fiber(observed_fiber(...));
    $fiber->start();
    unset($fiber);
    (new Service())->observed_method();
})) {
}
--INI--
extension={PROBE}
howdah_probe.observe=1
--HOWDAH--
option concurrency 4
worker {ROOT}/test.php
show log exit
push a
push b
await a b
stop
--EXPECT--
a: observed_return: returns
done
observed_exception: LogicException
destroyed
observed_fiber: exits
exit
observed_exit: exits
finally
observed_finally: exits
observed_method: exits
observed_child: exits

b: observed_return: returns
done
observed_exception: LogicException
destroyed
observed_fiber: exits
exit
observed_exit: exits
finally
observed_finally: exits
observed_method: exits
observed_child: exits

[worker exited with status 0]
