--TEST--
A process that the script forks writes no output and no response; $_SERVER and shutdown work in it
--FILE--
<?php
register_shutdown_function(fn () => file_put_contents(__DIR__ . '/' . getmypid(), 'down'));
$child = pcntl_fork();
if ($child === 0) {
    echo 'child';
    flush();
    fastcgi_finish_request();
    $name = '_SERVER';
    file_put_contents(__DIR__ . '/seen', (require __DIR__ . '/late.php') . file_get_contents('php://input'));
    exit(5);
}
pcntl_waitpid($child, $status);
echo 'parent ', pcntl_wexitstatus($status), ' ', file_get_contents(__DIR__ . '/seen'), ' ', file_get_contents(__DIR__ . "/$child");
--FILE late.php--
<?php
return $_SERVER['REQUEST_METHOD'];
--HOWDAH--
run
run
--EXPECT--
parent 5 GET down
parent 5 GET down
