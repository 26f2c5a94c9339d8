--TEST--
Worker mode: extensions that observe functions see exit() as PHP's, not as an exception
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

while (frankenphp_handle_request(static function () {
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
worker {ROOT}/test.php
show log exit
run
run
stop
--EXPECT--
observed_return: returns
done
observed_exception: LogicException
destroyed
observed_fiber: exits
exit
observed_exit: exits
finally
observed_finally: exits
observed_method: exits

observed_return: returns
done
observed_exception: LogicException
destroyed
observed_fiber: exits
exit
observed_exit: exits
finally
observed_finally: exits
observed_method: exits

[worker exited with status 0]
